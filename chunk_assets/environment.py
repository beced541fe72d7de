"""`${NAME}` in configuration values: kept as written, read from the environment at use.

So a secret is never in a model, a table, a log or the UI.
"""

import os
import re
from typing import Annotated

from pydantic import BeforeValidator

from chunk_assets.errors import ConfigurationError

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def expand(value: str) -> str:
    """Replace every `${NAME}` by the environment's value.

    Raises:
        ConfigurationError: if a variable is not set.
    """

    def read(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in os.environ:
            raise ConfigurationError(
                f"The configuration refers to ${{{name}}}, but the environment variable {name} is "
                f"not set. Set it before you start: export {name}=…"
            )
        return os.environ[name]

    return _REFERENCE.sub(read, value)


def references(value: str) -> list[str]:
    """The names of the environment variables that a value refers to."""
    return _REFERENCE.findall(value)


def _only_a_reference(value: object) -> object:
    if not isinstance(value, str) or not _REFERENCE.fullmatch(value):
        # The value itself is not repeated, whatever its type: it may be the secret.
        raise ValueError("a secret is given as ${NAME}, the name of an environment variable")
    return value


Secret = Annotated[str, BeforeValidator(_only_a_reference)]
"""A value that may only be named: `${QDRANT_API_KEY}`."""

"""Where a request goes and what it carries, with secrets that are never shown."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from chunk_assets.embedding.remote_config import RemoteConfig
from chunk_assets.environment import expand
from chunk_assets.errors import ConfigurationError

_REFERENCE = re.compile(r"\$\{(\w+)\}")
_PRINTABLE = re.compile(r"[\x21-\x7e]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]*")
_HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Made for one call from the environment, and forgotten after it: no embedder keeps a key."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    key_env: str | None
    """The variable the key came from."""
    _secrets: tuple[str, ...] = field(repr=False)

    def scrub(self, text: str) -> str:
        """A text of the server or of a library, without any secret that was sent."""
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        return text


def resolve_endpoint(name: str, remote: RemoteConfig) -> Endpoint:
    """Read what a configuration names from the environment.

    Raises:
        ConfigurationError: if a variable is not set or holds what cannot be sent; it names the
            variable and never shows its value.
    """
    where = f"embedders.{name}.remote"
    headers = {"Accept": "application/json", "Content-Type": "application/json"}
    secrets = []
    for header, written in remote.headers.items():
        value = expand(written).strip()
        if not _HEADER_VALUE.fullmatch(value):
            raise ConfigurationError(
                f"{where}.headers.{header}: what {written!r} stands for holds characters that no "
                "header can carry (a line break, an accent): check the variable"
            )
        headers[header] = value
        secrets += [os.environ[variable] for variable in _REFERENCE.findall(written)]
    key_env = remote.key_env
    if key_env is not None:
        headers["Authorization"] = f"Bearer {_key(where, key_env)}"
        secrets.append(_key(where, key_env))
    # The longest first: one secret may be a part of another.
    kept = sorted({secret.strip() for secret in secrets} - {""}, key=len, reverse=True)
    return Endpoint(_url(where, remote.base_url), headers, key_env, tuple(kept))


def _key(where: str, variable: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigurationError(
            f"{where}: the key is read from the environment variable {variable}, which is "
            f"{'empty' if variable in os.environ else 'not set'}. Set it before you start: "
            f"export {variable}=… (another variable: api_key_env)"
        )
    if not _PRINTABLE.fullmatch(key):
        raise ConfigurationError(
            f"{where}: the environment variable {variable} holds a character that no key has (a "
            "space, a line break, an accent): set it to the key alone"
        )
    return key


def _url(where: str, base_url: str) -> str:
    parts = urlsplit(expand(base_url).strip())
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ConfigurationError(
            f"{where}.base_url: {base_url!r} stands for no URL; expected http://… or https://…"
        )
    if "@" in parts.netloc or parts.query != urlsplit(base_url).query:
        raise ConfigurationError(
            f"{where}.base_url: what {base_url!r} stands for holds a user name, a password or a "
            "query; a secret belongs in api_key_env or in headers, which are never shown"
        )
    path = parts.path.rstrip("/")
    if not path.endswith("/embeddings"):
        path += "/embeddings"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))

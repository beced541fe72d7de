"""What the doctor says."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from chunk_assets.errors import ChunkAssetsError
from chunk_assets.lineage.identity import Json

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    group: str
    name: str
    level: Level
    found: str
    """What is the case."""
    remedy: str = ""
    """What to do; empty where all is well, or where `found` is a message that says it."""
    facts: Mapping[str, Json] = field(default_factory=dict)
    """The same for programs, with units in the names."""


def survive(group: str, name: str, look: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """What a look finds; if it fails, that is what was found.

    Args:
        group: of the finding about the failure.
        name: of the finding about the failure.
        look: returns findings; those it yields before it fails are kept.
    """
    try:
        yield from look()
    except ChunkAssetsError as error:
        yield Finding(group, name, "problem", str(error))
    except Exception as error:  # noqa: BLE001 - whatever is broken here is what the doctor is for
        yield Finding(
            group,
            name,
            "problem",
            f"{type(error).__name__}: {error}",
            "this should not happen: report it with the output of `chunk-assets doctor --json`",
        )

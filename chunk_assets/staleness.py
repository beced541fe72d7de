"""Whether an answer is behind its sources and configuration: a look that any search can afford."""

from dataclasses import dataclass

from chunk_assets.corpus import Corpus, Index
from chunk_assets.errors import ChunkAssetsError
from chunk_assets.selection import Pattern, Selection
from chunk_assets.status import outlook
from partitions.stages import STAGES
from resources.platform import Platform

_SEARCHED_STAGES = STAGES[: STAGES.index("collections") + 1]
"""What a search depends on."""


@dataclass(frozen=True, slots=True)
class Staleness:
    """How far an answer may be behind the sources and the configuration."""

    partitions: int | None
    """How many partitions behind it are out of date; None if that cannot be told."""
    message: str
    """For the person who asked; empty if all is up to date."""


def staleness_of(platform: Platform, corpus: Corpus, index: Index | None = None) -> Staleness:
    """Whether what a corpus (or one index of it) answers is out of date: a quick look, no error.

    Args:
        platform: gives configuration, sources and state.
        corpus: the corpus that is asked.
        index: the index that is searched; None: all of the corpus counts.
    """
    pattern = Pattern(corpus.name) if index is None else Pattern(corpus.name, index.name)
    cannot_tell = "It cannot be told whether this is up to date"
    try:
        found = outlook(platform, None, Selection((pattern,)))
    except ChunkAssetsError as error:
        return Staleness(None, f"{cannot_tell}: {error}")
    if found.unlisted:
        return Staleness(None, f"{cannot_tell}: {found.unlisted[corpus.name]}")
    behind = [
        item for item in found.out_of_date if index is None or item.work.stage in _SEARCHED_STAGES
    ]
    if not behind:
        return Staleness(0, "")
    are = "partition is" if len(behind) == 1 else "partitions are"
    return Staleness(
        len(behind),
        f"This may be out of date: {len(behind)} {are} not up to date. `chunk-assets status` says "
        "why, `chunk-assets apply` brings them up to date.",
    )

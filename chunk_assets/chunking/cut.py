"""What a chunker decides; everything else is the shared stages' work."""

from dataclasses import dataclass

from chunk_assets.chunking.spans import Positions, Spans


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a chunker cuts: what the shared stages fill, limit, merge and overlap."""

    boundaries: Positions
    """Positions that no chunk crosses: they divide the document into regions."""
    levels: tuple[Spans, ...]
    """Units that a region is divided into when it is too long, coarsest first; at least one.
    What is too long at the last level is divided between grapheme clusters."""
    overlap_levels: tuple[Spans, ...]
    """Units whose starts an overlap may begin at, the preferred first."""
    numbers_parts: bool = False
    """Whether chunks of a region that was divided are flagged `part:2/3`."""

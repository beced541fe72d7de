"""What a strategy makes of a document."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chunk:
    """One chunk of one document: `text == document.text[start:end]`, always.

    `embed_text` is what the embedding model sees (text with its context); it is kept apart from
    what is stored and shown.
    """

    ordinal: int
    """0-based position in the document's reading order (level 0 first where there are levels)."""
    start: int
    end: int
    text: str
    embed_text: str
    size: int
    """Size of `embed_text` in the strategy's unit."""
    heading_path: tuple[str, ...] = ()
    level: int = 0
    parent: int | None = None
    """Ordinal of the parent chunk, where the strategy makes levels."""
    overlap_start: int | None = None
    """Where the text shared with the previous chunk ends: `[start, overlap_start)` is overlap;
    None without overlap."""
    page_start: int | None = None
    page_end: int | None = None
    flags: tuple[str, ...] = ()
    """`oversize`: could not be made smaller; further flags are documented by their stage."""

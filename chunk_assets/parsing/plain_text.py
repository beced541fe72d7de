"""Plain text: paragraphs between blank lines, and no other structure."""

from collections.abc import Iterator, Sequence

from chunk_assets.parsing.document import BlockKind
from chunk_assets.parsing.tiling import LineBlock, Structure, split_lines, tile


def parse_plain_text(text: str) -> Structure:
    """One paragraph for each run of non-blank lines of a normalized text."""
    lines = split_lines(text)
    return Structure(tile(lines, _paragraphs(lines)))


def _paragraphs(lines: Sequence[str]) -> Iterator[LineBlock]:
    first: int | None = None
    for number, line in enumerate(lines):
        if not line or line.isspace():
            if first is not None:
                yield LineBlock(BlockKind.PARAGRAPH, first, number)
            first = None
        elif first is None:
            first = number
    if first is not None:
        yield LineBlock(BlockKind.PARAGRAPH, first, len(lines))

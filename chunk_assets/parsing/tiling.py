"""From the line ranges a parser found to blocks that tile the text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from chunk_assets.lineage.identity import Json
from chunk_assets.parsing.document import Block, BlockKind

MAX_TITLE_CHARACTERS = 500
"""Longer titles are cut in heading paths, which are repeated with every chunk; the heading's own
block keeps its whole text."""


@dataclass(frozen=True, slots=True)
class LineBlock:
    """A block as a parser finds it: whole lines, markers included."""

    kind: BlockKind
    first: int
    """0-based line."""
    end: int
    """One past the last line."""
    level: int = 0
    title: str | None = None
    """Plain text of a heading that opens a section; None for every other block."""
    header_rows: int | None = None
    """Of a table: how many of its rows are header."""
    rows: Sequence[int] = ()
    """Of a table: the first line of each body row."""
    attributes: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Structure:
    """What a format's parser makes of a text."""

    blocks: tuple[Block, ...]
    title: str | None = None
    """The title that the document states as such (front matter)."""
    warnings: tuple[str, ...] = ()


def split_lines(text: str) -> list[str]:
    r"""Lines without their `\n`, the only line end in normalized text.

    Not `str.splitlines`: it also cuts at form feeds and at U+2028, which shifts every line number
    after them.
    """
    return text.split("\n")


def tile(lines: Sequence[str], found: Iterable[LineBlock]) -> tuple[Block, ...]:
    """Turn found line ranges into ordered blocks that cover every non-blank character.

    A block is whole lines: from the start of its first non-blank line to the end of its last one,
    line end excluded, so that indentation and markers are never cut off. Lines no parser claimed
    become blocks of kind OTHER, one for each run without a blank line; a line claimed twice belongs
    to the earlier block.

    Args:
        lines: of the text, as `split_lines` gives them.
        found: what the parser found, in order of their first lines.
    """
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    blank = [not line or line.isspace() for line in lines]
    sections: list[tuple[int, str]] = []
    blocks: list[Block] = []
    for block in _complete(blank, found):
        first, end = block.first, block.end
        while first < end and blank[first]:
            first += 1
        while end > first and blank[end - 1]:
            end -= 1
        if first == end:
            continue
        attributes = dict(block.attributes)
        if block.title is not None:
            title = " ".join(block.title.split())[:MAX_TITLE_CHARACTERS].rstrip()
            while sections and sections[-1][0] >= block.level:
                sections.pop()
            sections.append((block.level, title))
            attributes["title"] = title
        if block.header_rows is not None:
            attributes["header_rows"] = block.header_rows
            attributes["row_starts"] = [
                starts[row] - starts[first] for row in block.rows if first <= row < end
            ]
        path = tuple(title for _, title in sections if title)
        blocks.append(
            Block(
                block.kind,
                starts[first],
                starts[end] - 1,
                block.level,
                path,
                attributes=attributes,
            )
        )
    return tuple(blocks)


def _complete(blank: Sequence[bool], found: Iterable[LineBlock]) -> Iterator[LineBlock]:
    """The found blocks without overlaps, and blocks of kind OTHER for the lines between them."""
    position = 0
    for block in found:
        first, end = max(block.first, position), min(block.end, len(blank))
        yield from _unclaimed(blank, position, min(first, len(blank)))
        if first < end:
            yield (
                block
                if (first, end) == (block.first, block.end)
                else replace(block, first=first, end=end)
            )
            position = end
        else:
            position = max(position, min(first, len(blank)))
    yield from _unclaimed(blank, position, len(blank))


def _unclaimed(blank: Sequence[bool], first: int, end: int) -> Iterator[LineBlock]:
    start = first
    for line in range(first, end):
        if blank[line]:
            if start < line:
                yield LineBlock(BlockKind.OTHER, start, line)
            start = line + 1
    if start < end:
        yield LineBlock(BlockKind.OTHER, start, end)

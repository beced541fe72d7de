"""A normalized document: text, and the blocks that lie in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from chunk_assets.lineage.identity import DocumentId, Json


class BlockKind(StrEnum):
    """What a block is in the document's own structure."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE = "table"
    CODE = "code"
    QUOTE = "quote"
    HTML = "html"
    FRONT_MATTER = "front_matter"
    RECORD = "record"
    TURN = "turn"
    PAGE_BREAK = "page_break"
    OTHER = "other"
    """Text between the blocks a parser names (reference definitions, directives, rules)."""


@dataclass(frozen=True, slots=True)
class Block:
    """A leaf of the document's structure.

    The blocks of a document are ordered, do not overlap, and together cover every non-blank
    character of its text (the parsers guarantee it; a test holds them to it).
    """

    kind: BlockKind
    start: int
    """First code point in the normalized text."""
    end: int
    """One past the last code point."""
    level: int = 0
    """Heading level (1 = highest) or nesting depth of a list item (1 = outermost); else 0."""
    heading_path: tuple[str, ...] = ()
    """The headings in force here, outermost first; a heading's own path ends with itself."""
    page: int | None = None
    """1-based page, where the format has pages."""
    attributes: Mapping[str, Json] = field(default_factory=dict)
    """Kind-specific facts: `language` of code, `header_rows` (count) of a table, …"""


@dataclass(frozen=True, slots=True)
class Document:
    """What chunkers cut: normalized text in code points, and its blocks."""

    document_id: DocumentId
    uri: str
    text: str
    blocks: tuple[Block, ...]
    title: str = ""
    format: str = "text"
    metadata: Mapping[str, Json] = field(default_factory=dict)

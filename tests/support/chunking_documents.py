"""Documents for the tests: built from text, or parsed."""

import re

from chunk_assets.lineage.identity import document_id
from chunk_assets.parsing.config import ParsingOptions
from chunk_assets.parsing.document import Block, BlockKind, Document
from chunk_assets.parsing.parse import parse
from chunk_assets.sources.source import SourceItem

_GAP = re.compile(r"(?:\r\n|\r|\n)[ \t]*(?:\r\n|\r|\n)\s*")


def document(text: str, blocks: list[Block] | None = None, title: str = "") -> Document:
    """A document; without blocks given, each run of text between blank lines is a paragraph."""
    if blocks is None:
        edges = [0, *(edge for gap in _GAP.finditer(text) for edge in gap.span()), len(text)]
        spans = zip(edges[0::2], edges[1::2], strict=True)
        blocks = [Block(BlockKind.PARAGRAPH, *span) for span in spans if text[slice(*span)].strip()]
    return Document(document_id("tests", "doc"), "doc", text, tuple(blocks), title=title)


def parsed(raw: bytes, uri: str = "doc.md") -> Document:
    """The document that the parsers make of a file."""
    item = SourceItem(uri=uri, signature="")
    return parse(raw, corpus="tests", item=item, options=ParsingOptions()).document


def markdown(text: str) -> Document:
    """The document that the parser makes of Markdown."""
    return parsed(text.encode())

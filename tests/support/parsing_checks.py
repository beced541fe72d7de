"""What every parsed document must satisfy, and texts to try it on."""

from hypothesis import strategies as st

from chunk_assets.parsing.config import ParsingOptions
from chunk_assets.parsing.document import Block, BlockKind
from chunk_assets.parsing.parse import ParsedDocument, parse
from chunk_assets.sources.source import SourceItem

_LINES = st.sampled_from(
    [
        *("", "", "", " ", "\t", "\x0c", "\u2028", "\u00a0"),
        *(
            "# a",
            "## b *c*",
            "###### d ##",
            "#no",
            "a\n===",
            "b\n---",
            "---",
            "***",
            "....",
            "====",
        ),
        *("```", "```py", "````", "~~~", "    code", "\tcode", "::", "para::", ">>> x"),
        *("- a", "* b", "+ c", "1. d", "2) e", "#. f", "  - g", "    - h", "-", ":x: y", "-a  b"),
        *("> q", ">", "> > r", ">- s", "> # t", "- # u", "- > v", "| w", "  quoted"),
        *("| a | b |\n|---|---|\n| 1 | 2 |", "a | b", "-|-", "+--+--+\n| a| b|\n+--+--+"),
        *("=== ===\na   b\n=== ===\nc   d\n=== ===", "+---+", "=== ="),
        *("<div>", "</div>", "<!--", "-->", "[a]: /b", "[a]:", "&amp; \\*", "![x](y)", "[[["),
        *(".. note:: n", ".. code-block:: py", ".. image:: i", ".. |s| image:: j", ".. _t: u"),
        *("__ v", ".. [1] w", "..", ".. comment", '.. end of inclusion from "x"', "   :o: p"),
        *(".. include:: /etc/passwd", ".. list-table::", "   * - a", "   indented", "Title\n~~~~~"),
        *("~~~~~~~\nOver\n~~~~~~~", "word " * 20, "Übér 猫犬 🚀 ภาษา", "e\u0301", "\u200f\u05e9"),
        *("---\ntitle: x\n---", "title: y", "a\u0000b", "<|endoftext|>", "term\n  definition"),
    ]
)
_LINE_ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r", ""])
markup = st.lists(st.tuples(_LINES, _LINE_ENDS), max_size=25).map(
    lambda pairs: "".join(line + end for line, end in pairs)
)
"""Texts dense in markup of all supported formats, valid and broken."""
texts = markup | st.text(max_size=80)


def parsed(raw: bytes | str, uri: str = "doc.md", **options: object) -> ParsedDocument:
    """Parse one item whose format its name tells."""
    content = raw.encode() if isinstance(raw, str) else raw
    chosen = ParsingOptions.model_validate(options)
    return parse(content, corpus="tests", item=SourceItem(uri, signature=""), options=chosen)


def outline(text: str, blocks: tuple[Block, ...]) -> list[tuple[BlockKind, str]]:
    """Each block's kind and text."""
    return [(block.kind, text[block.start : block.end]) for block in blocks]


def tiling_faults(text: str, blocks: tuple[Block, ...]) -> list[str]:
    """Where blocks are out of order, overlap, are blank, or leave a non-blank character out."""
    faults: list[str] = []
    position = 0
    for block in blocks:
        if not position <= block.start < block.end <= len(text):
            faults.append(f"{block} does not follow {position}")
        if text[position : block.start].strip():
            faults.append(f"{text[position : block.start]!r} is in no block")
        if not text[block.start : block.end].strip():
            faults.append(f"{block} is blank")
        position = block.end
    if text[position:].strip():
        faults.append(f"{text[position:]!r} is in no block")
    return faults


def heading_faults(text: str, blocks: tuple[Block, ...]) -> list[str]:
    """Headings whose path does not end with their title, or whose title is not in their text."""
    faults: list[str] = []
    for block in blocks:
        if block.kind is not BlockKind.HEADING:
            continue
        title = str(block.attributes["title"])
        if title and block.heading_path[-1] != title:
            faults.append(f"the path of {block} does not end with its title")
        source = iter(text[block.start : block.end])
        if not all(character in source for character in title if character.isalnum()):
            faults.append(f"the letters of {title!r} are not in {text[block.start : block.end]!r}")
    return faults

"""reStructuredText: blocks found by docutils, which executes nothing and rewrites nothing."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from docutils import nodes

from chunk_assets.lineage.identity import Json
from chunk_assets.parsing.document import BlockKind
from chunk_assets.parsing.docutils_states import Directive, NestingError, parse_document
from chunk_assets.parsing.plain_text import parse_plain_text
from chunk_assets.parsing.tiling import LineBlock, Structure, split_lines, tile

_ITEMS = (nodes.list_item, nodes.definition_list_item, nodes.field, nodes.option_list_item)
_CODE_IN_A_LANGUAGE = {
    *("code", "code-block", "ipython", "jupyter-execute", "prompt", "sourcecode"),
    *("testcode", "testoutput"),
}
_CODE = _CODE_IN_A_LANGUAGE | {"doctest", "literalinclude", "parsed-literal", "productionlist"}
_HEADER_ROWS = re.compile(r" *:header-rows: *(\d{1,6}) *")
_LIST_TABLE_ROW = re.compile(r" *[*+-] +[*+-]( |$)")
_MAX_INLINE_TITLE = 2_000
_INLINE_MARKUP = re.compile(
    r"""
      ``(?P<literal>.+?)``
    | (?: :[\w:.+-]+: )? `(?P<text>[^`<]+?) (?:\s*<[^`>]*>)? ` (?: :[\w:.+-]+: | __? )?
    | (?<!\w) \*\*(?P<strong>[^\s*](?:.*?[^\s*])??)\*\* (?!\w)
    | (?<!\w) \*(?P<emphasis>[^\s*](?:.*?[^\s*])??)\* (?!\w)
    | (?<!\w) \|(?P<substitution>[^|\s][^|]*)\| _{0,2} (?!\w)
    | (?<=\w) __? (?!\w)
    | \\(?P<escaped>.)
    """,
    re.VERBOSE,
)


def parse_restructuredtext(text: str) -> Structure:
    """Blocks of a normalized reStructuredText text.

    A heading's block holds its title with under- and overline; its level is the order in which that
    style of line first occurs. Paragraphs in lists of all kinds (bulleted, enumerated, definition,
    field, option) are LIST_ITEM blocks (`continued` marks the second and later ones of an item),
    those in block quotes QUOTE blocks. Literal blocks, doctests and code directives are CODE. Of
    directives, admonitions and their like are parsed into blocks with the attribute `directive`,
    tables are TABLE, and all others (images, contents, …) stay whole as OTHER, as do comments,
    targets, substitutions and whatever docutils rejects.
    """
    lines = split_lines(text)
    try:
        document = parse_document(lines)
    except NestingError:
        plain = parse_plain_text(text)
        return Structure(plain.blocks, None, ("nested too deep; read as plain paragraphs",))
    found = sorted(_Walk(lines).blocks(document), key=lambda block: block.first)
    return Structure(tile(lines, found))


def plain_title(source: str) -> str:
    """The text of a title without its inline markup; a very long one is left as it is."""
    if len(source) > _MAX_INLINE_TITLE:
        return source
    return _INLINE_MARKUP.sub(_inner_text, source)


def _inner_text(match: re.Match[str]) -> str:
    return match[match.lastgroup] if match.lastgroup else ""


@dataclass
class _Walk:
    """One pass over the document tree, with the containers that are open."""

    lines: Sequence[str]
    containers: list[nodes.Element] = field(default_factory=list)
    pending: int | None = None
    """0-based line of the outermost container's marker that no block has claimed yet."""

    def blocks(self, parent: nodes.Element) -> Iterator[LineBlock]:
        for node in parent.children:
            if isinstance(node, nodes.title):
                yield LineBlock(
                    BlockKind.HEADING,
                    _first(node),
                    node["end"],
                    node["level"],
                    plain_title(node.rawsource),
                )
            elif isinstance(node, nodes.paragraph):
                yield self._leaf(BlockKind.PARAGRAPH, node)
            elif isinstance(node, nodes.literal_block):
                yield self._literal(node)
            elif isinstance(node, nodes.doctest_block):
                yield self._leaf(BlockKind.CODE, node, {"language": "pycon"})
            elif isinstance(node, nodes.line_block):
                yield self._line_block(node)
            elif isinstance(node, nodes.table):
                rows = [row - 1 for row in node["rows"]]
                yield self._block(
                    BlockKind.TABLE, _first(node), node["end"], node["header_rows"], rows
                )
            elif isinstance(node, Directive) and not node.children:
                yield self._directive(node)
            elif isinstance(node, (Directive, nodes.block_quote, *_ITEMS)):
                yield from self._container(node)
            elif isinstance(node, nodes.Element) and not isinstance(node, nodes.system_message):
                yield from self.blocks(node)

    def _container(self, node: nodes.Element) -> Iterator[LineBlock]:
        if self.pending is None and node.line is not None:
            self.pending = _first(node)
        self.containers.append(node)
        yield from self.blocks(node)
        if self.pending is not None:  # nothing in it but its marker
            yield self._block(BlockKind.PARAGRAPH, self.pending, self.pending + 1)
        self.containers.pop()

    def _leaf(
        self, kind: BlockKind, node: nodes.Element, attributes: dict[str, Json] | None = None
    ) -> LineBlock:
        first = _first(node)
        return self._block(
            kind, first, first + node.rawsource.count("\n") + 1, attributes=attributes
        )

    def _literal(self, node: nodes.Element) -> LineBlock:
        block = self._leaf(BlockKind.CODE, node)
        marker = block.first - 1
        while marker > 0 and not self.lines[marker].strip():
            marker -= 1
        if marker >= 0 and self.lines[marker].strip() == "::":
            return LineBlock(block.kind, marker, block.end)
        return block

    def _line_block(self, node: nodes.Element) -> LineBlock:
        parts = list(node.findall(nodes.line))
        last = parts[-1]
        end = _first(last) + 1 + last.rawsource.count("\n")
        return self._block(BlockKind.PARAGRAPH, _first(parts[0]), end)

    def _directive(self, node: Directive) -> LineBlock:
        first, end, name = _first(node), node["end"], node["name"]
        attributes: dict[str, Json] = {"directive": name}
        if name in _CODE:
            language = node["argument"].split(maxsplit=1)
            if language and name in _CODE_IN_A_LANGUAGE:
                attributes["language"] = language[0]
            return self._block(BlockKind.CODE, first, end, attributes=attributes)
        if name in ("list-table", "csv-table"):
            options = [match for line in node["lines"] if (match := _HEADER_ROWS.fullmatch(line))]
            header_rows = int(options[0][1]) if options else 0
            rows = [
                first + number
                for number, line in enumerate(node["lines"])
                if name == "list-table" and _LIST_TABLE_ROW.match(line)
            ]
            return self._block(
                BlockKind.TABLE, first, end, header_rows, rows[header_rows:], attributes
            )
        return self._block(BlockKind.OTHER, first, end, attributes=attributes)

    def _block(
        self,
        kind: BlockKind,
        first: int,
        end: int,
        header_rows: int | None = None,
        rows: Sequence[int] = (),
        attributes: dict[str, Json] | None = None,
    ) -> LineBlock:
        attributes = attributes or {}
        level = 0
        if kind is BlockKind.PARAGRAPH and self.containers:
            container = self.containers[-1]
            if isinstance(container, nodes.block_quote):
                kind = BlockKind.QUOTE
            elif isinstance(container, Directive):
                attributes["directive"] = container["name"]
            else:
                kind = BlockKind.LIST_ITEM
                level = sum(isinstance(outer, _ITEMS) for outer in self.containers)
                if self.pending is None:
                    attributes["continued"] = True
        if self.pending is not None:
            first, self.pending = min(first, self.pending), None
        return LineBlock(kind, first, end, level, None, header_rows, rows, attributes)


def _first(node: nodes.Element) -> int:
    """The 0-based first line of a node that `docutils_states` or docutils located."""
    if node.line is None:
        raise LookupError(f"docutils gives no line for this {node.tagname}")
    return node.line - 1

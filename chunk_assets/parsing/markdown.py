"""Markdown: CommonMark with pipe tables and front matter, positions from markdown-it-py."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from chunk_assets.lineage.identity import Json
from chunk_assets.parsing.document import BlockKind
from chunk_assets.parsing.tiling import LineBlock, Structure, split_lines, tile

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

_MAX_NESTING = 60
"""Quotes and lists nested deeper stay text of their outermost block. A fixed number, because what
Python's recursion limit leaves depends on the caller."""
_MAX_INLINE_TITLE = 2_000
"""Titles longer than this are taken as written: inline parsing is quadratic in open brackets."""
_MAX_FRONT_MATTER = 64 * 1024
_FRONT_MATTER_LINE = re.compile(r"[\w$@-][^:\n]*:(\s|$)|#|[\[{]")
_TITLE_LINE = re.compile(r"^title:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_QUOTE_MARKS = re.compile(r"[ \t]*>[> \t]*")


def parse_markdown(text: str) -> Structure:
    """Blocks of a normalized Markdown text.

    Headings are those of the CommonMark grammar, ATX and setext. A heading inside a quote or a list
    item belongs to what is quoted or listed: it becomes a QUOTE or LIST_ITEM block with the
    attribute `heading_level` and opens no section. Paragraphs in quotes and list items are QUOTE
    and LIST_ITEM blocks (`continued` marks the second and later ones of an item); code, tables and
    HTML keep their kind everywhere. A marker belongs to the first block behind it.
    """
    lines = split_lines(text)
    walk, tokens = _tokens(text, front_matter=True)
    if tokens and tokens[0].type == "front_matter" and not _is_front_matter(tokens[0].content):
        walk, tokens = _tokens(text, front_matter=False)
    found = list(_claim_quote_marks(lines, walk.blocks(tokens)))
    title: str | None = None
    warnings: list[str] = []
    if tokens and tokens[0].type == "front_matter":
        title, warnings = _front_matter_title(tokens[0].content)
    if walk.too_deep:
        warnings.append(f"nested more than {_MAX_NESTING} deep; the inner structure was not parsed")
    return Structure(tile(lines, found), title, tuple(warnings))


def _tokens(text: str, *, front_matter: bool) -> "tuple[_Walk, list[Token]]":
    markdown = _markdown(front_matter=front_matter)
    environment: dict[str, Any] = {}
    tokens = markdown.parse(text, environment)
    return _Walk(markdown, environment), tokens


@cache
def _markdown(*, front_matter: bool) -> "MarkdownIt":
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING})
    markdown.core.ruler.enableOnly(["block"])  # inline markup is parsed for titles only
    markdown.block.ruler.enable("table")
    markdown.block.ruler.at("table", _table_rule, {"alt": ["paragraph", "reference"]})
    if front_matter:
        from mdit_py_plugins.front_matter import front_matter_plugin

        markdown.use(front_matter_plugin)
    return markdown


def _table_rule(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
    """Find pipe tables as markdown-it does, without making three tokens of every cell."""
    from markdown_it.rules_block import table

    if not table(state, start, end, True):
        return False
    if silent:
        return True
    terminators = state.md.block.ruler.getRules("blockquote")
    parent, state.parentType = state.parentType, "table"
    line = start + 2
    while line < end and state.sCount[line] >= state.blkIndent:
        if any(rule(state, line, end, True) for rule in terminators):
            break
        if state.isEmpty(line) or state.is_code_block(line):
            break
        line += 1
    token = state.push("table", "table", 0)
    token.map = [start, line]
    state.parentType = parent
    state.line = line
    return True


_LEAVES = {
    "heading_open": BlockKind.PARAGRAPH,  # only inside quotes and lists, see parse_markdown
    "paragraph_open": BlockKind.PARAGRAPH,
    "fence": BlockKind.CODE,
    "code_block": BlockKind.CODE,
    "table": BlockKind.TABLE,
    "html_block": BlockKind.HTML,
    "front_matter": BlockKind.FRONT_MATTER,
    "hr": BlockKind.OTHER,
}


@dataclass
class _Walk:
    """One pass over block tokens, with the containers that are open."""

    markdown: "MarkdownIt"
    environment: dict[str, Any]
    containers: list[str] = field(default_factory=list)
    pending: int | None = None
    """Line of the outermost container marker that no block has claimed yet."""
    too_deep: bool = False

    def blocks(self, tokens: Sequence["Token"]) -> Iterator[LineBlock]:
        for index, token in enumerate(tokens):
            if token.type in ("blockquote_open", "list_item_open"):
                self.containers.append(token.type)
                self.too_deep = self.too_deep or token.level + 1 >= _MAX_NESTING
                if self.pending is None and token.map:
                    self.pending = token.map[0]
            elif token.type in ("blockquote_close", "list_item_close"):
                if self.pending is not None:  # nothing in it but its marker or definitions
                    yield self._block(BlockKind.PARAGRAPH, [self.pending, self.pending + 1])
                self.containers.pop()
            elif token.map and token.type == "heading_open" and not self.containers:
                title = self._plain(tokens[index + 1].content)
                level = int(token.tag[1:])
                yield LineBlock(BlockKind.HEADING, token.map[0], token.map[1], level, title)
            elif token.map and token.type in _LEAVES:
                yield self._block(_LEAVES[token.type], token.map, token)

    def _block(
        self, kind: BlockKind, lines: Sequence[int], token: "Token | None" = None
    ) -> LineBlock:
        first, end = lines
        attributes: dict[str, Json] = {}
        level = 0
        if kind is BlockKind.PARAGRAPH and self.containers:
            if self.containers[-1] == "blockquote_open":
                kind = BlockKind.QUOTE
            else:
                kind = BlockKind.LIST_ITEM
                level = self.containers.count("list_item_open")
                if self.pending is None:
                    attributes["continued"] = True
        if self.pending is not None:
            first, self.pending = self.pending, None
        if token is not None and token.type == "heading_open":
            attributes["heading_level"] = int(token.tag[1:])
        if token is not None and kind is BlockKind.CODE and token.info.strip():
            attributes["language"] = token.info.split(maxsplit=1)[0]
        if kind is BlockKind.TABLE:
            rows = range(lines[0] + 2, end)  # the header, and the line of dashes below it
            return LineBlock(kind, first, end, header_rows=1, rows=rows)
        return LineBlock(kind, first, end, level, attributes=attributes)

    def _plain(self, source: str) -> str:
        if len(source) > _MAX_INLINE_TITLE:
            return source
        tokens: list[Token] = []
        self.markdown.inline.parse(source, self.markdown, self.environment, tokens)
        return _text_of(tokens)


def _text_of(tokens: Sequence["Token"]) -> str:
    pieces: list[str] = []
    for token in tokens:
        if token.type in ("text", "text_special", "code_inline"):
            pieces.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            pieces.append(" ")
        elif token.type == "image":
            pieces.append(_text_of(token.children or ()))
    return "".join(pieces)


def _claim_quote_marks(lines: Sequence[str], found: Iterator[LineBlock]) -> Iterator[LineBlock]:
    """Give lines of nothing but quote marks to the quote above them, or else below."""
    previous: LineBlock | None = None
    for block in found:
        if previous is not None:
            yield from _with_quote_marks(lines, previous, block.first)
        previous = block
    if previous is not None:
        yield from _with_quote_marks(lines, previous, len(lines))


def _with_quote_marks(lines: Sequence[str], block: LineBlock, limit: int) -> Iterator[LineBlock]:
    end = block.end
    while end < limit and _QUOTE_MARKS.fullmatch(lines[end]):
        end += 1
    yield block if end == block.end else replace(block, end=end)


def _is_front_matter(content: str) -> bool:
    """Whether this is data at all: `---` on the first line may be a rule, and so may the next."""
    first = next((line for line in split_lines(content) if line.strip()), "#")
    return _FRONT_MATTER_LINE.match(first) is not None


def _front_matter_title(source: str) -> tuple[str | None, list[str]]:
    import yaml

    if len(source) > _MAX_FRONT_MATTER:
        return None, [f"front matter of {len(source)} characters was not read for a title"]
    try:
        # The base loader makes strings of everything: no numbers, dates or objects to go wrong.
        fields = yaml.load(source, Loader=yaml.BaseLoader)  # noqa: S506
    except (yaml.YAMLError, RecursionError) as error:
        problem = getattr(error, "problem", None) or "nested too deep"
        match = _TITLE_LINE.search(source)
        title = match[1].strip("\"'") if match else None
        return title, [f"front matter is not valid YAML ({problem})"]
    title = fields.get("title") if isinstance(fields, dict) else None
    is_title = isinstance(title, str) and title.strip() not in ("", "~", "null")
    return title if is_title else None, []

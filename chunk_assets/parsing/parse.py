"""From the bytes of one item to a document."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from chunk_assets.lineage.identity import Json, document_id, text_hash
from chunk_assets.parsing.byte_spans import byte_spans
from chunk_assets.parsing.config import ParsingOptions
from chunk_assets.parsing.decode import REPLACEMENT, decode
from chunk_assets.parsing.document import Block, BlockKind, Document
from chunk_assets.parsing.normalize import normalize
from chunk_assets.parsing.offset_map import OffsetMap
from chunk_assets.parsing.plain_text import parse_plain_text
from chunk_assets.parsing.route import Format, matches, route
from chunk_assets.parsing.tiling import MAX_TITLE_CHARACTERS, Structure
from chunk_assets.sources.source import SourceItem

_SURROGATE = re.compile("[\ud800-\udfff]")

State = Literal["ok", "partial", "no_text"]
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document with how it came about."""

    document: Document
    text_hash: str
    format: Format
    format_reason: str
    encoding: str
    encoding_confidence: float
    offset_map: OffsetMap
    """From the normalized text to the decoded one."""
    warnings: tuple[str, ...]
    state: State
    """`no_text`: nothing but blanks; `partial`: some bytes could not be read as text."""

    def byte_spans(self, raw: bytes, spans: Sequence[Span]) -> list[Span]:
        """Where spans of the normalized text lie in the item's bytes.

        Args:
            raw: the bytes that were parsed.
            spans: `[start, end)` in code points of `document.text`.
        """
        return byte_spans(raw, self.encoding, [self.offset_map.to_raw(span) for span in spans])


def parse(
    raw: bytes, *, corpus: str, item: SourceItem, options: ParsingOptions | None = None
) -> ParsedDocument:
    """Decode, normalize and structure one item; the same input always gives the same document.

    The title is that of the front matter, else the first heading of the highest level there is,
    else the item's, else its file name. A `content_type` in the item's metadata helps to find the
    format.

    Raises:
        ParseError: if the format is not supported or the bytes are no text.
    """
    options = options or ParsingOptions()
    content_type = item.metadata.get("content_type")
    chosen = route(
        item.uri,
        raw,
        pinned=options.formats,
        known=item.format,
        content_type=content_type if isinstance(content_type, str) else None,
    )
    pins = options.encodings.items()
    pin = next((encoding for glob, encoding in pins if matches(item.uri, glob)), None)
    decoded = decode(raw, encoding=pin)
    normalized = normalize(decoded.text, options.normalize)
    structure = _structure(chosen.format, normalized.text)
    state: State = "partial" if decoded.damaged else "ok"
    if not structure.blocks:
        state = "no_text"
    title = structure.title or _highest_heading(structure.blocks) or item.title
    title = title or PurePosixPath(item.uri).name
    return ParsedDocument(
        document=Document(
            document_id=document_id(corpus, item.uri),
            uri=item.uri,
            text=normalized.text,
            blocks=structure.blocks,
            title=_storable(" ".join(title.split()))[:MAX_TITLE_CHARACTERS],
            format=chosen.format,
            metadata={_storable(key): _clean(value) for key, value in item.metadata.items()},
        ),
        text_hash=text_hash(normalized.text),
        format=chosen.format,
        format_reason=chosen.reason,
        encoding=decoded.encoding,
        encoding_confidence=decoded.confidence,
        offset_map=normalized.offset_map,
        warnings=(*decoded.warnings, *normalized.warnings, *structure.warnings),
        state=state,
    )


def _structure(format_: Format, text: str) -> Structure:
    try:
        return _parser(format_)(text)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001
        # Whatever a markup library trips over, the text is there: it is kept as paragraphs.
        plain = parse_plain_text(text)
        problem = f"the {format_} parser failed ({type(error).__name__}); read as plain paragraphs"
        return Structure(plain.blocks, None, (problem,))


def _parser(format_: Format) -> Callable[[str], Structure]:
    # Imported when first needed: docutils alone costs a tenth of a second.
    match format_:
        case "markdown":
            from chunk_assets.parsing.markdown import parse_markdown

            return parse_markdown
        case "restructuredtext":
            from chunk_assets.parsing.restructuredtext import parse_restructuredtext

            return parse_restructuredtext
        case "text":
            return parse_plain_text


def _highest_heading(blocks: Sequence[Block]) -> str | None:
    """The first heading of the highest level there is."""
    headings = [b for b in blocks if b.kind is BlockKind.HEADING and b.attributes["title"]]
    highest = min(headings, key=lambda block: block.level, default=None)
    return None if highest is None else highest.heading_path[-1]


def _clean(value: Json) -> Json:
    """Metadata that every table and store can hold: no NUL, no lone surrogate."""
    if isinstance(value, str):
        return _storable(value)
    if isinstance(value, Mapping):
        return {_storable(key): _clean(inner) for key, inner in value.items()}
    if isinstance(value, Sequence):
        return [_clean(inner) for inner in value]
    return value


def _storable(text: str) -> str:
    return _SURROGATE.sub(REPLACEMENT, text.replace("\0", ""))

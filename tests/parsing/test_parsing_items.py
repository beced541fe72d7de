"""From an item to a document."""

import codecs

import pytest
from parsing_checks import parsed
from pydantic import ValidationError

from chunk_assets.errors import ParseError
from chunk_assets.lineage.identity import document_id, text_hash
from chunk_assets.parsing import parse as parse_module
from chunk_assets.parsing.config import ParsingOptions, parser_fingerprint
from chunk_assets.parsing.document import BlockKind
from chunk_assets.parsing.parse import parse
from chunk_assets.parsing.tiling import Structure
from chunk_assets.sources.source import SourceItem


def test_a_document_has_the_identity_of_its_corpus_and_uri() -> None:
    item = SourceItem("a/b.md", signature="1")
    document = parse(b"x", corpus="handbook", item=item).document
    assert document.document_id == document_id("handbook", "a/b.md")
    assert document.uri == "a/b.md"


def test_the_text_hash_is_that_of_the_normalized_text() -> None:
    assert parsed("a\r\nb").text_hash == text_hash("a\nb") == parsed("a\nb").text_hash


def test_the_item_s_format_decides_over_its_name() -> None:
    item = SourceItem("certifi.txt", signature="", format="restructuredtext")
    document = parse(b"Title\n=====\n", corpus="c", item=item).document
    assert document.format == "restructuredtext"
    assert document.blocks[0].kind is BlockKind.HEADING


def test_a_content_type_in_the_metadata_decides_over_the_name() -> None:
    item = SourceItem("page.txt", signature="", metadata={"content_type": "text/markdown"})
    assert parse(b"# A", corpus="c", item=item).format == "markdown"


def test_pins_decide_format_and_encoding() -> None:
    result = parsed(
        "# Größe".encode("cp850"),
        "a.foo",
        formats={"*.foo": "markdown"},
        encodings={"*.foo": "cp850"},
    )
    assert (result.format, result.encoding) == ("markdown", "cp850")
    assert result.document.title == "Größe"


@pytest.mark.parametrize(
    ("raw", "item_title", "title"),
    [
        ("---\ntitle: Stated\n---\n# Heading", "Item", "Stated"),
        ("## Second\n# First\n# Other", "Item", "First"),
        ("# \n\n# Named", "Item", "Named"),
        ("text", "Item", "Item"),
        ("text", None, "page.md"),
    ],
)
def test_the_title_is_stated_or_the_highest_heading_or_the_item_s_or_the_file_name(
    raw: str, item_title: str | None, title: str
) -> None:
    item = SourceItem("a/page.md", signature="", title=item_title)
    assert parse(raw.encode(), corpus="c", item=item).document.title == title


@pytest.mark.parametrize("raw", ["", " \n\t\n", "\ufeff", "\0\0 text?"])
def test_no_text_is_a_state_of_its_own(raw: str) -> None:
    expected = "ok" if "text" in raw else "no_text"
    assert parsed(raw).state == expected


def test_a_document_with_undecodable_bytes_is_partial() -> None:
    assert parsed("日本語の文章".encode() + b"\xff").state == "partial"


def test_warnings_of_all_steps_are_kept() -> None:
    raw = "---\ntitle: a: b\n---\n\0Größe, Straße und Übung sind schön\n".encode("cp1252")
    encoding, nuls, front_matter = parsed(raw * 1).warnings
    assert "cp1252" in encoding
    assert "NUL" in nuls
    assert "YAML" in front_matter


def test_byte_spans_show_a_chunk_in_the_original_file() -> None:
    raw = codecs.BOM_UTF16_LE + "Über\r\n\r\n# Café – ภาษา\r\n".encode("utf-16-le")
    result = parsed(raw)
    heading = result.document.blocks[1]
    ((start, end),) = result.byte_spans(raw, [(heading.start, heading.end)])
    assert raw[start:end].decode("utf-16-le") == "# Café – ภาษา"


def test_no_byte_offset_is_taken_for_a_character_offset() -> None:
    raw = "Über café – fin.\nNächste Zeile. ภาษาไทย".encode()
    document = parsed(raw, "a.txt").document
    assert [document.text[b.start : b.end] for b in document.blocks] == [raw.decode()]


def test_metadata_and_titles_can_be_stored_anywhere() -> None:
    item = SourceItem(
        "a.md", signature="", title="t\0\ud800", metadata={"k\0": ["a\0b", {"x": "\udcff"}], "n": 1}
    )
    document = parse(b"text", corpus="c", item=item).document
    assert document.title == "t\ufffd"
    assert document.metadata == {"k": ["ab", {"x": "\ufffd"}], "n": 1}


def test_an_unsupported_file_is_refused() -> None:
    with pytest.raises(ParseError, match=r"\.docx"):
        parsed(b"x", "a.docx")


def test_a_parser_that_fails_leaves_the_text_as_paragraphs_and_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(text: str) -> Structure:
        raise IndexError(text)

    monkeypatch.setattr(parse_module, "_parser", lambda format_: fail)
    result = parsed("# a\n\nb")
    assert [block.kind for block in result.document.blocks] == [BlockKind.PARAGRAPH] * 2
    assert "markdown parser failed (IndexError)" in result.warnings[0]


def test_every_option_is_part_of_the_parser_s_fingerprint() -> None:
    variants = [
        {},
        {"formats": {"*.x": "text"}},
        {"formats": {"*.y": "text"}},
        {"encodings": {"*.x": "cp850"}},
        {"normalize": {"nfc": True}},
        {"normalize": {"tabs_to_spaces": 4}},
        {"normalize": {"collapse_blank_lines": True}},
    ]
    prints = {parser_fingerprint(ParsingOptions.model_validate(variant)) for variant in variants}
    assert len(prints) == len(variants)


def test_the_order_of_pins_is_part_of_the_parser_s_fingerprint() -> None:
    one = ParsingOptions(formats={"*.x": "text", "a*": "markdown"})
    other = ParsingOptions(formats={"a*": "markdown", "*.x": "text"})
    assert parser_fingerprint(one) != parser_fingerprint(other)


@pytest.mark.parametrize("name", ["utf-99", "base64"])
def test_an_unknown_encoding_is_refused_when_the_configuration_loads(name: str) -> None:
    with pytest.raises(ValidationError, match="is no text encoding"):
        ParsingOptions(encodings={"*": name})

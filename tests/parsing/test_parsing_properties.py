"""What holds for every text and for every sequence of bytes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parsing_checks import heading_faults, markup, parsed, texts, tiling_faults

from chunk_assets.errors import ParseError
from chunk_assets.parsing.decode import decode
from chunk_assets.parsing.normalize import normalize

# Texts of few characters look like binary data, which is not the question here.
UTF_8 = {"*": "utf-8"}
FORMATS = pytest.mark.parametrize("name", ["a.md", "a.rst", "a.txt"])
many = settings(max_examples=150, deadline=None, derandomize=True)


@FORMATS
@given(texts)
@many
def test_blocks_are_ordered_and_cover_every_character_that_is_not_blank(
    name: str, raw: str
) -> None:
    document = parsed(raw, name, encodings=UTF_8).document
    assert tiling_faults(document.text, document.blocks) == []


@FORMATS
@given(markup)
@many
def test_headings_hold_their_titles(name: str, raw: str) -> None:
    document = parsed(raw, name, encodings=UTF_8).document
    assert heading_faults(document.text, document.blocks) == []


@FORMATS
@given(texts)
@many
def test_markup_never_makes_a_parser_fail(name: str, raw: str) -> None:
    warnings = parsed(raw, name, encodings=UTF_8).warnings
    assert [warning for warning in warnings if "failed" in warning] == []


@FORMATS
@given(texts)
@many
def test_the_text_is_the_normalized_decoding_of_the_bytes(name: str, raw: str) -> None:
    document = parsed(raw, name, encodings=UTF_8).document
    assert document.text == normalize(decode(raw.encode(), encoding="utf-8").text).text


@FORMATS
@given(texts)
@many
def test_parsing_is_deterministic(name: str, raw: str) -> None:
    assert parsed(raw, name, encodings=UTF_8) == parsed(raw, name, encodings=UTF_8)


@FORMATS
@given(st.binary(max_size=200) | markup.map(lambda text: text.encode("utf-16")))
@many
def test_arbitrary_bytes_are_parsed_or_refused(name: str, raw: bytes) -> None:
    try:
        result = parsed(raw, name)
    except ParseError:
        return
    result.document.text.encode("utf-8")
    assert tiling_faults(result.document.text, result.document.blocks) == []


@given(markup)
@many
def test_line_ends_change_no_structure(raw: str) -> None:
    text = normalize(raw).text
    expected = parsed(text).document
    for line_end in ("\r\n", "\r"):
        found = parsed(text.replace("\n", line_end)).document
        assert (found.text, found.blocks) == (expected.text, expected.blocks)

"""Normalization and the way back."""

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parsing_checks import texts

from chunk_assets.parsing.normalize import NormalizerOptions, normalize
from chunk_assets.parsing.offset_map import Edits, OffsetMap

options = st.builds(
    NormalizerOptions,
    nfc=st.booleans(),
    tabs_to_spaces=st.none() | st.integers(1, 8),
    collapse_blank_lines=st.booleans(),
)
many = settings(max_examples=200, deadline=None, derandomize=True)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("a\r\nb\rc\nd", "a\nb\nc\nd"),
        ("\r\r\n\n\r", "\n\n\n\n"),
        ("\ufeffa\ufeffb", "a\ufeffb"),
        ("\0\ufeff\0a", "a"),
        ("a\0\0b\0", "ab"),
        ("a\r\0\nb", "a\n\nb"),
        ("tab\tno\u00a0break \x0c\u2028 end  ", "tab\tno\u00a0break \x0c\u2028 end  "),
    ],
)
def test_only_line_ends_nuls_and_the_mark_change_by_default(raw: str, text: str) -> None:
    assert normalize(raw).text == text


def test_removed_nuls_are_reported() -> None:
    assert normalize("a\0b\0").warnings == ("2 NUL characters removed",)


def test_special_tokens_of_models_are_ordinary_text() -> None:
    text = "the marker <|endoftext|> ends it, [CLS] and </s>"
    assert normalize(text).text == text


def test_spans_lead_back_to_the_original() -> None:
    raw = "\ufeffOne.\r\nTw\0o.\rThree."
    normalized = normalize(raw)
    assert normalized.text == "One.\nTwo.\nThree."
    found = {
        word: raw[slice(*normalized.offset_map.to_raw((at, at + len(word))))]
        for word in ("One.", "Two.", "Three.", "\n")
        if (at := normalized.text.index(word)) >= 0
    }
    assert found == {"One.": "One.", "Two.": "Tw\0o.", "Three.": "Three.", "\n": "\r\n"}


def test_text_that_needs_no_change_has_an_empty_map() -> None:
    assert normalize("a\nb").offset_map.to_list() == []


@pytest.mark.parametrize(
    ("raw", "width", "text"),
    [("\ta\tb", 4, "    a   b"), ("ab\t\n\tc", 4, "ab  \n    c"), ("\t\t", 2, "    ")],
)
def test_tabs_become_spaces_up_to_the_next_stop(raw: str, width: int, text: str) -> None:
    assert normalize(raw, NormalizerOptions(tabs_to_spaces=width)).text == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("a\n\n\n\nb", "a\n\nb"),
        ("a\n \n\t\nb", "a\n\nb"),
        ("a\n\nb\nc", "a\n\nb\nc"),
        ("\n\n\na", "\na"),
        ("a\n\n\n", "a\n\n"),
        ("a\n\n\n    b", "a\n\n    b"),
    ],
)
def test_runs_of_blank_lines_collapse_to_one(raw: str, text: str) -> None:
    assert normalize(raw, NormalizerOptions(collapse_blank_lines=True)).text == text


@given(texts)
@many
def test_composing_by_grapheme_is_what_unicode_calls_nfc(raw: str) -> None:
    lossless = normalize(raw).text
    composed = normalize(raw, NormalizerOptions(nfc=True)).text
    assert composed == unicodedata.normalize("NFC", lossless)


def test_a_letter_with_absurdly_many_marks_stays_as_it_is() -> None:
    raw = "a" + "\u0323\u0301" * 100_000
    assert normalize(raw, NormalizerOptions(nfc=True)).text == raw


def test_a_composed_letter_leads_back_to_all_its_parts() -> None:
    normalized = normalize("e\u0301a", NormalizerOptions(nfc=True))
    assert normalized.text == "éa"
    assert normalized.offset_map.to_raw((0, 1)) == (0, 2)
    assert normalized.offset_map.to_raw((1, 2)) == (2, 3)


@given(texts, options)
@many
def test_normalizing_twice_changes_nothing_more(raw: str, chosen: NormalizerOptions) -> None:
    once = normalize(raw, chosen).text
    assert normalize(once, chosen).text == once


@given(texts)
@many
def test_every_character_is_the_one_it_leads_back_to(raw: str) -> None:
    normalized = normalize(raw)
    for position, character in enumerate(normalized.text):
        start, end = normalized.offset_map.to_raw((position, position + 1))
        origin = raw[start:end]
        assert origin == character or (character == "\n" and origin in ("\r", "\r\n"))


@given(texts, st.data())
@many
def test_a_span_leads_back_to_the_text_it_was_made_from(raw: str, data: st.DataObject) -> None:
    normalized = normalize(raw)
    start = data.draw(st.integers(0, len(normalized.text)))
    end = data.draw(st.integers(start, len(normalized.text)))
    raw_start, raw_end = normalized.offset_map.to_raw((start, end))
    origin = re.sub("\r\n?|\0", lambda match: match[0][0].strip("\0"), raw[raw_start:raw_end])
    assert origin.replace("\r", "\n") == normalized.text[start:end]


@given(texts, options)
@many
def test_spans_lead_back_in_order_and_without_overlap(raw: str, chosen: NormalizerOptions) -> None:
    normalized = normalize(raw, chosen)
    spans = [normalized.offset_map.to_raw((i, i + 1)) for i in range(len(normalized.text))]
    for (start, end), (next_start, next_end) in pairwise(spans):
        assert start < end
        assert (start, end) == (next_start, next_end) or end <= next_start


@given(texts, options)
@many
def test_a_map_survives_its_compact_form(raw: str, chosen: NormalizerOptions) -> None:
    offset_map = normalize(raw, chosen).offset_map
    assert OffsetMap.from_list(offset_map.to_list()) == offset_map


def test_an_empty_span_stays_empty() -> None:
    offset_map = OffsetMap((Edits.of([(1, 2, 1)]),))
    assert [offset_map.to_raw((at, at)) for at in (0, 1, 2)] == [(0, 0), (1, 1), (3, 3)]

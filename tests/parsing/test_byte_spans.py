"""Where decoded text lies in its bytes."""

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chunk_assets.errors import ParseError
from chunk_assets.parsing.byte_spans import byte_spans
from chunk_assets.parsing.decode import decode

TEXT = "Über café – fin. 猫 e\u0301 🚀"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "gb18030"])
def test_each_character_is_found_in_its_own_bytes(encoding: str) -> None:
    raw = TEXT.encode(encoding)
    spans = byte_spans(raw, encoding, [(i, i + 1) for i in range(len(TEXT))])
    assert [raw[start:end].decode(encoding) for start, end in spans] == list(TEXT)


def test_spans_may_come_in_any_order_and_overlap() -> None:
    raw = TEXT.encode()
    spans = [(17, 18), (0, 4), (2, 10), (5, 5)]
    found = [raw[start:end].decode() for start, end in byte_spans(raw, "utf-8", spans)]
    assert found == [TEXT[start:end] for start, end in spans]


def test_a_byte_order_mark_is_the_first_character() -> None:
    raw = codecs.BOM_UTF16_LE + "ab".encode("utf-16-le")
    assert byte_spans(raw, "utf-16-le", [(0, 1), (1, 3)]) == [(0, 2), (2, 6)]


def test_a_replacement_character_stands_for_the_bytes_it_replaced() -> None:
    raw = "é".encode() * 9 + b"\xff\xfe" + "é".encode()
    assert decode(raw).text[9:11] == "\ufffd\ufffd"
    assert byte_spans(raw, "utf-8", [(9, 10), (10, 11), (11, 12)]) == [(18, 19), (19, 20), (20, 22)]


def test_an_encoding_with_states_is_followed_byte_by_byte() -> None:
    raw = "a日本b".encode("iso2022_jp")
    (first,), (both,) = (byte_spans(raw, "iso2022_jp", [span]) for span in [(0, 1), (1, 3)])
    assert raw[slice(*first)] == b"a"
    assert raw[slice(*both)].startswith(b"\x1b$B")


@pytest.mark.parametrize("encoding", ["cp932", "big5hkscs", "shift_jis_2004"])
@given(raw=st.binary(max_size=40))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_spans_lie_in_the_bytes_and_never_go_back(encoding: str, raw: bytes) -> None:
    try:
        text = decode(raw, encoding=encoding).text
    except ParseError:
        return
    spans = byte_spans(raw, encoding, [(i, i + 1) for i in range(len(text))])
    edges = [0, *(edge for span in spans for edge in span), len(raw)]
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)
    assert all(0 <= edge <= len(raw) for edge in edges)

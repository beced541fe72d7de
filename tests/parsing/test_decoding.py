"""Bytes to text."""

import codecs

import pytest

from chunk_assets.errors import ParseError
from chunk_assets.parsing.decode import decode

GERMAN = "Die schöne Frau hat einen Kaffee mit Kuchen gegessen. Größe, Straße, Übung, Ärger.\n"
RUSSIAN = "Привет, как дела? Это простой текст на русском языке.\n"
JAPANESE = "これはテストです。日本語の文章を書いています。\n"
CHINESE = "这是一个测试。中文文本用于检测编码。\n"


@pytest.mark.parametrize("text", ["plain", GERMAN, JAPANESE, "ภาษา 🚀", ""])
def test_valid_utf_8_is_certain(text: str) -> None:
    decoded = decode(text.encode())
    assert (decoded.text, decoded.encoding, decoded.confidence) == (text, "utf-8", 1.0)
    assert decoded.warnings == ()


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides(mark: bytes, encoding: str) -> None:
    decoded = decode(mark + GERMAN.encode(encoding))
    assert (decoded.text, decoded.encoding) == ("\ufeff" + GERMAN, encoding)
    assert decoded.confidence == 1.0


def test_utf_16_whose_first_character_is_a_nul_is_not_taken_for_utf_32() -> None:
    assert decode(codecs.BOM_UTF16_LE + "\0ab".encode("utf-16-le")).encoding == "utf-16-le"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_latin_text_in_utf_16_without_a_mark_is_recognized_with_a_warning(encoding: str) -> None:
    decoded = decode("name,qty\nrope,3\n".encode(encoding))
    assert (decoded.text, decoded.encoding) == ("name,qty\nrope,3\n", encoding)
    assert decoded.confidence < 1
    assert encoding in decoded.warnings[0]


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "cp1252"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (CHINESE, "gb18030"),
        ("Zażółć gęślą jaźń, proszę bardzo. Dzień dobry, świecie.\n", "cp1250"),
    ],
)
def test_a_legacy_encoding_is_guessed_with_a_warning_that_names_it(
    text: str, encoding: str
) -> None:
    decoded = decode(text.encode(encoding))
    assert decoded.text == text
    assert decoded.encoding in decoded.warnings[0]
    assert "parsing.encodings" in decoded.warnings[0]


def test_a_guess_that_nothing_supports_is_windows_1252_with_low_confidence() -> None:
    decoded = decode("café".encode("cp1252"))
    assert (decoded.text, decoded.encoding) == ("café", "cp1252")
    assert decoded.confidence < 0.5
    assert "doubtful" in decoded.warnings[0]


def test_the_encoding_is_found_where_only_the_end_of_a_long_file_is_not_ascii() -> None:
    raw = b"plain words\n" * 50_000 + (GERMAN * 3).encode("cp1252")
    assert decode(raw).text.endswith(GERMAN)


def test_a_few_invalid_bytes_do_not_make_utf_8_another_encoding() -> None:
    raw = JAPANESE.encode() + b"\xff" + JAPANESE.encode()
    decoded = decode(raw)
    assert decoded.text == f"{JAPANESE}\ufffd{JAPANESE}"
    assert decoded.encoding == "utf-8"
    assert decoded.damaged
    assert f"at character {len(JAPANESE)}" in decoded.warnings[0]


def test_a_file_cut_inside_its_last_character_is_still_utf_8() -> None:
    decoded = decode(JAPANESE.strip().encode()[:-1])
    assert decoded.encoding == "utf-8"
    assert decoded.damaged


def test_a_broken_unit_of_marked_utf_16_is_replaced_and_reported() -> None:
    decoded = decode(codecs.BOM_UTF16_LE + b"a\x00\x00\xd8b\x00")
    assert decoded.text == "\ufeffa\ufffdb"
    assert decoded.damaged


@pytest.mark.parametrize(
    "raw",
    [bytes(range(256)) * 8, b"\x00" * 100, b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01\xff"],
)
def test_binary_data_is_refused_with_the_reason(raw: bytes) -> None:
    with pytest.raises(ParseError, match=r"binary data, not text: .*% of its bytes"):
        decode(raw)


def test_a_nul_among_text_makes_it_no_binary_data() -> None:
    assert decode(b"ab\x00cd ef").text == "ab\0cd ef"


def test_a_pinned_encoding_is_used_whatever_the_bytes_look_like() -> None:
    decoded = decode("Größe".encode("cp850"), encoding="cp850")
    assert (decoded.text, decoded.encoding, decoded.confidence) == ("Größe", "cp850", 1.0)
    assert decoded.warnings == ()


@pytest.mark.parametrize(("pin", "encoding"), [("utf-16", "utf-16-be"), ("utf-8-sig", "utf-8")])
def test_a_pinned_encoding_with_a_byte_order_mark_keeps_the_mark(pin: str, encoding: str) -> None:
    decoded = decode("\ufeffab".encode(encoding), encoding=pin)
    assert (decoded.text, decoded.encoding) == ("\ufeffab", encoding)


def test_bytes_that_contradict_their_pin_are_refused() -> None:
    with pytest.raises(ParseError, match="not utf-8, the encoding pinned"):
        decode(b"caf\xe9", encoding="utf-8")


def test_lone_surrogates_do_not_get_through_a_pin() -> None:
    with pytest.raises(ParseError, match="pinned"):
        decode(rb"\ud800", encoding="raw_unicode_escape")

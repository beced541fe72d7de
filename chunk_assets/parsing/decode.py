"""Bytes to text: which encoding they are in, how sure that is, and what could not be read."""

import codecs
import re
from dataclasses import dataclass

from chunk_assets.errors import ParseError

REPLACEMENT = "\ufffd"

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    # Before UTF-16: its mark begins with that of UTF-16-LE.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BOM_AWARE = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
"""Codecs that swallow a byte order mark, and what they mean without one."""

_CONTROLS = bytes(b for b in range(0x20) if b not in b"\t\n\v\f\r\x1b") + b"\x7f"
_NON_ASCII = bytes(range(0x80, 0x100))
_UNDECODABLE = re.compile("[\udc80-\udcff]")

# Valid UTF-8 may hold a few control characters (a NUL is 12 % of "ab\0cd ef"); random bytes are
# 11 % control characters, so bytes that are not UTF-8 get the lower limit.
_MAX_CONTROLS_IN_UTF8 = 0.30
_MAX_CONTROLS_ELSEWHERE = 0.05
# Legacy double-byte text happens to hold some valid UTF-8 sequences, never four in five.
_MIN_VALID_PER_INVALID = 4
_SAMPLE_BYTES = 64 * 1024
_LOW_CONFIDENCE = 0.5
_TIE = 0.02
_MOST_FREQUENT = "cp1252"
"""Taken where the evidence does not decide: by far the most frequent legacy encoding, and what the
WHATWG encoding standard tells browsers to assume."""
_NEVER_GUESSED = [
    # UTF-8 and marked UTF-16 were tried before; unmarked UTF-16 makes Chinese of any two letters.
    *("utf_7", "utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be", "utf_32_le"),
    # JIS X 0213 fills the gaps that tell Japanese from other double-byte text.
    *("shift_jis_2004", "shift_jisx0213", "euc_jis_2004", "euc_jisx0213", "iso2022_jp_2004"),
    # EBCDIC makes letters of bytes that are punctuation everywhere else.
    *("cp037", "cp273", "cp424", "cp500", "cp875", "cp1026", "cp1140"),
]


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text as it stands in the bytes: a byte order mark is still its first character."""

    text: str
    encoding: str
    """A codec name without byte-order magic (`utf-16-le`, never `utf-16`)."""
    confidence: float
    """1 where a byte order mark, a pin or validity decides; else of the guess, in [0, 1]."""
    warnings: tuple[str, ...] = ()
    damaged: bool = False
    """Some bytes mean nothing in this encoding and stand as U+FFFD."""


def decode(raw: bytes, *, encoding: str | None = None) -> Decoded:
    """Decode by pin, byte order mark, validity as UTF-8, or the best guess, in this order.

    Args:
        raw: the bytes of one item.
        encoding: a codec name that the user pinned for it.

    Raises:
        ParseError: if the bytes are not text, or not text in the pinned encoding.
    """
    if encoding is not None:
        return _decode_pinned(raw, encoding)
    return (
        _decode_by_bom(raw)
        or _decode_utf16_without_bom(raw)
        or _decode_utf8(raw)
        or _decode_damaged_utf8(raw)
        or _decode_by_guess(raw)
    )


def decode_as(raw: bytes, encoding: str) -> str:
    """The text of `raw` in a known encoding; one U+FFFD for each byte or unit without meaning."""
    if encoding == "utf-8":
        return _UNDECODABLE.sub(REPLACEMENT, raw.decode("utf-8", "surrogateescape"))
    return raw.decode(encoding, "replace")


def _decode_pinned(raw: bytes, encoding: str) -> Decoded:
    name = codecs.lookup(encoding).name
    if name in _BOM_AWARE:
        marked = next((codec for bom, codec in _BOMS if raw.startswith(bom)), None)
        same_family = marked is not None and marked.startswith(name[:6])
        name = marked if marked and same_family else _BOM_AWARE[name]
    try:
        text = raw.decode(name)
        text.encode("utf-8")  # fails on lone surrogates, which some codecs let through
    except UnicodeError as error:
        raise ParseError(
            f"these bytes are not {encoding}, the encoding pinned for this item ({error}); correct "
            "or remove its pin under parsing.encodings"
        ) from error
    return Decoded(text, name, 1.0)


def _decode_by_bom(raw: bytes) -> Decoded | None:
    for bom, encoding in _BOMS:
        if not raw.startswith(bom):
            continue
        if encoding == "utf-32-le" and not _is_valid(raw, encoding):
            continue  # UTF-16-LE whose first character is a NUL
        text = decode_as(raw, encoding)
        if _is_valid(raw, encoding):
            return Decoded(text, encoding, 1.0)
        return Decoded(text, encoding, 1.0, (_damage_warning(text, encoding),), damaged=True)
    return None


def _decode_utf16_without_bom(raw: bytes) -> Decoded | None:
    # Latin text in UTF-16 has a NUL in nearly every second byte, and on one side only.
    units = len(raw) // 2
    if units < 4 or len(raw) % 2 or b"\x00" not in raw:
        return None
    even, odd = raw[0::2].count(0) / units, raw[1::2].count(0) / units
    if min(even, odd) > 0.05 or max(even, odd) < 0.7:
        return None
    encoding = "utf-16-le" if odd > even else "utf-16-be"
    if not _is_valid(raw, encoding):
        return None
    text = raw.decode(encoding)
    if _control_share(text.encode("utf-8")) > _MAX_CONTROLS_ELSEWHERE:
        return None
    warning = f"read as {encoding}: it has no byte order mark, but zeros in every second byte"
    return Decoded(text, encoding, 0.9, (warning,))


def _decode_utf8(raw: bytes) -> Decoded | None:
    if not _is_valid(raw, "utf-8"):
        return None
    if (share := _control_share(raw)) > _MAX_CONTROLS_IN_UTF8:
        raise _binary(share)
    return Decoded(raw.decode("utf-8"), "utf-8", 1.0)


def _decode_damaged_utf8(raw: bytes) -> Decoded | None:
    escaped = raw.decode("utf-8", "surrogateescape")
    invalid = len(_UNDECODABLE.findall(escaped))
    ascii_characters = len(raw.translate(None, _NON_ASCII))
    valid = len(escaped) - ascii_characters - invalid
    if valid < _MIN_VALID_PER_INVALID * invalid:
        return None
    if _control_share(raw) > _MAX_CONTROLS_ELSEWHERE:
        return None
    text = _UNDECODABLE.sub(REPLACEMENT, escaped)
    return Decoded(
        text,
        "utf-8",
        round(valid / (valid + invalid), 3),
        (_damage_warning(text, "utf-8"),),
        damaged=True,
    )


def _decode_by_guess(raw: bytes) -> Decoded:
    if (share := _control_share(raw)) > _MAX_CONTROLS_ELSEWHERE:
        raise _binary(share)
    candidates, confidence = _guess(_sample(raw))
    encoding = next((c for c in candidates if _is_valid(raw, c)), candidates[0])
    damaged = not _is_valid(raw, encoding)
    if damaged and confidence == 0:
        raise ParseError(
            "these bytes are no text in any encoding known; if they are text, save them as UTF-8 "
            "or pin their encoding under parsing.encodings"
        )
    text = decode_as(raw, encoding)
    doubt = "a doubtful guess" if confidence < _LOW_CONFIDENCE else "a guess"
    warnings = [
        f"not UTF-8; read as {encoding}, {doubt} (confidence {confidence:.2f}); if that is wrong, "
        "save it as UTF-8 or pin its encoding under parsing.encodings"
    ]
    if damaged:
        warnings.append(_damage_warning(text, encoding))
    return Decoded(text, encoding, confidence, tuple(warnings), damaged)


def _guess(sample: bytes) -> tuple[list[str], float]:
    """Candidate encodings, best first, and the confidence in the first."""
    import charset_normalizer

    matches = list(charset_normalizer.from_bytes(sample, cp_exclusion=_NEVER_GUESSED))
    if not matches:
        return [_MOST_FREQUENT], 0.0
    best = matches[0]
    tied = [
        match
        for match in matches
        if match.chaos <= best.chaos + _TIE and match.coherence >= best.coherence - _TIE
    ]
    tied.sort(key=lambda match: _MOST_FREQUENT not in match.could_be_from_charset)
    rest = [match for match in matches if match not in tied]
    names: list[str] = []
    for match in [*tied, *rest]:
        alternatives = sorted(match.could_be_from_charset, key=lambda name: name != _MOST_FREQUENT)
        names += [codecs.lookup(name).name for name in alternatives]
    distinct = len({str(match) for match in tied})
    return list(dict.fromkeys(names)), round((1 - tied[0].chaos) / distinct, 3)


def _sample(raw: bytes) -> bytes:
    """The lines that hold non-ASCII bytes: the others say nothing about the encoding."""
    lines: list[bytes] = []
    size = 0
    for line in raw.split(b"\n"):
        if not line.isascii():
            lines.append(line)
            size += len(line)
            if size >= _SAMPLE_BYTES:
                break
    sample = b"\n".join(lines)
    if len(sample) > _SAMPLE_BYTES:
        # A space is never the second byte of a character: cut there, not inside one.
        cut = sample.rfind(b" ", 0, _SAMPLE_BYTES)
        sample = sample[:cut] if cut > 0 else sample
    return sample


def _is_valid(raw: bytes, encoding: str) -> bool:
    try:
        raw.decode(encoding)
    except UnicodeError:
        return False
    return True


def _control_share(raw: bytes) -> float:
    return 1 - len(raw.translate(None, _CONTROLS)) / len(raw) if raw else 0.0


def _binary(share: float) -> ParseError:
    return ParseError(
        f"binary data, not text: {share:.0%} of its bytes are control characters; exclude it in "
        "the source, or convert it to text"
    )


def _damage_warning(text: str, encoding: str) -> str:
    where = text.find(REPLACEMENT)
    return (
        f"{text.count(REPLACEMENT)} places are not valid {encoding} and stand as U+FFFD, the first "
        f"at character {where}"
    )

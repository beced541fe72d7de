"""Which code points are blank, end a line, join a neighbour, or belong to unspaced scripts."""

from functools import cache

import numpy as np
import numpy.typing as npt
import regex

Classes = npt.NDArray[np.uint8]

BLANK = 1
"""White space, as `str.isspace` has it."""
NEWLINE = 2
"""Ends a line, as `str.splitlines` has it."""
PAGE = 4
"""Form feed and paragraph separator: they end a paragraph alone."""
JOINS_PREVIOUS = 8
"""Part of the grapheme cluster before it, even after a space (combining and spacing marks)."""
JOINS_NEXT = 16
"""Part of the grapheme cluster after it, even before a space (Grapheme_Cluster_Break=Prepend)."""
UNSPACED = 32
"""Of a script written without spaces between words."""

_NEWLINES = "\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"
_PAGES = "\f\u2029"
_MARKS = {
    JOINS_PREVIOUS: r"[\p{Gcb=Extend}\p{Gcb=SpacingMark}\p{Gcb=ZWJ}]+",
    JOINS_NEXT: r"\p{Gcb=Prepend}+",
    # Line_Break=SA: the South-East Asian scripts, where a line breaks only at dictionary words.
    UNSPACED: r"[\p{Line_Break=SA}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+",
}
_FIRST_MARK = 0x300  # below it no code point joins its neighbour and no script lacks spaces
_CODE_POINTS = 0x110000
_LAST_BLANK = 0x3000
_BLOCK = 1 << 20  # bounds the memory of the conversion to code points


def classify(text: str) -> Classes:
    """The classes of every code point of a text, as bit masks."""
    table = _simple_table() if text.isascii() else _full_table()
    if len(text) <= _BLOCK:
        return table[_codes(text)]
    blocks = range(0, len(text), _BLOCK)
    return np.concatenate([table[_codes(text[at : at + _BLOCK])] for at in blocks])


def _codes(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


@cache
def _simple_table() -> Classes:
    table = np.zeros(_LAST_BLANK + 1, dtype=np.uint8)
    for code in range(_LAST_BLANK + 1):
        if chr(code).isspace():
            table[code] = BLANK
    for newline in _NEWLINES:
        table[ord(newline)] |= NEWLINE
    for page in _PAGES:
        table[ord(page)] |= PAGE
    return table


@cache
def _full_table() -> Classes:
    table = np.zeros(_CODE_POINTS, dtype=np.uint8)
    table[: _LAST_BLANK + 1] = _simple_table()
    everything = "".join(map(chr, range(_FIRST_MARK, _CODE_POINTS)))
    for bit, pattern in _MARKS.items():
        for run in regex.finditer(pattern, everything):
            table[run.start() + _FIRST_MARK : run.end() + _FIRST_MARK] |= bit
    return table

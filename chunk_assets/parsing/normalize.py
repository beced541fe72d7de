"""Normalization: lossless by default, stronger clean-ups by name, and always a way back."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import regex
from pydantic import Field

from chunk_assets.parsing.offset_map import Edits, OffsetMap
from chunk_assets.strict_model import StrictModel

_MARKS_NULS_AND_LINE_ENDS = re.compile("\\A[\ufeff\0]+|\0+|\r\n?")
_BLANK_LINES = re.compile(r"(?<=\n)(?:[^\S\n]*\n){2,}|\A(?:[^\S\n]*\n){2,}")
_NON_ASCII_RUN = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]+")
_GRAPHEME = regex.compile(r"\X")
# Canonical reordering in CPython is quadratic in a run of marks; no script needs so many
# (the Stream-Safe Text Format of UAX #15 allows 30).
_MAX_CLUSTER = 256


class NormalizerOptions(StrictModel):
    r"""What is done to decoded text before it is parsed.

    Always: line ends become `\n`, NUL characters and a byte order mark at the start go. Each
    option below changes more; whatever is on, every span can be shown in the original.
    """

    nfc: bool = False
    """Compose characters (Unicode NFC): `e` + acute becomes `é`. A letter with over 255 marks stays
    as it is."""
    tabs_to_spaces: int | None = Field(default=None, ge=1, le=16)
    """Replace each tab by spaces up to the next multiple of this many columns; null keeps tabs."""
    collapse_blank_lines: bool = False
    """Make every run of blank lines one blank line, also inside code."""


@dataclass(frozen=True, slots=True)
class Normalized:
    """Normalized text, how to get back, and what a reader should know."""

    text: str
    offset_map: OffsetMap
    warnings: tuple[str, ...] = ()


_Replacement = tuple[int, int, str]
"""Start and end in the text before, and what stands there after."""


def normalize(text: str, options: NormalizerOptions | None = None) -> Normalized:
    """Normalize decoded text; the same text and options always give the same result."""
    options = options or NormalizerOptions()
    steps: list[Callable[[str], Iterator[_Replacement]]] = [_unify]
    if options.nfc:
        steps.append(_compose)
    if (width := options.tabs_to_spaces) is not None:
        steps.append(lambda before: _expand_tabs(before, width))
    if options.collapse_blank_lines:
        steps.append(_collapse)
    nuls = text.count("\0")
    maps: list[Edits] = []
    for step in steps:
        text, edits = _apply(text, step(text))
        if len(edits):
            maps.append(edits)
    warnings = (f"{nuls} NUL characters removed",) if nuls else ()
    return Normalized(text, OffsetMap(tuple(maps)), warnings)


def _apply(text: str, replacements: Iterator[_Replacement]) -> tuple[str, Edits]:
    pieces: list[str] = []
    edited: list[tuple[int, int, int]] = []
    position = 0
    for start, end, after in replacements:
        pieces += (text[position:start], after)
        edited.append((start, end - start, len(after)))
        position = end
    if not edited:
        return text, Edits.of(())
    pieces.append(text[position:])
    return "".join(pieces), Edits.of(edited)


def _unify(text: str) -> Iterator[_Replacement]:
    for match in _MARKS_NULS_AND_LINE_ENDS.finditer(text):
        yield match.start(), match.end(), "\n" if match[0][0] == "\r" else ""


def _compose(text: str) -> Iterator[_Replacement]:
    if text.isascii():
        return
    # Nothing composes across the start of an ASCII character, nor across a grapheme's.
    for run in _NON_ASCII_RUN.finditer(text):
        for cluster in _GRAPHEME.finditer(text, run.start(), run.end()):
            before = cluster[0]
            if len(before) > _MAX_CLUSTER:
                continue
            after = unicodedata.normalize("NFC", before)
            if after != before:
                yield cluster.start(), cluster.end(), after


def _expand_tabs(text: str, width: int) -> Iterator[_Replacement]:
    line_start = added = searched = 0
    position = text.find("\t")
    while position >= 0:
        newline = text.rfind("\n", searched, position)
        if newline >= 0:
            line_start, added = newline + 1, 0
        spaces = width - (position - line_start + added) % width
        yield position, position + 1, " " * spaces
        added += spaces - 1
        searched = position + 1
        position = text.find("\t", searched)


def _collapse(text: str) -> Iterator[_Replacement]:
    for match in _BLANK_LINES.finditer(text):
        yield match.start(), match.end(), "\n"

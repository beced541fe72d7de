"""Words: runs of non-blank text, and dictionary words where a script has no spaces.

A word is what stands between blanks. In Han, Kana, Thai, Lao, Khmer and Burmese text a word is
what ICU's dictionaries find, where a line may also break (so closing punctuation stays with the
word before it). No word is longer than `LONGEST_WORD` code points, one grapheme cluster apart, so
that a size in words bounds a text whatever is in it. Words start and end at grapheme clusters.
"""

import numpy as np
from icu4py.breakers import BaseBreaker, LineBreaker, WordBreaker

from chunk_assets.chunking.code_points import (
    BLANK,
    JOINS_NEXT,
    JOINS_PREVIOUS,
    UNSPACED,
    Classes,
    classify,
)
from chunk_assets.chunking.graphemes import grapheme_ends
from chunk_assets.chunking.spans import Positions, Spans, positions

LONGEST_WORD = 100
"""As in WordPiece, where a longer run is one unknown token whatever its length."""

_ICU_BLOCK = 1 << 16  # bounds the memory of a dictionary pass over a text without any blank


def count_words(text: str) -> int:
    """The number of words of a text."""
    return len(word_spans(text, classify(text)).starts)


def word_spans(text: str, classes: Classes) -> Spans:
    """The words of a text; `classes` are those of `classify(text)`."""
    starts, stops = _runs(classes)
    if not len(starts):
        return Spans(starts, stops)
    unspaced = np.zeros(len(starts), dtype=bool)
    if not text.isascii():
        starts, stops = _whole_graphemes(text, classes, starts, stops)
        marked = np.flatnonzero(classes & UNSPACED)
        unspaced = marked.searchsorted(stops) > marked.searchsorted(starts)
    divided = np.flatnonzero(unspaced | (stops - starts > LONGEST_WORD))
    if not len(divided):
        return Spans(starts, stops)
    inner: list[Positions] = []
    for at in divided.tolist():
        start, stop = int(starts[at]), int(stops[at])
        inner.append(_divide(text, start, stop, dictionary=bool(unspaced[at])))
    cuts = np.concatenate(inner)
    return Spans(np.union1d(starts, cuts), np.union1d(stops, cuts))


def _runs(classes: Classes) -> tuple[Positions, Positions]:
    """Runs without blanks."""
    solid = np.zeros(len(classes) + 2, dtype=bool)
    np.equal(classes & BLANK, 0, out=solid[1:-1])
    edges = np.flatnonzero(solid[1:] != solid[:-1]).astype(np.int64)
    return edges[0::2], edges[1::2]


def _whole_graphemes(
    text: str, classes: Classes, starts: Positions, stops: Positions
) -> tuple[Positions, Positions]:
    """Add to a run the space that its first mark combines with, or its last character takes.

    A space, unlike a control character, is a base that marks combine with.
    """
    begun = np.flatnonzero(classes[starts] & JOINS_PREVIOUS)
    for at in begun.tolist():
        start = int(starts[at])
        if start > 0 and len(grapheme_ends(text, start - 1, start + 1)) == 1:
            starts[at] = start - 1
    ended = np.flatnonzero(classes[stops - 1] & JOINS_NEXT)
    for at in ended.tolist():
        stop = int(stops[at])
        if stop < len(text) and len(grapheme_ends(text, stop - 1, stop + 1)) == 1:
            stops[at] = stop + 1
    # A space taken from both sides ("prepend, space, mark") joins two runs into one.
    apart = starts[1:] >= stops[:-1]
    return starts[np.concatenate(([True], apart))], stops[np.concatenate((apart, [True]))]


def _divide(text: str, start: int, stop: int, *, dictionary: bool) -> Positions:
    """Where a run without blanks is divided into words (neither its start nor its stop)."""
    edges = grapheme_ends(text, start, stop)
    cuts = positions([])
    if dictionary:
        cuts = np.concatenate(
            [
                _dictionary_breaks(text, at, min(at + _ICU_BLOCK, stop))
                for at in range(start, stop, _ICU_BLOCK)
            ]
        )
        cuts = np.intersect1d(cuts, edges, assume_unique=True)
    return _bounded(np.union1d(cuts, [stop]), edges, start)[:-1]


def _dictionary_breaks(text: str, start: int, stop: int) -> Positions:
    # ICU takes no lone surrogates; a question mark stands for each, so that lengths agree.
    part = text[start:stop].encode("utf-8", "replace").decode("utf-8")
    words = _breaks(WordBreaker(part, "root"))
    lines = _breaks(LineBreaker(part, "root"))
    return start + np.intersect1d(words, lines, assume_unique=True)


def _breaks(breaker: BaseBreaker) -> Positions:
    return np.cumsum(np.fromiter((len(piece) for piece in breaker), dtype=np.int64))


def _bounded(cuts: Positions, edges: Positions, start: int) -> Positions:
    """Add grapheme edges so that no word is longer than `LONGEST_WORD`."""
    lengths = np.diff(cuts, prepend=start)
    if lengths.max() <= LONGEST_WORD:
        return cuts
    bounded: list[int] = []
    for cut in cuts.tolist():
        while cut - start > LONGEST_WORD:
            fitting = int(edges.searchsorted(start + LONGEST_WORD, "right"))
            # A single grapheme cluster longer than a word stays whole.
            longest = fitting - 1 if fitting and edges[fitting - 1] > start else fitting
            start = int(edges[longest])
            bounded.append(start)
        if cut > start:
            bounded.append(cut)
            start = cut
    return positions(bounded)

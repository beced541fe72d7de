"""Words: runs of non-blank text, and dictionary words where a script has no spaces.

A word is what stands between blanks. In Han, Kana, Thai, Lao, Khmer and Burmese text a word is
what ICU's dictionaries find, where a line may also break (so closing punctuation stays with the
word before it). Words start and end at grapheme clusters.

A word longer than `LONGEST_WORD` code points counts as several, so that a size in words bounds a
text whatever is in it.
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
    return len(bounded_words(text, word_spans(text, classify(text))).starts)


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
    cuts = [
        _dictionary_cuts(text, int(starts[at]), int(stops[at]))
        for at in np.flatnonzero(unspaced).tolist()
    ]
    return _divided(Spans(starts, stops), cuts)


def bounded_words(text: str, words: Spans) -> Spans:
    """The words, those longer than `LONGEST_WORD` in pieces of whole grapheme clusters.

    Only a single grapheme cluster may be longer than `LONGEST_WORD`.
    """
    cuts = [
        _bounding_cuts(text, int(words.starts[at]), int(words.stops[at]))
        for at in np.flatnonzero(words.stops - words.starts > LONGEST_WORD).tolist()
    ]
    return _divided(words, cuts)


def _divided(words: Spans, cuts: list[Positions]) -> Spans:
    if not cuts:
        return words
    return Spans(*(np.union1d(edges, np.concatenate(cuts)) for edges in words))


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


def _dictionary_cuts(text: str, start: int, stop: int) -> Positions:
    """Where a run is divided into dictionary words."""
    cuts = np.concatenate(
        [
            _dictionary_breaks(text, at, min(at + _ICU_BLOCK, stop))
            for at in range(start, stop, _ICU_BLOCK)
        ]
    )
    return np.intersect1d(cuts, grapheme_ends(text, start, stop)[:-1], assume_unique=True)


def _dictionary_breaks(text: str, start: int, stop: int) -> Positions:
    # ICU takes no lone surrogates; a question mark stands for each, so that lengths agree.
    part = text[start:stop].encode("utf-8", "replace").decode("utf-8")
    words = _breaks(WordBreaker(part, "root"))
    lines = _breaks(LineBreaker(part, "root"))
    return start + np.intersect1d(words, lines, assume_unique=True)


def _breaks(breaker: BaseBreaker) -> Positions:
    return np.cumsum(np.fromiter((len(piece) for piece in breaker), dtype=np.int64))


def _bounding_cuts(text: str, start: int, stop: int) -> Positions:
    """Where a word is divided so that no piece is longer than `LONGEST_WORD`."""
    edges = grapheme_ends(text, start, stop)
    cuts: list[int] = []
    while stop - start > LONGEST_WORD:
        last = int(edges.searchsorted(start + LONGEST_WORD, "right")) - 1
        if last < 0 or edges[last] <= start:
            last += 1  # a grapheme cluster longer than a word
        start = int(edges[last])
        cuts.append(start)
    return positions(cuts[:-1] if start == stop else cuts)

"""Sizes as arithmetic: a text is measured once, every later question is two binary searches."""

from collections.abc import Iterator, Sequence
from enum import StrEnum

import numpy as np

from chunk_assets.chunking.spans import Positions, Spans
from chunk_assets.chunking.words import LONGEST_WORD, count_words
from chunk_assets.embedding.tokenizer import Tokenizer
from chunk_assets.errors import ChunkingError

_SEGMENT = 1 << 12
"""Code points tokenized at once: bounds the tokenizer's bookkeeping (some 200 bytes a token),
and is faster than longer texts."""


class Unit(StrEnum):
    """What sizes are counted in."""

    TOKENS = "tokens"
    WORDS = "words"
    CHARACTERS = "characters"


class Ruler:
    """The units of one text. A unit that a span holds only a part of counts whole.

    Sizes of spans are exact for characters. For words and tokens they are those of the text as a
    whole: a slice on its own may count differently at its two ends, so the final text is counted
    again with `count`.
    """

    def __init__(
        self, text: str, words: Spans, unit: Unit, tokenizer: Tokenizer | None = None
    ) -> None:
        self.unit = unit
        self._tokenizer = tokenizer
        if unit is Unit.CHARACTERS:
            return
        if unit is Unit.WORDS:
            self._starts, self._stops = words
        else:
            self._starts, self._stops = _token_spans(text, words, self._needed_tokenizer())

    def size(self, start: int, stop: int) -> int:
        """The size of `text[start:stop]`."""
        if self.unit is Unit.CHARACTERS:
            return stop - start
        before = self._stops.searchsorted(start, "right")
        return max(0, int(self._starts.searchsorted(stop, "left") - before))

    def furthest(self, start: int, size: int) -> int:
        """The last position up to which a span from `start` is not larger than `size`.

        Beyond the text's end if all the rest fits.
        """
        if self.unit is Unit.CHARACTERS:
            return start + size
        following = int(self._stops.searchsorted(start, "right")) + size
        return int(self._starts[following]) if following < len(self._starts) else _BEYOND

    def earliest(self, stop: int, size: int) -> int:
        """The first position from which a span to `stop` is not larger than `size`."""
        if self.unit is Unit.CHARACTERS:
            return max(0, stop - size)
        preceding = int(self._starts.searchsorted(stop, "left")) - size - 1
        return int(self._stops[preceding]) if preceding >= 0 else 0

    def edges(self, start: int, stop: int) -> Positions | None:
        """Where units end in `(start, stop]`; None for characters, which end everywhere."""
        if self.unit is Unit.CHARACTERS:
            return None
        first = self._stops.searchsorted(start, "right")
        return self._stops[first : self._stops.searchsorted(stop, "right")]

    def count(self, texts: Sequence[str]) -> list[int]:
        """The sizes of texts on their own."""
        if self.unit is Unit.CHARACTERS:
            return [len(text) for text in texts]
        if self.unit is Unit.WORDS:
            return [count_words(text) for text in texts]
        return self._needed_tokenizer().count(texts)

    def _needed_tokenizer(self) -> Tokenizer:
        if self._tokenizer is None:
            raise ChunkingError("A strategy that counts tokens was given no tokenizer.")
        return self._tokenizer


_BEYOND = np.iinfo(np.int64).max


def _token_spans(text: str, words: Spans, tokenizer: Tokenizer) -> Spans:
    offsets = [tokenizer.offsets(text[start:stop]) + start for start, stop in _segments(words)]
    tokens = np.concatenate([np.empty((0, 2), dtype=np.int64), *offsets]).astype(np.int64)
    # Tokens inside one character repeat its offsets, and some tokenizers emit empty tokens.
    starts = np.maximum.accumulate(tokens[:, 0])
    stops = np.maximum.accumulate(tokens[:, 1])
    return _bounded(starts, stops)


def _segments(words: Spans) -> Iterator[tuple[int, int]]:
    """Pieces of whole words; a blank goes with the word after it, as in byte-pair tokens."""
    first, start = 0, 0
    while first < len(words.starts):
        start = max(start, int(words.starts[first]) - 1)
        following = max(first + 1, int(words.stops.searchsorted(start + _SEGMENT, "right")))
        stop = int(words.stops[following - 1])
        yield start, stop
        first, start = following, stop


def _bounded(starts: Positions, stops: Positions) -> Spans:
    """Count a token that covers more than `LONGEST_WORD` code points as several.

    WordPiece makes one unknown token of a megabyte without blanks; a limit in tokens must bound
    the text all the same.
    """
    shares = np.maximum(1, -(-(stops - starts) // LONGEST_WORD))
    if shares.max(initial=1) == 1:
        return Spans(starts, stops)
    within = np.arange(shares.sum()) - np.repeat(np.cumsum(shares) - shares, shares)
    starts = np.repeat(starts, shares) + within * LONGEST_WORD
    stops = np.minimum(np.repeat(stops, shares), starts + LONGEST_WORD)
    return Spans(starts, stops)

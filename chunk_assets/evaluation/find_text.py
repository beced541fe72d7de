"""Finding quoted text in a document, tolerant of how it was typed."""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

FoundBy = Literal["exact", "whitespace", "typography"]

_WORD = re.compile(r"\S+")
# One character for one, so that positions stay; the marks that editors and converters exchange.
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′´`", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
    }
)


def plain_typography(text: str) -> str:
    """The text with plain quotation marks, apostrophes and dashes; its length is unchanged."""
    return text.translate(_PLAIN)


class _Collapsed(NamedTuple):
    """A text with one blank between words, and where each word begins in both."""

    text: str
    start: npt.NDArray[np.int64]
    original_start: npt.NDArray[np.int64]

    def original(self, position: int) -> int:
        """Where a character of a word stands in the text itself."""
        word = np.searchsorted(self.start, position, side="right") - 1
        return int(self.original_start[word] + position - self.start[word])


class SearchableText:
    """One document's text; what a tolerant search needs of it is made once, when first needed."""

    def __init__(self, text: str) -> None:
        """Make a text searchable."""
        self.text = text

    def find(self, quote: str, found_by: FoundBy) -> Iterator[tuple[int, int]]:
        """Every occurrence of a quote as `[start, end)`, in order, none overlapping the previous.

        Args:
            quote: not blank.
            found_by: `exact`: character by character. `whitespace`: any run of whitespace equals
                any other, and the quote's blank edges do not count. `typography`: likewise, and
                quotation marks, apostrophes and dashes equal their plain forms.
        """
        if found_by == "exact":
            yield from _occurrences(self.text, quote)
            return
        wanted = " ".join(_WORD.findall(quote))
        if found_by == "whitespace":
            occurrences = _occurrences(self._collapsed.text, wanted)
        else:
            occurrences = _occurrences(self._plain, plain_typography(wanted))
        for start, end in occurrences:
            yield self._collapsed.original(start), self._collapsed.original(end - 1) + 1

    def known_words(self, quote: str) -> int:
        """How many of a quote's first words stand together in the text (tolerantly)."""
        words = _WORD.findall(quote)
        known, unknown = 0, len(words) + 1
        while unknown - known > 1:
            middle = (known + unknown) // 2
            found = next(self.find(" ".join(words[:middle]), "typography"), None)
            known, unknown = (known, middle) if found is None else (middle, unknown)
        return known

    @cached_property
    def _collapsed(self) -> _Collapsed:
        words = [(match.start(), match.group()) for match in _WORD.finditer(self.text)]
        taken = np.fromiter((len(word) + 1 for _, word in words), np.int64, len(words))
        original_start = np.fromiter((start for start, _ in words), np.int64, len(words))
        text = " ".join(word for _, word in words)
        return _Collapsed(text, np.cumsum(taken) - taken, original_start)

    @cached_property
    def _plain(self) -> str:
        return plain_typography(self._collapsed.text)


def _occurrences(text: str, wanted: str) -> Iterator[tuple[int, int]]:
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        yield start, end
        start = text.find(wanted, end)

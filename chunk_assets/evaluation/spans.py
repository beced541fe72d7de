"""Set arithmetic on spans of characters, for all documents and all queries at once.

Documents are laid end to end on one line of integers (`Axis`), and every query gets its own copy of
that line, so that "the union, per query, of spans in several documents" is one sort of one array.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


class Spans(NamedTuple):
    """Half-open spans `[start, end)` of the same length arrays, each of one query.

    `start` and `end` are positions on an `Axis`; `query` counts from 0.
    """

    query: Integers
    start: Integers
    end: Integers

    def take(self, which: npt.NDArray[np.bool_] | Integers) -> "Spans":
        """The spans at a mask or at indices."""
        return Spans(self.query[which], self.start[which], self.end[which])


class Axis:
    """Positions in many documents as positions on one line.

    Every document has a slot one longer than its last position, so that spans of different
    documents never touch.
    """

    def __init__(self, documents: Iterable[tuple[Sequence[str], Integers]]) -> None:
        """Lay out documents.

        Args:
            documents: names of documents with a position in each; a name may repeat, its greatest
                position counts.
        """
        length: dict[str, int] = {}
        for names, positions in documents:
            for name, position in zip(names, positions.tolist(), strict=True):
                length[name] = max(length.get(name, 0), position)
        self._code = {name: code for code, name in enumerate(length)}
        slots = np.fromiter(length.values(), np.int64, len(length)) + 1
        self._base = np.concatenate([[0], np.cumsum(slots)]).astype(np.int64)

    @property
    def size(self) -> int:
        """Length of the whole line: how far the copies of two queries are apart."""
        return int(self._base[-1])

    def codes(self, names: Sequence[str]) -> Integers:
        """The number of each document on this axis, from 0."""
        return np.fromiter((self._code[name] for name in names), np.int64, len(names))

    def spans(self, query: Integers, names: Sequence[str], start: Integers, end: Integers) -> Spans:
        """Spans in documents as spans on this axis."""
        base = self._base[self.codes(names)]
        return Spans(query, base + start, base + end)


class Union:
    """The union of spans, per query: what a set of overlapping spans covers."""

    def __init__(self, spans: Spans, axis_size: int) -> None:
        """Merge spans in O(n log n); empty ones are left out."""
        self._axis_size = axis_size
        spans = spans.take(spans.end > spans.start)
        start = spans.query * axis_size + spans.start
        end = spans.query * axis_size + spans.end
        order = np.argsort(start, kind="stable")
        start, end = start[order], np.maximum.accumulate(end[order])
        opens = np.ones(len(start), dtype=bool)
        opens[1:] = start[1:] > end[:-1]
        closes = np.ones(len(start), dtype=bool)
        closes[:-1] = opens[1:]
        self._start, self._end = start[opens], end[closes]
        self._before = np.concatenate([[0], np.cumsum(self._end - self._start)]).astype(np.int64)

    def spans(self) -> Spans:
        """The merged spans: disjoint, not touching, in order."""
        query = self._start // self._axis_size if self._axis_size else self._start
        base = query * self._axis_size
        return Spans(query, self._start - base, self._end - base)

    def lengths(self, queries: int) -> Integers:
        """Characters covered, per query: shape (queries,)."""
        spans = self.spans()
        return summed(spans.query, spans.end - spans.start, queries)

    def covered(self, spans: Spans) -> Integers:
        """How many characters of each span the union of its query covers: shape (spans,)."""
        base = spans.query * self._axis_size
        return self._up_to(base + spans.end) - self._up_to(base + spans.start)

    def _up_to(self, position: Integers) -> Integers:
        """Characters covered left of each position."""
        if not len(self._start):
            return np.zeros(len(position), dtype=np.int64)
        last = np.searchsorted(self._start, position, side="right") - 1
        inside = np.minimum(position, self._end[last]) - self._start[last]
        covered: Integers = np.where(last >= 0, self._before[last] + inside, 0)
        return covered


def overlapping(
    wanted: Spans, start: Integers, end: Integers, *, touching: bool = False
) -> tuple[Integers, Integers]:
    """Every pair of a wanted span and a candidate that shares at least one character with it.

    Near-linear: candidates are sorted once, and each span looks only at those around it (candidates
    nested in each other cost more).

    Args:
        wanted: spans; their `query` plays no part.
        start: first position of each candidate, on the same axis.
        end: one past the last position of each candidate.
        touching: also pair spans that only touch, sharing no character.

    Returns:
        Indices of the wanted spans (ascending) and of the candidates: parallel arrays.
    """
    order = np.argsort(start, kind="stable")
    starts, ends = start[order], end[order]
    lower: Literal["left", "right"] = "left" if touching else "right"
    upper: Literal["left", "right"] = "right" if touching else "left"
    first = np.searchsorted(np.maximum.accumulate(ends), wanted.start, side=lower)
    beyond = np.searchsorted(starts, wanted.end, side=upper)
    near = np.maximum(beyond - first, 0)
    span = np.repeat(np.arange(len(near)), near)
    position = np.arange(len(span)) - np.repeat(np.cumsum(near) - near, near) + first[span]
    # Sorted by start, a candidate may end before an earlier one does, and before the span.
    reaches = (
        ends[position] >= wanted.start[span] if touching else ends[position] > wanted.start[span]
    )
    return span[reaches], order[position[reaches]]


def summed(query: Integers, values: Integers, queries: int) -> Integers:
    """Sums of whole numbers per query: shape (queries,)."""
    total = np.zeros(queries, dtype=np.int64)
    np.add.at(total, query, values)
    return total

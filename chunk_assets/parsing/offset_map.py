"""From normalized text back to the text it was made from."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Edits:
    """One normalization step: what it replaced, in order; everything between is unchanged.

    Parallel arrays, one entry an edit. An edit replaced `raw_lengths[i]` (> 0) code points from
    `raw_starts[i]` by `lengths[i]` code points that begin at `starts[i]` in the result.
    """

    starts: "array[int]"
    lengths: "array[int]"
    raw_starts: "array[int]"
    raw_lengths: "array[int]"

    @classmethod
    def of(cls, replaced: Iterable[tuple[int, int, int]]) -> "Edits":
        """Build from `(raw_start, raw_length, length)` in order of `raw_start`."""
        edits = cls(array("q"), array("q"), array("q"), array("q"))
        shift = 0
        for raw_start, raw_length, length in replaced:
            edits.starts.append(raw_start + shift)
            edits.lengths.append(length)
            edits.raw_starts.append(raw_start)
            edits.raw_lengths.append(raw_length)
            shift += length - raw_length
        return edits

    def __len__(self) -> int:
        return len(self.starts)

    def _raw_character(self, position: int) -> Span:
        """The span that made one character: that character, or all of an edit's original."""
        index = bisect_right(self.starts, position) - 1
        if index < 0:
            return position, position + 1
        offset = position - self.starts[index]
        raw_start = self.raw_starts[index]
        raw_end = raw_start + self.raw_lengths[index]
        if offset < self.lengths[index]:
            return raw_start, raw_end
        start = raw_end + offset - self.lengths[index]
        return start, start + 1

    def to_raw(self, span: Span) -> Span:
        """See `OffsetMap.to_raw`."""
        start, end = span
        raw_start = self._raw_character(start)[0]
        return raw_start, self._raw_character(end - 1)[1] if end > start else raw_start


@dataclass(frozen=True, slots=True)
class OffsetMap:
    """The steps from decoded to normalized text, in the order they were taken."""

    steps: tuple[Edits, ...] = ()

    def to_raw(self, span: Span) -> Span:
        r"""The span of the decoded text that a span of the normalized text was made from.

        Args:
            span: `[start, end)` in code points of the normalized text.

        Returns:
            `[start, end)` in code points of the decoded text: from the first character's origin to
            the last one's. A character that an edit made (the `\n` of a `\r\n`, a composed
            letter) has all that the edit replaced as its origin; what an edit removed belongs to
            the span only if it lies between two of its characters. An empty span stays empty.
        """
        for edits in reversed(self.steps):
            span = edits.to_raw(span)
        return span

    def to_list(self) -> list[int]:
        """A compact form for a table's column: `[]` if nothing was changed.

        Per step: the number of edits, then per edit the unchanged code points before it, the
        replaced and the replacing length.
        """
        flat: list[int] = []
        for edits in self.steps:
            flat.append(len(edits))
            previous_end = 0
            for index in range(len(edits)):
                raw_start, raw_length = edits.raw_starts[index], edits.raw_lengths[index]
                flat += (raw_start - previous_end, raw_length, edits.lengths[index])
                previous_end = raw_start + raw_length
        return flat

    @classmethod
    def from_list(cls, flat: Sequence[int]) -> "OffsetMap":
        """The inverse of `to_list`."""
        steps: list[Edits] = []
        position = 0
        while position < len(flat):
            end = position + 1 + 3 * flat[position]
            gaps, raw_lengths, lengths = (flat[position + k : end : 3] for k in (1, 2, 3))
            raw_ends = accumulate(map(sum, zip(gaps, raw_lengths, strict=True)))
            steps.append(
                Edits.of(
                    (raw_end - raw_length, raw_length, length)
                    for raw_end, raw_length, length in zip(
                        raw_ends, raw_lengths, lengths, strict=True
                    )
                )
            )
            position = end
        return cls(tuple(steps))

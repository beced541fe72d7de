"""Whether chunks keep their promises: exact spans, full coverage, order, limits.

Plain data in, so that any chunks can be checked, whatever made or stored them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from chunk_assets.chunking.finish import OVERSIZE

Promise = Literal["span", "text", "coverage", "order", "progress", "overlap", "limit"]


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken promise."""

    promise: Promise
    chunk: int | None
    """Index of the chunk; None for text that is in no chunk."""
    start: int
    end: int
    detail: str


def violations(
    text: str,
    starts: Sequence[int],
    ends: Sequence[int],
    texts: Sequence[str],
    *,
    overlap_starts: Sequence[int | None] | None = None,
    sizes: Sequence[int] | None = None,
    maximum: int | None = None,
    flags: Sequence[Sequence[str]] | None = None,
) -> list[Violation]:
    """Every broken promise of one document's chunks of one level.

    Args:
        text: the document's text.
        starts: of the chunks, in their order.
        ends: of the chunks.
        texts: of the chunks.
        overlap_starts: where the text shared with the chunk before ends; None where none is.
        sizes: of what is embedded, in the strategy's unit; needs `maximum`.
        maximum: the strategy's limit.
        flags: of the chunks; those flagged `oversize` may exceed the limit.
    """
    found = [
        *_span_violations(text, starts, ends, texts),
        *_order_violations(starts, ends),
        *_overlap_violations(starts, ends, overlap_starts or [None] * len(starts)),
    ]
    if sizes is not None and maximum is not None:
        found += _limit_violations(starts, ends, sizes, maximum, flags or [()] * len(sizes))
    found += [
        Violation("coverage", None, start, end, f"in no chunk: {text[start:end][:80]!r}")
        for start, end in uncovered(text, starts, ends)
    ]
    return found


def uncovered(text: str, starts: Sequence[int], ends: Sequence[int]) -> list[tuple[int, int]]:
    """The spans of non-blank text that no chunk holds, trimmed, in order."""
    found = []
    covered = 0
    for start, end in [*sorted(zip(starts, ends, strict=True)), (len(text), len(text))]:
        gap = text[covered:start]
        if gap and not gap.isspace():
            first = covered + len(gap) - len(gap.lstrip())
            found.append((first, first + len(gap.strip())))
        covered = max(covered, end)
    return found


def _span_violations(
    text: str, starts: Sequence[int], ends: Sequence[int], texts: Sequence[str]
) -> Iterator[Violation]:
    for index, (start, end, own) in enumerate(zip(starts, ends, texts, strict=True)):
        if not 0 <= start < end <= len(text):
            detail = f"no span of a text of {len(text)} characters"
            yield Violation("span", index, start, end, detail)
        elif text[start:end] != own:
            detail = f"is {own[:80]!r}, but the document has {text[start:end][:80]!r}"
            yield Violation("text", index, start, end, detail)
        elif own.isspace():
            yield Violation("text", index, start, end, "holds nothing but blanks")


def _order_violations(starts: Sequence[int], ends: Sequence[int]) -> Iterator[Violation]:
    spans = list(zip(starts, ends, strict=True))
    for index, ((start, end), (next_start, next_end)) in enumerate(pairwise(spans), start=1):
        if next_start < start:
            detail = f"starts before the chunk before it, which starts at {start}"
            yield Violation("order", index, next_start, next_end, detail)
        elif next_start == start or next_end <= end:
            detail = f"does not move forward from [{start}, {end})"
            yield Violation("progress", index, next_start, next_end, detail)


def _overlap_violations(
    starts: Sequence[int], ends: Sequence[int], overlap_starts: Sequence[int | None]
) -> Iterator[Violation]:
    previous_end = 0
    for index, (start, end, own) in enumerate(zip(starts, ends, overlap_starts, strict=True)):
        own_start = start if own is None else own
        if own is not None and not start < own < end:
            detail = f"its own text starts at {own}, outside it"
            yield Violation("overlap", index, start, end, detail)
        elif own is not None and start >= previous_end:
            detail = (
                f"its overlap shares nothing with the chunk before, which ends at {previous_end}"
            )
            yield Violation("overlap", index, start, end, detail)
        elif own_start < previous_end:
            detail = f"its own text starts at {own_start}, inside the chunk before"
            yield Violation("overlap", index, start, end, detail)
        previous_end = end


def _limit_violations(
    starts: Sequence[int],
    ends: Sequence[int],
    sizes: Sequence[int],
    maximum: int,
    flags: Sequence[Sequence[str]],
) -> Iterator[Violation]:
    spans = zip(starts, ends, sizes, flags, strict=True)
    for index, (start, end, size, own_flags) in enumerate(spans):
        if size > maximum and OVERSIZE not in own_flags:
            yield Violation("limit", index, start, end, f"has {size}, the maximum is {maximum}")

"""Batches of equal length: no padding, so no vector depends on the texts beside it."""

from collections.abc import Sequence


def by_length(lengths: Sequence[int]) -> list[int]:
    """Positions ordered by length, equal lengths by position."""
    return sorted(range(len(lengths)), key=lambda position: (lengths[position], position))


def next_batch(
    order: Sequence[int], lengths: Sequence[int], start: int, batch_tokens: int
) -> Sequence[int]:
    """The positions from `order[start]` on that share its length and fit a token budget.

    At least one, even where that one alone exceeds the budget.
    """
    length = lengths[order[start]]
    stop = start + 1
    most = max(1, batch_tokens // max(1, length))
    while stop < len(order) and stop - start < most and lengths[order[stop]] == length:
        stop += 1
    return order[start:stop]

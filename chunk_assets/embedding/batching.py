"""Which inputs go through the model together."""

from collections.abc import Sequence


def by_length(lengths: Sequence[int]) -> list[int]:
    """Positions ordered by length, equal lengths by position."""
    return sorted(range(len(lengths)), key=lambda position: (lengths[position], position))


def next_batch(
    order: Sequence[int],
    lengths: Sequence[int],
    start: int,
    batch_tokens: int,
    most_padding: float = 0.0,
) -> Sequence[int]:
    """The positions from `order[start]` on that fit a token budget together.

    At least one, even where that one alone exceeds the budget.

    Args:
        order: positions from the shortest to the longest.
        lengths: tokens of each input.
        start: where in `order` the batch begins.
        batch_tokens: the most a batch may have, padding included.
        most_padding: the share of a batch that may be padding; with 0 all its lengths are equal.
    """
    stop = start + 1
    own = lengths[order[start]]
    while stop < len(order):
        longest = lengths[order[stop]]
        size = (stop - start + 1) * longest
        if size > batch_tokens or size - own - longest > most_padding * size:
            break
        own += longest
        stop += 1
    return order[start:stop]

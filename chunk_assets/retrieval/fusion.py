"""Merging ranked lists."""

from collections.abc import Sequence
from math import fsum
from typing import TypeVar

Item = TypeVar("Item", bound=str)


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[Item]], *, k: int = 60
) -> list[tuple[Item, float]]:
    """Merge rankings by the sum of 1 / (k + rank), best first; equal sums are ordered by item.

    The score is that of Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms
    Condorcet and individual Rank Learning Methods" (SIGIR 2009), with ranks from 1 and their
    k = 60. Only ranks count, so lists of different score scales can be merged; an item that a
    list lacks gets nothing from it.

    Args:
        rankings: each a list of distinct items, best first.
        k: how much the first ranks are levelled; higher levels more.

    Raises:
        ValueError: if a ranking holds an item twice.
    """
    shares: dict[Item, list[float]] = {}
    for ranking in rankings:
        if len(set(ranking)) != len(ranking):
            raise ValueError("a ranking holds an item twice; ranks would be ambiguous")
        for rank, item in enumerate(ranking, start=1):
            shares.setdefault(item, []).append(1.0 / (k + rank))
    # fsum rounds once, so that the order of the lists never decides between equal sums.
    fused = [(item, fsum(parts)) for item, parts in shares.items()]
    return sorted(fused, key=lambda pair: (-pair[1], pair[0]))

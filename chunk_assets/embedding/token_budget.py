"""How many tokens a batch should have on a device: found by trying."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chunk_assets.embedding.engine import Batch

Forward = Callable[[Batch], object]
PeakShare = Callable[[Callable[[], object]], float]
"""Calls what it is given and tells which share of the free memory that took at its peak."""

FIRST_TOKENS = 8192
LARGEST_TOKENS = 1 << 20
SMALLEST_TOKENS = 256
# About what a chunk has; attention, the one cost that grows with the length, is small up to here.
TYPICAL_LENGTH = 160
SECONDS = 2.0
# Two batches are under way at once, longer inputs take more than typical ones, and the allocator
# needs room to move.
MOST_MEMORY = 0.25
LEAST_GAIN = 1.05
_REPEATS = 3


@dataclass(frozen=True, slots=True)
class Trial:
    """What batches of one size were measured to do."""

    tokens_per_second: float
    memory_share: float
    """What one of them took at its peak of the memory that was free; 0 where that is not known."""
    seconds: float
    """What measuring took."""


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """The smallest batch that is about as fast as any."""

    tokens: int
    reason: str
    """Why no larger one was chosen."""
    trials: tuple[tuple[int, Trial], ...]
    """Every size that was measured, with what came out."""


def find_token_budget(
    measure: Callable[[int], Trial],
    *,
    first: int = FIRST_TOKENS,
    largest: int = LARGEST_TOKENS,
    most_memory: float = MOST_MEMORY,
    seconds: float = SECONDS,
) -> TokenBudget:
    """Double the batch while that pays: by 5 % in tokens per second, within memory and time.

    Where even the first size is too large it is halved until one fits.

    Args:
        measure: tries batches of so many tokens; raises MemoryError if memory is short.
        first: where to begin.
        largest: where to end.
        most_memory: the share of the free memory that a batch may take.
        seconds: what all trials together may take. As the next trial is expected to take twice as
            long as the last, it is left out where that would exceed what remains.
    """
    trials: list[tuple[int, Trial]] = []

    def fits(tokens: int) -> Trial | None:
        try:
            trial = measure(tokens)
        except MemoryError:
            return None
        trials.append((tokens, trial))
        return trial if trial.memory_share <= most_memory else None

    tokens = first
    best = fits(tokens)
    if best is None:
        while tokens > SMALLEST_TOKENS:
            tokens //= 2
            if fits(tokens) is not None:
                break
        return TokenBudget(tokens, f"memory is short for {tokens * 2:,} tokens", tuple(trials))
    reason = f"{largest:,} tokens are the most"
    while tokens * 2 <= largest:
        spent = sum(trial.seconds for _, trial in trials)
        if spent + 2 * trials[-1][1].seconds > seconds:
            reason = f"trying took {spent:.1f} s"
            break
        larger = fits(tokens * 2)
        if larger is None:
            reason = f"memory is short for {tokens * 2:,} tokens"
            break
        if larger.tokens_per_second < LEAST_GAIN * best.tokens_per_second:
            reason = f"{tokens * 2:,} tokens gain less than {LEAST_GAIN - 1:.0%}"
            break
        best, tokens = larger, tokens * 2
    return TokenBudget(tokens, reason, tuple(trials))


def measure_batches(
    forward: Forward, vocabulary: int, length: int, peak_share: PeakShare
) -> Callable[[int], Trial]:
    """A function that measures batches of random inputs of one length.

    Args:
        forward: computes a batch and returns when it is done.
        vocabulary: how many token ids there are.
        length: tokens of each input.
        peak_share: tells how much memory a call takes.
    """
    source = np.random.default_rng(0)

    def measure(tokens: int) -> Trial:
        began = time.perf_counter()
        rows = max(1, tokens // length)
        ids: npt.NDArray[np.int64] = source.integers(0, vocabulary, size=(rows, length))
        batch = Batch(ids, np.full(rows, length, dtype=np.int64), 0)
        share = peak_share(lambda: forward(batch))
        fastest = min(_seconds(forward, batch) for _ in range(_REPEATS))
        return Trial(ids.size / fastest, share, time.perf_counter() - began)

    return measure


def _seconds(forward: Forward, batch: Batch) -> float:
    began = time.perf_counter()
    forward(batch)
    return time.perf_counter() - began

"""How large a batch should be, found by trying."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunk_assets.embedding.engine import Batch
from chunk_assets.embedding.token_budget import (
    LARGEST_TOKENS,
    SMALLEST_TOKENS,
    Trial,
    find_token_budget,
    measure_batches,
)


def speeds(by_tokens: Mapping[int, float], seconds: float = 0.0) -> Callable[[int], Trial]:
    """A device of known speeds; sizes that are not listed do not fit into its memory."""

    def measure(tokens: int) -> Trial:
        if tokens not in by_tokens:
            raise MemoryError
        return Trial(by_tokens[tokens], 0.0, seconds)

    return measure


def test_batches_double_while_they_gain_five_per_cent() -> None:
    found = find_token_budget(speeds({8192: 100, 16384: 150, 32768: 160, 65536: 165, 131072: 900}))
    assert found.tokens == 32768
    assert found.reason == "65,536 tokens gain less than 5%"
    assert [tokens for tokens, _ in found.trials] == [8192, 16384, 32768, 65536]


def test_short_memory_ends_the_search_at_the_last_size_that_fits() -> None:
    found = find_token_budget(speeds({8192: 100, 16384: 200}))
    assert found.tokens == 16384
    assert found.reason == "memory is short for 32,768 tokens"


def test_a_size_that_takes_too_much_of_the_memory_is_not_chosen() -> None:
    def measure(tokens: int) -> Trial:
        return Trial(tokens, tokens / 100_000, 0)

    found = find_token_budget(measure, most_memory=0.25)
    assert found.tokens == 16384
    assert found.reason == "memory is short for 32,768 tokens"


def test_a_device_too_small_for_the_first_size_gets_what_fits() -> None:
    assert find_token_budget(speeds({1024: 5})).tokens == 1024
    assert find_token_budget(speeds({})).tokens == SMALLEST_TOKENS


def test_the_search_ends_at_the_largest_size() -> None:
    found = find_token_budget(lambda tokens: Trial(tokens, 0, 0))
    assert (found.tokens, found.reason) == (LARGEST_TOKENS, "1,048,576 tokens are the most")


@given(
    cost=st.floats(1e-6, 10),
    growth=st.floats(1, 2.5),
    seconds=st.floats(0.01, 5),
    fits=st.integers(1, LARGEST_TOKENS),
)
def test_the_trials_stay_within_their_time_and_the_result_within_memory(
    cost: float, growth: float, seconds: float, fits: int
) -> None:
    spent: list[float] = []

    def measure(tokens: int) -> Trial:
        if tokens > fits:
            raise MemoryError
        # No trial takes more than twice as long as one of half the size.
        spent.append(cost * min(growth, 2) ** len(spent))
        return Trial(tokens, 0, spent[-1])

    found = find_token_budget(measure, seconds=seconds)

    assert found.tokens <= max(fits, SMALLEST_TOKENS)
    assert len(spent) <= 1 or sum(spent) <= seconds * (1 + 1e-9)


def test_trials_run_batches_of_the_size_asked_for_with_inputs_of_one_length() -> None:
    batches: list[Batch] = []
    calls: list[int] = []

    def peak_share(call: Callable[[], object]) -> float:
        call()
        calls.append(len(batches))
        return 0.125

    measure = measure_batches(batches.append, vocabulary=50, length=16, peak_share=peak_share)
    trial = measure(100)

    assert calls == [1]  # memory is looked at once, and time taken of the batches after it
    assert len(batches) > 1
    assert {batch.token_ids.shape for batch in batches} == {(6, 16)}
    assert not batches[0].is_padded
    assert batches[0].token_ids.max() < 50
    assert trial.memory_share == 0.125
    assert trial.tokens_per_second > 0
    assert trial.seconds > 0
    assert measure(1).tokens_per_second > 0
    assert batches[-1].token_ids.shape == (1, 16)


def test_short_memory_in_a_trial_is_told_to_the_search() -> None:
    def forward(batch: Batch) -> None:
        if batch.token_ids.size > 20_000:
            raise MemoryError
        np.sort(batch.token_ids)

    def run(call: Callable[[], object]) -> float:
        call()
        return 0.0

    measure = measure_batches(forward, vocabulary=50, length=16, peak_share=run)
    with pytest.raises(MemoryError):
        measure(32768)
    assert find_token_budget(measure).tokens in (8192, 16384)

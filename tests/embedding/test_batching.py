"""Batches hold inputs of one length within a budget."""

from hypothesis import given
from hypothesis import strategies as st

from chunk_assets.embedding.batching import by_length, next_batch


@given(lengths=st.lists(st.integers(1, 9), max_size=40), budget=st.integers(1, 30))
def test_batches_cover_each_input_once_without_padding_within_the_budget(
    lengths: list[int], budget: int
) -> None:
    order = by_length(lengths)
    done: list[int] = []
    while len(done) < len(order):
        batch = next_batch(order, lengths, len(done), budget)
        length = lengths[batch[0]]
        assert {lengths[position] for position in batch} == {length}
        assert len(batch) == 1 or len(batch) * length <= budget
        done += batch
    assert sorted(done) == list(range(len(lengths)))


def test_a_batch_is_as_large_as_the_budget_allows() -> None:
    lengths = [5] * 10
    assert len(next_batch(by_length(lengths), lengths, 0, 34)) == 6


def test_an_input_over_the_budget_goes_alone() -> None:
    lengths = [50, 50]
    assert len(next_batch(by_length(lengths), lengths, 0, 34)) == 1

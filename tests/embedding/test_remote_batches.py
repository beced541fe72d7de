"""Which texts go into one request."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from chunk_assets.embedding.remote_batches import BatchSizes, Prepared, TextBatch
from chunk_assets.embedding.remote_failure import Meaning


def prepared(*tokens: int) -> list[Prepared]:
    return [Prepared(f"text {i}", count) for i, count in enumerate(tokens)]


def planned(sizes: BatchSizes, tokens: list[int]) -> list[TextBatch]:
    return sizes.plan(prepared(*tokens), range(len(tokens)))


@given(
    tokens=st.lists(st.integers(1, 50), max_size=60),
    items=st.integers(1, 20),
    budget=st.integers(1, 200),
)
def test_batches_tile_the_texts_within_both_limits(
    tokens: list[int], items: int, budget: int
) -> None:
    batches = planned(BatchSizes(items, budget), tokens)
    assert [position for batch in batches for position in batch.positions] == list(
        range(len(tokens))
    )
    for batch in batches:
        assert 1 <= len(batch) <= items
        assert len(batch) == 1 or batch.tokens <= budget
    for one, next_one in pairwise(batches):
        full = len(one) == items or one.tokens + next_one.inputs[0].tokens > budget
        assert full, "no batch ends early"


def test_only_what_is_asked_for_is_sent() -> None:
    [batch] = BatchSizes(9, 100).plan(prepared(1, 2, 3, 4), [1, 3])
    assert batch.positions == (1, 3)
    assert [each.text for each in batch.inputs] == ["text 1", "text 3"]
    assert batch.tokens == 6


def test_halves_are_the_batch_in_two() -> None:
    [batch] = planned(BatchSizes(9, 100), [1, 2, 3])
    one, other = batch.halves()
    assert (one.positions, other.positions) == ((0,), (1, 2))


def test_after_too_many_texts_half_as_many_go() -> None:
    sizes = BatchSizes(64, 1000)
    [batch] = planned(sizes, [1] * 40)
    sizes.learn(batch, Meaning.TOO_MANY_TEXTS)

    assert sizes.is_too_large(batch)
    assert [len(each) for each in planned(sizes, [1] * 45)] == [20, 20, 5]


def test_after_too_many_tokens_half_as_many_go() -> None:
    sizes = BatchSizes(64, 1000)
    [batch] = planned(sizes, [100] * 8)
    sizes.learn(batch, Meaning.TOO_MANY_TOKENS)

    assert sizes.is_too_large(batch)
    assert [batch.tokens for batch in planned(sizes, [100] * 8)] == [400, 400]


def test_one_text_that_is_too_long_makes_no_batch_smaller() -> None:
    sizes = BatchSizes(64, 1000)
    [batch] = planned(sizes, [10] * 50)
    sizes.learn(batch, Meaning.TEXT_TOO_LONG)

    assert not sizes.is_too_large(batch)
    assert len(planned(sizes, [10] * 50)) == 1


def test_a_single_text_is_never_too_large() -> None:
    sizes = BatchSizes(1, 10)
    [batch] = planned(sizes, [500])
    sizes.learn(batch, Meaning.TOO_MANY_TOKENS)
    assert not sizes.is_too_large(batch)

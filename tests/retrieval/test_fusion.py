import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunk_assets.retrieval.fusion import reciprocal_rank_fusion

RANKINGS = st.lists(
    st.lists(st.text("abcdefgh", min_size=1, max_size=2), unique=True, max_size=12), max_size=4
)


def test_scores_are_the_sums_of_reciprocal_ranks() -> None:
    fused = dict(reciprocal_rank_fusion([["a", "b"], ["b", "c"]], k=60))
    assert fused == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 62})


def test_an_item_of_two_lists_precedes_the_first_of_one() -> None:
    best, _ = reciprocal_rank_fusion([["a", "b"], ["c", "b"]])[0]
    assert best == "b"


def test_a_small_k_lets_the_first_rank_win() -> None:
    rankings = [["a", "b", "c", "d"], ["x", "y", "z", "b"]]
    assert reciprocal_rank_fusion(rankings, k=60)[0][0] == "b"
    assert reciprocal_rank_fusion(rankings, k=1)[0][0] == "b"
    assert reciprocal_rank_fusion([["a", "p", "q", "b"], ["x", "y", "z", "b"]], k=1)[0][0] == "a"


def test_equal_scores_are_ordered_by_item() -> None:
    assert [item for item, _ in reciprocal_rank_fusion([["b", "a"], ["a", "b"]])] == ["a", "b"]


def test_no_rankings_and_empty_rankings_give_nothing() -> None:
    assert reciprocal_rank_fusion([]) == reciprocal_rank_fusion([[], []]) == []


def test_a_ranking_that_holds_an_item_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        reciprocal_rank_fusion([["a", "b", "a"]])


@given(RANKINGS)
def test_one_ranking_keeps_its_order(rankings: list[list[str]]) -> None:
    for ranking in rankings:
        assert [item for item, _ in reciprocal_rank_fusion([ranking])] == ranking


@given(RANKINGS)
def test_the_order_of_the_rankings_changes_nothing(rankings: list[list[str]]) -> None:
    assert reciprocal_rank_fusion(rankings) == reciprocal_rank_fusion(rankings[::-1])


@given(RANKINGS)
def test_every_item_comes_once_best_first(rankings: list[list[str]]) -> None:
    fused = reciprocal_rank_fusion(rankings)
    assert sorted(item for item, _ in fused) == sorted({i for r in rankings for i in r})
    assert fused == sorted(fused, key=lambda pair: (-pair[1], pair[0]))

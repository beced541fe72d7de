import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chunk_assets.evaluation.intervals import mean_intervals


def test_the_mean_is_that_of_the_queries_not_that_of_the_clusters() -> None:
    found = mean_intervals(np.array([[1.0], [1.0], [1.0], [0.0]]), ["a", "a", "a", "b"])

    assert found.mean.tolist() == [0.75]
    assert (found.n_queries, found.n_clusters) == (4, 2)


def test_equal_seeds_give_equal_intervals_and_another_seed_others() -> None:
    values = np.random.default_rng(1).random((40, 1))

    def low(seed: int) -> float:
        return float(mean_intervals(values, None, resamples=500, seed=seed).low[0])

    assert low(3) == low(3)
    assert low(3) != low(4)


def test_every_column_has_the_interval_that_it_has_alone() -> None:
    values = np.random.default_rng(1).random((30, 3))
    clusters = [str(number % 9) for number in range(30)]

    together = mean_intervals(values, clusters, resamples=500)

    for column in range(3):
        alone = mean_intervals(values[:, [column]], clusters, resamples=500)
        assert together.low[column] == pytest.approx(alone.low[0])
        assert together.high[column] == pytest.approx(alone.high[0])


def test_questions_that_share_a_documents_luck_make_the_interval_wider() -> None:
    values = np.repeat(np.random.default_rng(1).random(20) < 0.5, 10).astype(float)[:, None]
    clusters = [str(number // 10) for number in range(200)]

    clustered = mean_intervals(values, clusters, resamples=1000)
    naive = mean_intervals(values, None, resamples=1000)

    width = (clustered.high - clustered.low) / (naive.high - naive.low)
    # Ten equal values a document carry the information of one: sqrt(10) times as wide.
    assert width[0] == pytest.approx(np.sqrt(10), rel=0.15)


def test_equal_values_have_an_interval_that_is_a_point() -> None:
    found = mean_intervals(np.full((6, 1), 0.1), ["a", "a", "a", "b", "b", "c"])

    assert found.low[0] == found.mean[0] == found.high[0]


def test_a_single_cluster_leaves_the_interval_unknown() -> None:
    found = mean_intervals(np.array([[0.0], [1.0]]), ["a", "a"])

    assert found.mean.tolist() == [0.5]
    assert bool(np.isnan([found.low[0], found.high[0]]).all())


def test_no_query_leaves_mean_and_interval_unknown() -> None:
    found = mean_intervals(np.zeros((0, 2)), [])

    assert bool(np.isnan([found.mean, found.low, found.high]).all())
    assert (found.n_queries, found.n_clusters) == (0, 0)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 1 / 3, 0.5, 1.0]), st.sampled_from("abcd")),
        min_size=1,
        max_size=25,
    ),
    st.integers(0, 5),
)
@settings(max_examples=50, deadline=None)
def test_any_scores_give_a_finite_interval_around_the_mean_without_a_warning(
    rows: list[tuple[float, str]], seed: int
) -> None:
    found = mean_intervals(
        np.array([[value] for value, _ in rows]),
        [cluster for _, cluster in rows],
        resamples=200,
        seed=seed,
    )

    if found.n_clusters > 1:
        assert found.low[0] <= found.mean[0] + 1e-12
        assert found.mean[0] <= found.high[0] + 1e-12
        assert found.low[0] >= 0
        assert found.high[0] <= 1 + 1e-12


def test_intervals_cover_the_true_mean_about_as_often_as_they_claim() -> None:
    rng = np.random.default_rng(7)
    documents, questions, draws = 60, 4, 200
    clusters = [str(number // questions) for number in range(documents * questions)]
    covered = 0
    for seed in range(draws):
        luck = rng.beta(2.4, 0.6, documents)
        hits = (rng.random((documents, questions)) < luck[:, None]).astype(float).reshape(-1, 1)
        found = mean_intervals(hits, clusters, resamples=300, seed=seed)
        covered += int(found.low[0] <= 0.8 <= found.high[0])

    # 95 % of 200 is 190; three standard errors of that count are 9.
    assert covered >= 180

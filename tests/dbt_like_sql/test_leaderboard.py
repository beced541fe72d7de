import pytest
from small_lake import SmallLake


def _index(lake: SmallLake, strategy: str, tokens: list[int], text: str = "abcdefghij") -> str:
    """An index of chunks of one document of its own."""
    document = f"{strategy}-document"
    lake.document(document, text)
    lake.strategy(strategy)
    for ordinal in range(len(tokens)):
        lake.chunk(strategy, document, ordinal, ordinal + 1)
    return lake.index(strategy, "minilm", tokens)


def test_a_row_joins_scores_sizes_and_cost_of_an_index(lake: SmallLake) -> None:
    index = _index(lake, "fixed", [10, 20, 30, 40])
    lake.score(index, "evidence_recall", 5, 0.8, half_width=0.05)
    lake.score(index, "ndcg", 10, 0.6)
    lake.score(index, "recip_rank", None, 0.5, kind=None)
    lake.score(index, "span_iou", 1000, 0.3, kind="tokens")
    lake.run("embeddings", f"b00|{index}", 1, run_id="first", seconds=2.5)
    lake.run("embeddings", f"b00|{index}", 2, run_id="second", seconds=0.25)
    lake.run("chunks", "b00|fixed", 0, seconds=100.0)
    [row] = lake.write().mart("leaderboard")
    assert (row["gold_set"], row["rank"], row["index"]) == ("gold", 1, "fixed__minilm")
    assert (row["strategy"], row["embedder"]) == ("fixed", "minilm")
    assert (row["queries"], row["clusters"], row["confidence"]) == (20, 5, 0.95)
    assert (row["evidence_recall_k"], row["evidence_recall_mean"]) == (5, 0.8)
    assert (row["evidence_recall_low"], row["evidence_recall_high"]) == (
        pytest.approx(0.75),
        pytest.approx(0.85),
    )
    assert (row["ndcg_k"], row["ndcg_mean"], row["mrr_mean"]) == (10, 0.6, 0.5)
    assert (row["budget_span_iou_tokens"], row["budget_span_iou_mean"]) == (1000, 0.3)
    assert (row["chunks"], row["points"], row["distinct_vectors"]) == (4, 4, 4)
    assert (row["tokens_total"], row["tokens_mean"], row["tokens_p50"]) == (100, 25.0, 25.0)
    assert row["tokens_p95"] == pytest.approx(38.5)
    assert row["embedding_seconds"] == 2.75


def test_a_metric_that_was_not_measured_is_null(lake: SmallLake) -> None:
    index = _index(lake, "fixed", [10])
    lake.score(index, "recall", 5, 0.8)
    [row] = lake.write().mart("leaderboard")
    assert row["recall_mean"] == 0.8
    assert row["span_iou_k"] is None
    assert row["span_iou_mean"] is None


def test_equal_texts_share_a_vector(lake: SmallLake) -> None:
    index = _index(lake, "fixed", [1, 1, 1], text="aab")
    lake.score(index, "evidence_recall", 5, 0.8)
    [row] = lake.write().mart("leaderboard")
    assert (row["chunks"], row["distinct_vectors"]) == (3, 2)


def test_truncated_chunks_are_counted(lake: SmallLake) -> None:
    index = _index(lake, "fixed", [1, 1])
    lake.score(index, "evidence_recall", 5, 0.8)
    lake.rows["embeddings"][0]["flags"] = ["truncated"]
    lake.rows["embeddings"][1]["flags"] = ["pooled"]
    [row] = lake.write().mart("leaderboard")
    assert row["truncated_chunks"] == 1


@pytest.mark.parametrize(
    ("configured", "chosen"),
    [((1, 3, 5, 10), 5), ((1, 3), 3), ((10, 20), 10), ((4, 6), 6), ((2,), 2)],
)
def test_a_headline_takes_the_nearest_cutoff_there_is(
    lake: SmallLake, configured: tuple[int, ...], chosen: int
) -> None:
    index = _index(lake, "fixed", [10])
    for cutoff in configured:
        lake.score(index, "evidence_recall", cutoff, cutoff / 100)
    [row] = lake.write().mart("leaderboard")
    assert row["evidence_recall_k"] == chosen
    assert row["evidence_recall_mean"] == chosen / 100


def test_all_indexes_of_a_gold_set_are_compared_at_one_cutoff(lake: SmallLake) -> None:
    old, new = _index(lake, "old", [10]), _index(lake, "new", [10])
    lake.score(old, "evidence_recall", 3, 0.9)
    lake.score(new, "evidence_recall", 3, 0.5)
    lake.score(new, "evidence_recall", 5, 0.6)
    rows = {row["index"]: row for row in lake.write().mart("leaderboard")}
    assert rows[new]["evidence_recall_mean"] == 0.6
    assert rows[old]["evidence_recall_mean"] is None
    assert rows[old]["rank"] == 2


def test_the_highest_recall_ranks_first(lake: SmallLake) -> None:
    worse, better = _index(lake, "worse", [1]), _index(lake, "better", [90])
    lake.score(worse, "evidence_recall", 5, 0.6)
    lake.score(better, "evidence_recall", 5, 0.7)
    rows = lake.write().mart("leaderboard")
    assert [(row["rank"], row["index"]) for row in rows] == [(1, better), (2, worse)]


def test_of_equal_recalls_the_one_with_fewer_tokens_ranks_first(lake: SmallLake) -> None:
    dear, cheap = _index(lake, "a_dear", [50, 50]), _index(lake, "b_cheap", [30, 20])
    lake.score(dear, "evidence_recall", 5, 0.7)
    lake.score(cheap, "evidence_recall", 5, 0.7)
    rows = lake.write().mart("leaderboard")
    assert [row["index"] for row in rows] == [cheap, dear]


def test_an_index_is_tied_with_the_best_while_their_intervals_overlap(lake: SmallLake) -> None:
    for strategy, recall in (("best", 0.8), ("near", 0.65), ("far", 0.55)):
        lake.score(_index(lake, strategy, [1]), "evidence_recall", 5, recall, half_width=0.1)
    rows = lake.write().mart("leaderboard")
    assert [(row["strategy"], row["tied_with_best"]) for row in rows] == [
        ("best", True),
        ("near", True),
        ("far", False),
    ]


def test_each_gold_set_has_its_own_ranking(lake: SmallLake) -> None:
    one, two = _index(lake, "one", [1]), _index(lake, "two", [1])
    for gold_set, first, second in (("easy", 0.9, 0.8), ("hard", 0.2, 0.3)):
        lake.score(one, "evidence_recall", 5, first, gold_set=gold_set)
        lake.score(two, "evidence_recall", 5, second, gold_set=gold_set)
    rows = lake.write().mart("leaderboard")
    assert [(row["gold_set"], row["rank"], row["strategy"]) for row in rows] == [
        ("easy", 1, "one"),
        ("easy", 2, "two"),
        ("hard", 1, "two"),
        ("hard", 2, "one"),
    ]


def test_gold_of_whole_documents_is_ranked_by_recall_of_documents(lake: SmallLake) -> None:
    one, two = _index(lake, "one", [1]), _index(lake, "two", [1])
    for index, recall in ((one, 0.3), (two, 0.4)):
        lake.score(index, "evidence_recall", 5, None)
        lake.score(index, "document_recall", 5, recall, kind="documents")
    rows = lake.write().mart("leaderboard")
    assert [(row["index"], row["ranked_by"]) for row in rows] == [
        (two, "document_recall"),
        (one, "document_recall"),
    ]


def test_evidence_is_ranked_by_recall_of_evidence_even_where_documents_differ(
    lake: SmallLake,
) -> None:
    one, two = _index(lake, "one", [1]), _index(lake, "two", [1])
    for index, evidence, document in ((one, 0.5, 0.1), (two, 0.4, 0.9)):
        lake.score(index, "evidence_recall", 5, evidence)
        lake.score(index, "document_recall", 5, document, kind="documents")
    rows = lake.write().mart("leaderboard")
    assert [(row["index"], row["ranked_by"]) for row in rows] == [
        (one, "evidence_recall"),
        (two, "evidence_recall"),
    ]


def test_recall_at_equal_tokens_ranks_before_recall_at_equal_numbers_of_chunks(
    lake: SmallLake,
) -> None:
    one, two = _index(lake, "one", [1]), _index(lake, "two", [1])
    for index, evidence, budget in ((one, 0.9, 0.4), (two, 0.5, 0.6)):
        lake.score(index, "evidence_recall", 5, evidence)
        lake.score(index, "span_recall", 1000, budget, kind="tokens")
    rows = lake.write().mart("leaderboard")
    assert [(row["index"], row["ranked_by"]) for row in rows] == [
        (two, "budget_span_recall"),
        (one, "budget_span_recall"),
    ]

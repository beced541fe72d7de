from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest

from chunk_assets.errors import EvaluationError
from chunk_assets.evaluation.anchor import AnchoredQuery, Anchoring, Place, Unanchored
from chunk_assets.evaluation.config import GoldSetConfig
from chunk_assets.evaluation.evaluate import EvaluationResult, Unreachable, evaluate
from chunk_assets.evaluation.tables import PER_QUERY_SCHEMA, SUMMARY_SCHEMA

CONFIG = GoldSetConfig(path=Path("gold.jsonl"), ks=(1, 2), token_budgets=(15,), resamples=200)

# Two documents in chunks of ten characters and ten tokens; chunk ids are document and number.
CHUNKS = pa.table(
    {
        "chunk_id": [f"{uri}{number}" for uri in "ab" for number in range(4)],
        "uri": [uri for uri in "ab" for _ in range(4)],
        "start": [number * 10 for _ in "ab" for number in range(4)],
        "end": [number * 10 + 10 for _ in "ab" for number in range(4)],
    }
)


def run(rankings: dict[str, list[str]]) -> pa.Table:
    """Rankings of chunk ids by query."""
    rows = [
        {
            "query_id": query,
            "rank": rank,
            "chunk_id": chunk,
            "uri": chunk[0],
            "start": int(chunk[1:]) * 10,
            "end": int(chunk[1:]) * 10 + 10,
            "tokens": 10,
        }
        for query, chunks in rankings.items()
        for rank, chunk in enumerate(chunks, start=1)
    ]
    types = {"query_id": pa.string(), "chunk_id": pa.string(), "uri": pa.string()}
    columns = ("query_id", "rank", "chunk_id", "uri", "start", "end", "tokens")
    schema = pa.schema([(column, types.get(column, pa.int64())) for column in columns])
    return pa.Table.from_pylist(rows, schema=schema)


def query(
    query_id: str, *pieces: Iterable[Place], documents: dict[str, int] | None = None
) -> AnchoredQuery:
    evidence = tuple(tuple(piece) for piece in pieces)
    return AnchoredQuery(query_id, f"{query_id}?", None, evidence, documents or {})


def gold(*queries: AnchoredQuery) -> Anchoring:
    return Anchoring(queries, (), ())


def scores(result: EvaluationResult, metric: str, cutoff: int | None = None) -> dict[str, float]:
    return {
        row["query_id"]: row["value"]
        for row in result.per_query.to_pylist()
        if row["metric"] == metric and row["cutoff"] == cutoff
    }


Q1 = query("q1", [Place("a", 12, 18)], [Place("b", 25, 35)])
Q2 = query("q2", [Place("b", 0, 10)])


def test_each_kind_of_metric_is_scored_for_every_query() -> None:
    result = evaluate(run({"q1": ["a1", "b0"], "q2": ["a0", "b0"]}), gold(Q1, Q2), CHUNKS, CONFIG)

    assert scores(result, "evidence_recall", 1) == {"q1": 0.5, "q2": 0}
    # Of q1 three chunks are relevant: its second piece is cut in the middle.
    assert scores(result, "recall", 2) == {"q1": pytest.approx(1 / 3), "q2": 1}
    assert scores(result, "precision", 2) == {"q1": 0.5, "q2": 0.5}
    assert scores(result, "recip_rank") == {"q1": 1, "q2": 0.5}
    assert scores(result, "span_recall", 1) == {"q1": 6 / 16, "q2": 0}
    assert scores(result, "span_precision", 2) == {"q1": 6 / 20, "q2": 10 / 20}
    # 15 tokens hold one chunk and half of the next.
    assert scores(result, "span_recall", 15) == {"q1": 6 / 16, "q2": 0.5}
    assert scores(result, "span_iou", 15) == {"q1": 6 / 25, "q2": 5 / 20}
    assert scores(result, "precision_omega") == {"q1": 16 / 30, "q2": 1}
    assert scores(result, "retrieved_tokens", 2) == {"q1": 20, "q2": 20}
    assert scores(result, "document_recall", 2) == {"q1": 1, "q2": 1}
    assert scores(result, "document_recip_rank") == {"q1": 1, "q2": 0.5}


def test_tables_have_their_schemas_and_the_queries_clusters() -> None:
    result = evaluate(run({"q1": ["a1"]}), gold(Q1, Q2), CHUNKS, CONFIG)

    assert result.per_query.schema == PER_QUERY_SCHEMA
    assert result.summary.schema == SUMMARY_SCHEMA
    clusters = {row["query_id"]: row["cluster"] for row in result.per_query.to_pylist()}
    assert clusters == {"q1": "a", "q2": "b"}


def test_the_summary_is_the_mean_of_the_rows_with_its_interval() -> None:
    result = evaluate(run({"q1": ["a1"], "q2": ["b0"]}), gold(Q1, Q2), CHUNKS, CONFIG)

    (row,) = [
        row
        for row in result.summary.to_pylist()
        if (row["metric"], row["cutoff"]) == ("evidence_recall", 1)
    ]
    assert row["mean"] == 0.75
    assert row["low"] <= 0.75 <= row["high"]
    assert (row["n_queries"], row["n_clusters"]) == (2, 2)


def test_an_interval_from_a_single_cluster_is_null() -> None:
    result = evaluate(run({"q2": ["b0"]}), gold(Q2), CHUNKS, CONFIG)

    assert result.summary["low"].null_count == result.summary.num_rows
    assert result.summary["mean"].null_count == 0


def test_the_order_of_the_rows_and_the_scores_play_no_part() -> None:
    rows = run({"q1": ["a1", "b0", "b2"], "q2": ["a0", "b0"]})
    shuffled = rows.take([4, 1, 3, 0, 2]).append_column("score", pa.array([0.0] * 5))

    one = evaluate(rows, gold(Q1, Q2), CHUNKS, CONFIG)
    other = evaluate(shuffled, gold(Q1, Q2), CHUNKS, CONFIG)

    assert one.per_query.equals(other.per_query)
    assert one.summary.equals(other.summary)


def test_a_query_for_which_nothing_was_retrieved_scores_zero() -> None:
    result = evaluate(run({}), gold(Q2), CHUNKS, CONFIG)

    by_metric = {row["metric"]: row["value"] for row in result.per_query.to_pylist()}
    assert by_metric.pop("precision_omega") == 1
    assert set(by_metric.values()) == {0}


def test_rows_of_a_query_that_did_not_anchor_are_left_out() -> None:
    anchoring = Anchoring((Q2,), (Unanchored("q1", "a", "lost", "it is not there"),), ())
    result = evaluate(run({"q1": ["a1"], "q2": ["b0"]}), anchoring, CHUNKS, CONFIG)

    assert set(result.per_query["query_id"].to_pylist()) == {"q2"}


def test_evidence_that_no_chunk_has_is_listed_and_counts_as_missed() -> None:
    lost = query("q1", [Place("a", 12, 18)], [Place("c", 0, 10)])
    result = evaluate(run({"q1": ["a1", "b0"]}), gold(lost), CHUNKS, CONFIG)

    assert result.unreachable == (Unreachable("q1", 1),)
    assert scores(result, "evidence_recall", 2) == {"q1": 0.5}


def test_gold_of_whole_documents_has_document_metrics_only() -> None:
    whole = query("q1", documents={"b": 2})
    result = evaluate(run({"q1": ["a0", "a1", "b3"]}), gold(whole), CHUNKS, CONFIG)

    assert {row["metric"].split("_")[0] for row in result.per_query.to_pylist()} == {"document"}
    assert scores(result, "document_recall", 1) == {"q1": 0}
    assert scores(result, "document_recall", 2) == {"q1": 1}


def test_gold_of_spans_and_of_documents_are_each_averaged_over_their_own_queries() -> None:
    whole = query("q3", documents={"a": 1})
    result = evaluate(run({"q2": ["b0"], "q3": ["a0"]}), gold(Q2, whole), CHUNKS, CONFIG)

    n_queries = {row["metric"]: row["n_queries"] for row in result.summary.to_pylist()}
    assert n_queries["span_recall"] == 1
    assert n_queries["document_recall"] == 2


def test_a_search_inside_the_document_has_no_document_metrics() -> None:
    config = CONFIG.model_copy(update={"scope": "document"})
    result = evaluate(run({"q2": ["b0"]}), gold(Q2), CHUNKS, config)

    assert not [row for row in result.per_query["metric"].to_pylist() if "document" in row]


def test_no_scored_query_gives_empty_scores_and_null_means() -> None:
    result = evaluate(run({}), gold(), CHUNKS, CONFIG)

    assert result.per_query.num_rows == 0
    assert result.summary["mean"].null_count == result.summary.num_rows > 0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (run({"q9": ["a1"]}), "queries that the gold set has not .*'q9'"),
        (run({"q1": ["a9"]}), "chunks that the index has not .*'a9'"),
        (run({"q1": ["a1", "a1"]}), "chunk_id 'a1' more than once for query 'q1'"),
        (
            pa.concat_tables([run({"q1": ["a1"]}), run({"q1": ["a2"]})]),
            "rank 1 more than once for query 'q1'",
        ),
        (
            run({"q1": ["a1"]}).set_column(6, "tokens", pa.array([None], pa.int64())),
            "`tokens` is missing",
        ),
    ],
)
def test_a_run_that_does_not_belong_to_gold_set_or_index_is_refused(
    rows: pa.Table, message: str
) -> None:
    with pytest.raises(EvaluationError, match=message):
        evaluate(rows, gold(Q1, Q2), CHUNKS, CONFIG)

"""Each SQL test passes on a corpus without a fault, and catches the fault it is there for."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from small_lake import CORPUS, SmallLake

from chunk_assets.lineage.sql_models import load_models, shipped_models_folder
from resources.warehouse import SOURCES

Fault = Callable[[SmallLake], None]


def _set(table: str, column: str, value: object, **where: str) -> Fault:
    """Give one column of the rows that match another value."""

    def plant(lake: SmallLake) -> None:
        rows = lake.tables.read(f"{CORPUS}/{table}").to_pylist()
        matching = [row for row in rows if where.items() <= row.items()]
        assert matching
        for row in matching:
            row[column] = value
        _rewrite(lake, table, rows)

    return plant


def _repeat(table: str) -> Fault:
    """Store every row twice."""

    def plant(lake: SmallLake) -> None:
        rows = lake.tables.read(f"{CORPUS}/{table}").to_pylist()
        _rewrite(lake, table, [*rows, *rows])

    return plant


def _remove(table: str, **where: str) -> Fault:
    """Remove the rows that match."""

    def plant(lake: SmallLake) -> None:
        rows = lake.tables.read(f"{CORPUS}/{table}").to_pylist()
        kept = [row for row in rows if not where.items() <= row.items()]
        assert len(kept) < len(rows)
        _rewrite(lake, table, kept)

    return plant


def _rewrite(lake: SmallLake, table: str, rows: list[dict[str, object]]) -> None:
    name = f"{CORPUS}/{table}"
    lake.tables.overwrite(name, pa.Table.from_pylist(rows, schema=lake.tables.read(name).schema))


def _computed(mart: str, fault: Fault) -> Fault:
    """Plant a fault in a source table, then compute a mart again."""

    def plant(lake: SmallLake) -> None:
        fault(lake)
        lake.materialize(mart)

    return plant


def _forget_vectors(lake: SmallLake) -> None:
    vectors = lake.tables.read("vectors")
    lake.tables.overwrite("vectors", vectors.filter(pc.field("tokens") != 3))


FAULTS: dict[str, list[Fault]] = {
    "chunk_flags__flags_stand_once": [
        _computed(
            "chunk_flags",
            _set("chunks", "flags", ["oversize", "oversize"], strategy="sections"),
        )
    ],
    "coverage__characters_add_up": [
        _set("coverage", "covered_characters", 1, strategy="windows"),
        _set("coverage", "uncovered_characters", -1, strategy="windows"),
    ],
    "coverage__nothing_lost_unexplained": [
        _computed("coverage", _remove("chunks", chunk_id="guide-25-35")),
        _computed("coverage", _set("chunks", "span_start", 26, chunk_id="guide-25-35")),
    ],
    "coverage__one_row_per_document_and_strategy": [
        _computed("coverage", _repeat("documents")),
        _computed("coverage", _repeat("strategy_config")),
    ],
    "leaderboard__every_chunk_is_a_point": [
        _computed("leaderboard", _remove("collections", chunk_id="guide-25-35")),
        _computed("leaderboard", _remove("embeddings", chunk_id="guide-25-35")),
    ],
    "leaderboard__interval_contains_mean": [
        _computed("leaderboard", _set("evaluation_summaries", "low", 0.95, metric="hit")),
        _computed("leaderboard", _set("evaluation_summaries", "high", 0.1, metric="recip_rank")),
        _computed("leaderboard", _set("evaluation_summaries", "high", 1.5, metric="ndcg")),
        _computed("leaderboard", _set("evaluation_summaries", "low", -0.5, cutoff_unit="tokens")),
    ],
    "leaderboard__one_row_per_index": [_computed("leaderboard", _repeat("embedder_config"))],
    "leaderboard__rank_follows_recall": [
        _set("leaderboard", "budget_span_recall_mean", 0.95, index="windows__minilm"),
        _set("leaderboard", "rank", 3, index="windows__minilm"),
    ],
    "quarantined__every_row_says_why": [
        _set("quarantined", "message", "", uri="broken.md"),
        _set("quarantined", "uri", None, document_id="broken"),
        _set("quarantined", "last_seen", None, uri="broken.md"),
    ],
    "strategy_statistics__shares_are_shares": [
        _set("strategy_statistics", "overlap_share", 1.01, strategy="windows"),
        _set("strategy_statistics", "oversize_chunks", 2, strategy="sections"),
    ],
    "strategy_statistics__spans_equal_text": [
        _set("chunks", "text", "Four five!", chunk_id="guide-25-35"),
        _set("chunks", "span_start", 24, chunk_id="guide-25-35"),
        _set("chunks", "span_end", 36, chunk_id="guide-25-35"),
        _set("chunks", "text", "", chunk_id="guide-25-35"),
    ],
    "strategy_statistics__unique_chunks": [
        _set("chunks", "chunk_id", "guide-0-23", chunk_id="guide-25-35")
    ],
    "vector_lineage__every_point_has_vector_and_document": [
        _computed("vector_lineage", _forget_vectors),
        _computed("vector_lineage", _remove("chunks", chunk_id="guide-25-35")),
        _computed("vector_lineage", _remove("documents", document_id="guide")),
        _computed("vector_lineage", _remove("raw_documents", document_id="guide")),
    ],
    "vector_lineage__point_matches_embedding": [
        _computed(
            "vector_lineage", _set("embeddings", "vector_key", "another", chunk_id="guide-25-35")
        ),
        _computed(
            "vector_lineage", _set("embeddings", "payload_hash", "another", chunk_id="guide-25-35")
        ),
        _computed(
            "vector_lineage",
            _set("embeddings", "embedder_fingerprint", "x", chunk_id="guide-25-35"),
        ),
    ],
    "vector_lineage__unique_points": [
        _computed("vector_lineage", _repeat("collections")),
        _computed("vector_lineage", _repeat("embeddings")),
    ],
    "vector_lineage__versions_agree": [
        _computed(
            "vector_lineage", _set("documents", "document_version", "v2", document_id="guide")
        ),
        _computed(
            "vector_lineage", _set("raw_documents", "content_hash", "new", document_id="guide")
        ),
        _computed(
            "vector_lineage", _set("collections", "document_id", "other", chunk_id="guide-25-35")
        ),
    ],
}
SHIPPED = [
    name
    for name, model in load_models(shipped_models_folder(), SOURCES).items()
    if model.kind == "test"
]


@pytest.mark.parametrize("test", SHIPPED)
def test_a_corpus_without_a_fault_passes(whole: SmallLake, test: str) -> None:
    assert whole.warehouse.run_test(CORPUS, test).num_rows == 0


@pytest.mark.parametrize(
    ("test", "plant"),
    [
        pytest.param(test, plant, id=f"{test}-{number}")
        for test, faults in FAULTS.items()
        for number, plant in enumerate(faults)
    ],
)
def test_a_planted_fault_is_caught(spoiled: SmallLake, test: str, plant: Fault) -> None:
    plant(spoiled)
    assert spoiled.warehouse.run_test(CORPUS, test).num_rows > 0


def test_every_shipped_test_has_a_planted_fault() -> None:
    assert sorted(FAULTS) == sorted(SHIPPED)


def test_every_mart_has_a_test() -> None:
    models = load_models(shipped_models_folder(), SOURCES).values()
    tested = {model.tested_mart for model in models if model.kind == "test"}
    assert tested == {model.name for model in models if model.kind == "mart"}


def test_spans_are_compared_in_code_points_across_blocks(lake: SmallLake) -> None:
    lake.document("guide", "é👍🏽x" * 20_000)
    lake.strategy("fixed")
    for start in range(0, 80_000, 10_000):
        lake.chunk("fixed", "guide", start, start + 10_000)
    lake.write()
    assert lake.warehouse.run_test(CORPUS, "strategy_statistics__spans_equal_text").num_rows == 0


def test_a_wrong_span_is_shown_with_the_slice_it_names(spoiled: SmallLake) -> None:
    _set("chunks", "span_start", 24, chunk_id="guide-25-35")(spoiled)
    [row] = spoiled.warehouse.run_test(CORPUS, "strategy_statistics__spans_equal_text").to_pylist()
    assert (row["text"], row["slice"]) == ("Four five.", "\nFour five.")

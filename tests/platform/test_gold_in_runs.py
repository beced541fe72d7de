"""Gold sets in real runs: what does not anchor is named, and stops nothing else."""

import json
from collections.abc import Iterator
from typing import Any

import dagster as dg
import pytest
from small_platform import STRATEGIES, SmallPlatform, guide

from chunk_assets.apply import Report
from partitions.stages import StagePartition

pytestmark = pytest.mark.slow

GOOD: dict[str, Any] = {
    "query_id": "q1",
    "query": "When is the pump ready?",
    "doc_id": "pump.md",
    "quotes": ["After 2 minutes the pump is ready"],
}
INDEX = "hierarchy__counting"


def write(small: SmallPlatform, gold_set: str, *lines: object) -> None:
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    (small.folder / f"{gold_set}.jsonl").write_text(text, encoding="utf-8")


def write_bad(small: SmallPlatform) -> None:
    write(
        small,
        "bad",
        GOOD,
        {**GOOD, "query_id": "q2", "quotes": ["words that nobody wrote"]},
        {**GOOD, "query_id": "q3", "doc_id": "pumps.md"},
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SmallPlatform, Report]]:
    """Five gold sets, of which three are wrong. Tests only look at it."""
    gold: dict[str, Any] = {
        name: {"path": f"{name}.jsonl"} for name in ("good", "bad", "missing", "malformed")
    }
    gold["inside"] = {"path": "good.jsonl", "scope": "document"}
    with dg.DagsterInstance.ephemeral() as instance:
        small = SmallPlatform(
            tmp_path_factory.mktemp("gold"),
            instance,
            strategies={"hierarchy": STRATEGIES["hierarchy"]},
            corpus={"buckets": 1, "gold": gold},
        )
        small.write({"pump.md": guide("pump"), "boiler.md": guide("boiler")})
        write(small, "good", GOOD)
        write_bad(small)
        write(small, "malformed", GOOD, "{not json")
        yield small, small.apply()


def messages(report: Report) -> dict[StagePartition, str]:
    return {result.work: result.message for result in report.failed}


def test_only_what_is_wrong_fails(built: tuple[SmallPlatform, Report]) -> None:
    assert messages(built[1]).keys() == {
        StagePartition("evaluations", f"bad|{INDEX}"),
        StagePartition("retrieval_runs", f"missing|{INDEX}"),
        StagePartition("retrieval_runs", f"malformed|{INDEX}"),
    }
    assert {work for _, work, _ in built[1].blocked} == {
        StagePartition("evaluations", f"missing|{INDEX}"),
        StagePartition("evaluations", f"malformed|{INDEX}"),
    }


def test_every_quote_that_does_not_anchor_is_named_with_query_and_document(
    built: tuple[SmallPlatform, Report],
) -> None:
    message = messages(built[1])[StagePartition("evaluations", f"bad|{INDEX}")]
    assert message.startswith("2 pieces of evidence not found")
    assert "query 'q2', document 'pump.md', quote 'words that nobody wrote'" in message
    assert "query 'q3', document 'pumps.md'" in message
    assert "'q1'" not in message


def test_a_missing_file_is_named(built: tuple[SmallPlatform, Report]) -> None:
    message = messages(built[1])[StagePartition("retrieval_runs", f"missing|{INDEX}")]
    assert "missing.jsonl" in message


def test_a_malformed_line_is_named(built: tuple[SmallPlatform, Report]) -> None:
    message = messages(built[1])[StagePartition("retrieval_runs", f"malformed|{INDEX}")]
    assert "malformed.jsonl, line 2: this is not JSON" in message


def test_the_good_sets_are_scored_and_ranked_each_for_itself(
    built: tuple[SmallPlatform, Report],
) -> None:
    rows = built[0].platform().tables.read("guides/leaderboard").to_pylist()
    assert [(row["gold_set"], row["index"], row["rank"]) for row in rows] == [
        ("good", INDEX, 1),
        ("inside", INDEX, 1),
    ]
    assert all(row["evidence_recall_mean"] == 1.0 for row in rows)


def test_questions_about_a_document_are_searched_in_that_document_alone(
    built: tuple[SmallPlatform, Report],
) -> None:
    def documents(gold_set: str) -> set[str]:
        rows = (
            built[0]
            .platform()
            .tables.read("guides/retrieval_runs", ["uri"], where={"gold_set": gold_set})
        )
        return set(rows["uri"].to_pylist())

    assert documents("inside") == {"pump.md"}
    assert documents("good") == {"pump.md", "boiler.md"}


def test_what_failed_is_tried_again_and_nothing_else(
    built: tuple[SmallPlatform, Report],
) -> None:
    small, first = built
    again = small.apply()
    assert messages(again).keys() == messages(first).keys()
    assert not [result for result in again.results if result.success]


def test_a_mended_gold_set_is_scored_without_touching_the_others(small: SmallPlatform) -> None:
    small.strategies = {"hierarchy": STRATEGIES["hierarchy"]}
    small.corpus = {
        "buckets": 1,
        "gold": {name: {"path": f"{name}.jsonl"} for name in ("good", "bad")},
    }
    small.write({"pump.md": guide("pump")})
    write(small, "good", GOOD)
    write_bad(small)
    small.apply()
    write(small, "bad", GOOD, {**GOOD, "query_id": "q2"})
    report = small.apply()
    assert not report.failed
    models = set(small.platform().sql_models)
    touched = {str(result.work) for result in report.results if result.work.stage not in models}
    assert touched == {f"retrieval_runs/bad|{INDEX}", f"evaluations/bad|{INDEX}"}
    rows = small.platform().tables.read("guides/leaderboard").to_pylist()
    assert {row["gold_set"]: row["queries"] for row in rows} == {"good": 1, "bad": 2}


def test_evaluation_asks_what_a_search_answers(built: tuple[SmallPlatform, Report]) -> None:
    from chunk_assets.serving import search_corpus

    platform = built[0].platform()
    rows = platform.tables.read("guides/retrieval_runs", where={"gold_set": "good"}).sort_by("rank")
    hits = search_corpus(
        platform, GOOD["query"], corpus=None, strategy=None, k=len(rows), on_wait=print
    )
    assert [hit.chunk_id for hit in hits] == rows["chunk_id"].to_pylist()
    assert [hit.score for hit in hits] == pytest.approx(rows["score"].to_pylist())

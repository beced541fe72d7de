"""What is out of date after a change, and the reason that is given."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from small_platform import STRATEGIES, SmallPlatform, guide

from chunk_assets import planning
from chunk_assets.errors import VectorStoreError
from chunk_assets.selection import parse_selection
from chunk_assets.serving import search_corpus
from chunk_assets.status import outlook
from partitions.stages import StagePartition

pytestmark = pytest.mark.slow

QUESTIONS = [
    {
        "query_id": "q1",
        "query": "When is the pump ready?",
        "doc_id": "pump.md",
        "quotes": ["After 2 minutes the pump is ready"],
    },
    {
        "query_id": "q2",
        "query": "What does the boiler need in step 1?",
        "quotes": ["The boiler needs care in step 1"],
    },
]
CORPUS: dict[str, Any] = {"buckets": 2, "gold": {"questions": {"path": "gold.jsonl"}}}


def write_gold(small: SmallPlatform, *questions: dict[str, Any]) -> None:
    lines = "".join(f"{json.dumps(question)}\n" for question in questions)
    (small.folder / "gold.jsonl").write_text(lines)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallPlatform]:
    """Built once: asking for the status changes nothing, which is a test of its own."""
    with dg.DagsterInstance.ephemeral() as instance:
        small = SmallPlatform(tmp_path_factory.mktemp("status"), instance, corpus=dict(CORPUS))
        small.write({f"{name}.md": guide(name) for name in ("pump", "boiler", "crane")})
        write_gold(small, *QUESTIONS)
        report = small.apply()
        assert not report.failed, report.failed
        yield small


def status(small: SmallPlatform, *select: str) -> dict[str, tuple[str, ...]]:
    """Reasons by partition."""
    platform = small.platform()
    found = outlook(platform, small.instance, parse_selection(select, platform.corpora)).out_of_date
    return {str(item.work): item.reasons for item in found}


def stages(reasons: dict[str, tuple[str, ...]]) -> set[str]:
    return {name.partition("/")[0] for name in reasons}


def tree(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


SQL_MODELS = {"leaderboard", "vector_lineage", "coverage", "strategy_statistics"}


def test_after_a_build_nothing_is_out_of_date(built: SmallPlatform) -> None:
    assert status(built) == {}


def test_asking_changes_nothing(built: SmallPlatform) -> None:
    before = tree(built.folder)
    status(replace(built, strategies={"hierarchy": {"chunker": "hierarchy", "max_words": 30}}))
    built.configure()
    after = tree(built.folder)
    before.pop("chunk_assets.yaml")
    after.pop("chunk_assets.yaml")
    assert after == before


def test_before_the_first_build_everything_is_listed_in_the_order_of_the_work(
    small: SmallPlatform,
) -> None:
    small.corpus = {"buckets": 1}
    small.strategies = {"hierarchy": STRATEGIES["hierarchy"]}
    reasons = status(small)
    assert set(reasons.values()) == {("never materialized",)}
    assert list(reasons)[:7] == [
        "raw_documents/b00",
        "documents/b00",
        "strategy_config/hierarchy",
        "chunks/b00|hierarchy",
        "embedder_config/hierarchy__counting",
        "embeddings/b00|hierarchy__counting",
        "collections/hierarchy__counting",
    ]
    assert set(list(reasons)[7:]) >= SQL_MODELS


def test_an_edited_strategy_is_the_reason_for_its_own_partitions_alone(
    built: SmallPlatform,
) -> None:
    edited = {**STRATEGIES, "sentences": {"chunker": "sentence_aware", "max_words": 20}}
    reasons = status(replace(built, strategies=edited))
    assert reasons["strategy_config/sentences"] == ("configuration changed",)
    assert reasons["chunks/b00|sentences"] == ("strategy_config/sentences will change",)
    assert reasons["embeddings/b01|sentences__counting"] == ("chunks/b01|sentences will change",)
    # Its points go to another collection, whatever the chunks turn out to be.
    assert reasons["collections/sentences__counting"] == ("configuration changed",)
    assert not [name for name in reasons if "hierarchy" in name]
    assert not stages(reasons) & {"raw_documents", "documents", "embedder_config"}
    assert stages(reasons) >= {"retrieval_runs", "evaluations", *SQL_MODELS}


def test_an_added_strategy_was_never_materialized_and_touches_no_other(
    built: SmallPlatform,
) -> None:
    more = {**STRATEGIES, "third": {"chunker": "hierarchy", "max_words": 20}}
    reasons = status(replace(built, strategies=more))
    assert reasons["chunks/b00|third"] == ("never materialized",)
    models = set(built.platform().sql_models)
    assert all("third" in name or name in models for name in reasons)


def test_another_model_is_the_reason_for_its_vectors(built: SmallPlatform) -> None:
    reasons = status(replace(built, embedder_options={"seed": 1}))
    assert reasons["embedder_config/hierarchy__counting"] == ("configuration changed",)
    assert reasons["embeddings/b00|hierarchy__counting"] == (
        "embedder_config/hierarchy__counting will change",
    )
    assert not stages(reasons) & {"raw_documents", "documents", "strategy_config", "chunks"}


@pytest.mark.parametrize(
    ("change", "first", "reason"),
    [
        ({"retrieval": {"mode": "dense"}}, "retrieval_runs", "retrieval changed"),
        ({"gold": {"questions": {"path": "gold.jsonl", "ks": [2]}}}, "retrieval_runs", "gold"),
        ({"parsing": {"normalize": {"nfc": True}}}, "documents", "parser changed"),
        ({"serve": "sentences__counting"}, "collections", "served changed"),
        ({"retrieval": {"bm25": {"k": 2.0}}}, "collections", "configuration changed"),
    ],
)
def test_a_setting_is_the_reason_for_the_first_stage_that_it_decides(
    built: SmallPlatform, change: dict[str, Any], first: str, reason: str
) -> None:
    reasons = status(replace(built, corpus={**CORPUS, **change}))
    name, why = next(iter(reasons.items()))
    assert name.partition("/")[0] == first
    assert why[0].startswith(reason)


@pytest.mark.parametrize(
    "change",
    [
        {"description": "of machines"},
        {"gold": {"questions": {"path": "gold.jsonl", "description": "by hand"}}},
        {"strategies": ["hierarchy", "sentences"]},
    ],
)
def test_what_decides_nothing_puts_nothing_out_of_date(
    built: SmallPlatform, change: dict[str, Any]
) -> None:
    assert status(replace(built, corpus={**CORPUS, **change})) == {}


def test_a_question_that_was_added_is_the_reason_for_searching_again(built: SmallPlatform) -> None:
    write_gold(built, *QUESTIONS, {**QUESTIONS[0], "query_id": "q3"})
    try:
        reasons = status(built)
    finally:
        write_gold(built, *QUESTIONS)
    assert reasons["retrieval_runs/questions|hierarchy__counting"] == ("gold changed",)
    assert reasons["evaluations/questions|hierarchy__counting"] == ("gold changed",)
    assert not stages(reasons) & {"collections", "embeddings", "chunks", "documents"}
    assert status(built) == {}


def test_an_algorithm_that_changed_for_everybody_is_named_with_both_versions(
    built: SmallPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(planning.CODE_VERSIONS, "collections", "2")
    reasons = status(built)
    assert reasons["collections/hierarchy__counting"] == ("code version 1 → 2",)
    assert "embeddings" not in stages(reasons)


@contextmanager
def taken_away(path: Path) -> Iterator[None]:
    aside = path.with_name(f"{path.name}_aside")
    shutil.move(path, aside)
    try:
        yield
    finally:
        shutil.move(aside, path)


@pytest.mark.parametrize(
    ("table", "partition"),
    [
        ("guides/documents", "documents/b01"),
        ("guides/chunks", "chunks/b00|hierarchy"),
        ("vectors", "embeddings/b00|hierarchy__counting"),
        ("guides/leaderboard", "leaderboard"),
    ],
)
def test_a_table_that_is_gone_is_named(built: SmallPlatform, table: str, partition: str) -> None:
    with taken_away(Path(built.platform().tables.uri(table))):
        reasons = status(built)
    assert reasons[partition] == (f"the table {table} is gone",)


def test_a_collection_that_is_gone_is_named(built: SmallPlatform) -> None:
    with taken_away(Path(built.platform().storage) / "vector_store"):
        reasons = status(built)
    (why,) = reasons["collections/hierarchy__counting"]
    assert why.startswith("its collection guides__hierarchy__counting__")
    assert why.endswith("is not in the vector store")


@pytest.mark.parametrize("alias", ["guides", "guides__hierarchy__counting"])
def test_an_alias_that_is_gone_is_named(built: SmallPlatform, alias: str) -> None:
    # Searches go through it: without it they would say that nothing was built.
    with taken_away(Path(built.platform().storage) / "vector_store/aliases" / f"{alias}.json"):
        reasons = status(built)
    assert reasons["collections/hierarchy__counting"] == (
        f"its alias {alias} is not in the vector store",
    )


def test_an_instance_that_knows_of_no_run_lists_all_of_them(built: SmallPlatform) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        reasons = status(replace(built, instance=instance))
    assert set(reasons.values()) == {("Dagster has no record of it",)}
    assert "raw_documents/b00" in reasons


def test_a_selection_limits_what_is_listed(built: SmallPlatform) -> None:
    edited = replace(built, embedder_options={"seed": 1})
    assert stages(status(edited, "guides/hierarchy/b00")) == {"embedder_config", "embeddings"}
    assert not [name for name in status(edited, "guides/hierarchy") if "sentences" in name]


@pytest.fixture
def one_bucket(small: SmallPlatform) -> SmallPlatform:
    """Documents in two buckets, up to their embeddings."""
    small.strategies = {"hierarchy": STRATEGIES["hierarchy"]}
    small.write({f"{name}.md": guide(name, 1) for name in ("pump", "boiler", "crane", "winch")})
    return small


def bucket_of_file(small: SmallPlatform, uri: str) -> str:
    rows = small.platform().tables.read("guides/documents", ["uri", "bucket"]).to_pylist()
    return str(next(row["bucket"] for row in rows if row["uri"] == uri))


@pytest.mark.parametrize(
    "edit",
    [
        lambda path: path.write_text(path.read_text() + "\nMore.\n"),
        lambda path: path.unlink(),
        lambda path: path.touch(),
    ],
    ids=["edited", "deleted", "touched"],
)
def test_a_file_is_the_reason_for_its_bucket_alone(
    one_bucket: SmallPlatform, edit: Callable[[Path], None]
) -> None:
    small = one_bucket
    small.apply("guides/hierarchy/*0", "guides/hierarchy/*1")
    touched = bucket_of_file(small, "pump.md")
    edit(small.docs / "pump.md")
    reasons = status(small, f"guides/hierarchy/{touched}")
    assert reasons[f"raw_documents/{touched}"] == ("source listing changed",)
    assert reasons[f"documents/{touched}"] == (f"raw_documents/{touched} will change",)
    other = {"b00": "b01", "b01": "b00"}[touched]
    assert status(small, f"guides/hierarchy/{other}") == {}


def test_a_run_outside_of_apply_is_seen(one_bucket: SmallPlatform) -> None:
    # What the UI materializes counts like what `apply` does.
    small = one_bucket
    small.corpus = {"buckets": 1}
    from chunk_assets.definitions_factory import build_definitions

    job = build_definitions(small.platform()).resolve_implicit_global_asset_job_def()
    keys = {dg.AssetKey(["guides", stage]) for stage in ("raw_documents", "documents")}
    job.get_subset(asset_selection=keys).execute_in_process(
        instance=small.instance,
        partition_key="b00",
        run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
    )
    reasons = status(small)
    assert "raw_documents/b00" not in reasons
    assert "documents/b00" not in reasons
    assert reasons["chunks/b00|hierarchy"] == ("never materialized",)


def test_the_state_says_what_made_every_partition(built: SmallPlatform) -> None:
    state = built.platform().run_log.state("guides")
    chunks = state[StagePartition("chunks", "b00|hierarchy")]
    assert chunks.inputs.keys() == {"documents/b00", "strategy_config/hierarchy", "code"}
    assert chunks.inputs["documents/b00"] == state[StagePartition("documents", "b00")].data_version
    assert chunks.configuration["maximum"] == 60


def test_an_alias_that_points_elsewhere_is_named_and_set_right(one_bucket: SmallPlatform) -> None:
    one_bucket.write({"pump.md": guide("pump")})
    one_bucket.apply()
    store = one_bucket.platform().vector_store
    right = store.aliases()["guides"]
    store.create("elsewhere", 64)
    store.set_alias("guides", "elsewhere")
    reasons = status(one_bucket)
    assert any(
        "alias guides points to elsewhere" in why for said in reasons.values() for why in said
    )
    report = one_bucket.apply()
    assert report.totals["points"] == {"written": 0, "updated": 0, "deleted": 0}
    assert one_bucket.platform().vector_store.aliases()["guides"] == right


def test_a_collection_that_was_emptied_is_named_never_searched_in_silence_and_filled_again(
    one_bucket: SmallPlatform,
) -> None:
    one_bucket.write({"pump.md": guide("pump")})
    one_bucket.apply()
    embedded = len(one_bucket.embedded_texts())
    platform = one_bucket.platform()
    with platform.vector_store.open("guides") as collection:
        held = [identity for identity, _ in collection.scroll([])]
        collection.delete(held)
    with pytest.raises(VectorStoreError, match="was built but is empty"):
        search_corpus(platform, "pump", corpus=None, strategy=None, k=1, on_wait=print)
    assert any(
        "holds 0 points" in why for reasons in status(one_bucket).values() for why in reasons
    )
    assert one_bucket.apply().totals["points"]["written"] == len(held)
    assert len(one_bucket.embedded_texts()) == embedded
    assert search_corpus(
        one_bucket.platform(), "pump", corpus=None, strategy=None, k=1, on_wait=print
    )

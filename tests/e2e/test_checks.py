"""What the checks find in tables that were tampered with, what that stops, and what heals it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from small_platform import STRATEGIES, SmallPlatform, guide
from stage_checks import run_checks

from chunk_assets.apply import Report
from chunk_assets.assets import checks
from chunk_assets.assets.findings import Findings
from chunk_assets.corpus import Corpus
from chunk_assets.lineage.identity import ChunkId
from chunk_assets.retrieval.vector_store import Point, SparseVector
from chunk_assets.selection import Selection
from chunk_assets.status import outlook
from partitions.stages import StagePartition
from resources.platform import Platform
from resources.schemas import CORPUS_TABLES, SHARED_TABLES

pytestmark = pytest.mark.slow

Row = dict[str, Any]
Tamper = Callable[[list[Row]], list[Row]]

DOCUMENTS = StagePartition("documents", "b00")
CHUNKS = StagePartition("chunks", "b00|hierarchy")
EMBEDDINGS = StagePartition("embeddings", "b00|hierarchy__counting")
COLLECTION = StagePartition("collections", "hierarchy__counting")
BUCKET = "guides/hierarchy/b00"
"""Everything up to the embeddings, and nothing that is made from several buckets."""


def build(small: SmallPlatform) -> SmallPlatform:
    """Two documents in one bucket, cut in one way, up to their embeddings."""
    small.strategies = {"hierarchy": STRATEGIES["hierarchy"]}
    small.corpus = {"buckets": 1}
    small.write({"boiler.md": guide("boiler"), "pump.md": guide("pump")})
    assert not small.apply(BUCKET).failed
    return small


@pytest.fixture
def built(small: SmallPlatform) -> SmallPlatform:
    """For tests that build on it."""
    return build(small)


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallPlatform]:
    """For tests that only carry out checks: what they spoil they restore."""
    with dg.DagsterInstance.ephemeral() as instance:
        yield build(SmallPlatform(tmp_path_factory.mktemp("checks"), instance))


def tamper(small: SmallPlatform, stage: str, change: Tamper) -> None:
    """Change the rows of the one partition of a stage behind everyone's back."""
    tables = small.platform().tables
    rows = change(tables.read(f"guides/{stage}").to_pylist())
    partition = dict(zip(("bucket", "strategy"), ("b00", "hierarchy"), strict=True))
    tables.replace(
        f"guides/{stage}", pa.Table.from_pylist(rows, schema=CORPUS_TABLES[stage]), partition
    )


def tamper_with_vectors(small: SmallPlatform, change: Tamper) -> None:
    tables = small.platform().tables
    rows = change(tables.read("vectors").to_pylist())
    write_deltalake(
        tables.uri("vectors"),
        pa.Table.from_pylist(rows, schema=SHARED_TABLES["vectors"]),
        mode="overwrite",
        partition_by=["embedder_fingerprint"],
    )


def edit_the_other_document(small: SmallPlatform) -> None:
    """So that the bucket runs again and keeps what it has of the document tampered with."""
    small.write({"pump.md": guide("pump", sections=4)})


def of_boiler(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["uri"] == "boiler.md"]


def other_text(rows: list[Row]) -> list[Row]:
    of_boiler(rows)[1]["text"] = "something else"
    return rows


def other_span(rows: list[Row]) -> list[Row]:
    of_boiler(rows)[1]["span_start"] += 1
    return rows


def missing_chunk(rows: list[Row]) -> list[Row]:
    rows.remove(of_boiler(rows)[1])
    return rows


def repeated_id(rows: list[Row]) -> list[Row]:
    first, second = of_boiler(rows)[:2]
    second["chunk_id"] = first["chunk_id"]
    return rows


def results_by_stage(report: Report) -> dict[str, bool]:
    return {result.work.stage: result.success for result in report.results}


def reasons(small: SmallPlatform) -> dict[StagePartition, tuple[str, ...]]:
    found = outlook(small.platform(), small.instance, Selection()).out_of_date
    return {item.work: item.reasons for item in found}


@pytest.mark.parametrize(
    ("change", "check", "said"),
    [
        (other_text, "spans_exact", "boiler.md"),
        (other_span, "spans_exact", "boiler.md"),
        (missing_chunk, "coverage_complete", "in no chunk"),
        (repeated_id, "ids_unique", ""),
    ],
)
def test_a_fault_in_the_chunks_stops_what_is_built_on_them_and_is_healed_by_the_next_apply(
    built: SmallPlatform, change: Tamper, check: str, said: str
) -> None:
    original = built.platform().tables.read("guides/chunks").to_pylist()
    tamper(built, "chunks", change)
    edit_the_other_document(built)
    embedded = len(built.embedded_texts())

    refused = built.apply(BUCKET)
    assert results_by_stage(refused)["chunks"] is False
    (failed,) = refused.failed
    assert f"check {check} did not pass" in failed.message
    assert said in failed.message
    assert refused.blocked == [("guides", EMBEDDINGS, f"{CHUNKS} failed")]
    assert len(built.embedded_texts()) == embedded
    assert reasons(built)[CHUNKS] == ("its last run did not pass: check_failed",)

    healed = built.apply(BUCKET)
    assert results_by_stage(healed) == {"chunks": True, "embeddings": True}
    chunks = built.platform().tables.read("guides/chunks").to_pylist()
    assert of_boiler(chunks) == of_boiler(original)
    assert healed.results[0].counts["documents_cut"] == 2, "the partition is made again whole"
    assert built.apply(BUCKET).results == []


def test_blocks_outside_their_text_stop_the_chunks_and_are_made_again(
    built: SmallPlatform,
) -> None:
    def longer_block(rows: list[Row]) -> list[Row]:
        of_boiler(rows)[0]["blocks"][-1]["end"] = 10_000
        return rows

    original = built.platform().tables.read("guides/documents").to_pylist()
    tamper(built, "documents", longer_block)
    edit_the_other_document(built)
    refused = built.apply(BUCKET)
    assert results_by_stage(refused) == {"raw_documents": True, "documents": False}
    assert "check blocks_lie_in_text did not pass: boiler.md" in refused.failed[0].message
    assert [work for _, work, _ in refused.blocked] == [CHUNKS, EMBEDDINGS]
    assert not built.apply(BUCKET).failed
    documents = built.platform().tables.read("guides/documents").to_pylist()
    assert of_boiler(documents) == of_boiler(original)


def spoiled(*components: float) -> Tamper:
    """The first vector gets other components."""

    def spoil(rows: list[Row]) -> list[Row]:
        rows[0]["vector"] = list(components)
        return rows

    return spoil


def test_a_stored_vector_that_is_none_stops_the_collection_and_is_embedded_again(
    built: SmallPlatform,
) -> None:
    tamper_with_vectors(built, spoiled(*[float("nan")] * 64))
    edit_the_other_document(built)
    refused = built.apply()
    assert results_by_stage(refused)["embeddings"] is False
    assert "check vectors_valid did not pass" in refused.failed[0].message
    assert ("guides", COLLECTION, f"{EMBEDDINGS} failed") in refused.blocked
    assert built.platform().vector_store.names() == []

    healed = built.apply(BUCKET)
    assert not healed.failed
    assert healed.totals["embeddings"]["embedded"] == 1
    assert run_checks(built, EMBEDDINGS)["vectors_valid"] is True


def test_a_lost_vector_is_found_and_embedded_again(built: SmallPlatform) -> None:
    tamper_with_vectors(built, lambda rows: rows[1:])
    assert run_checks(built, EMBEDDINGS) == {"vectors_valid": False, "every_chunk_embedded": True}
    report = built.apply(BUCKET)
    assert results_by_stage(report) == {"embeddings": True}
    assert report.totals["embeddings"]["embedded"] == 1
    assert run_checks(built, EMBEDDINGS)["vectors_valid"] is True


@pytest.mark.parametrize(
    "components",
    [[1.0], [0.0] * 64, [float("inf"), *[0.0] * 63], [2.0, *[0.0] * 63]],
    ids=["another dimension", "zero", "infinite", "another length"],
)
def test_a_vector_that_no_model_makes_is_found(
    looked_at: SmallPlatform, components: list[float]
) -> None:
    good = looked_at.platform().tables.read("vectors").to_pylist()
    tamper_with_vectors(looked_at, spoiled(*components))
    found = run_checks(looked_at, EMBEDDINGS)
    tamper_with_vectors(looked_at, lambda rows: good)
    assert found["vectors_valid"] is False


@pytest.mark.parametrize("work", [DOCUMENTS, CHUNKS, EMBEDDINGS], ids=str)
def test_checks_alone_pass_on_what_was_built(
    looked_at: SmallPlatform, work: StagePartition
) -> None:
    results = run_checks(looked_at, work)
    assert results
    assert all(results.values())


def test_a_fault_that_checks_alone_find_is_healed_by_the_next_apply(built: SmallPlatform) -> None:
    original = built.platform().tables.read("guides/chunks")
    tamper(built, "chunks", other_text)
    assert run_checks(built, CHUNKS)["spans_exact"] is False
    assert "check_failed" in reasons(built)[CHUNKS][0]
    report = built.apply(BUCKET)
    # What is built on the chunks is what it was, so it is not built again.
    assert results_by_stage(report) == {"chunks": True}
    assert built.platform().tables.read("guides/chunks").equals(original)
    assert run_checks(built, CHUNKS)["spans_exact"] is True


@contextmanager
def opened(small: SmallPlatform) -> Iterator[Any]:
    with small.platform().vector_store.open("guides__hierarchy__counting") as collection:
        yield collection


def test_a_foreign_point_is_found_and_removed(built: SmallPlatform) -> None:
    built.apply()
    foreign = ChunkId("00000000-0000-0000-0000-00000000f0e1")
    with opened(built) as collection:
        held = collection.count()
        vector = np.eye(64, dtype=np.float32)[0]
        collection.upsert([Point(foreign, vector, SparseVector((), ()), {"text": "foreign"})])
    assert run_checks(built, COLLECTION) == {"count_matches_table": False}
    assert "check_failed" in reasons(built)[COLLECTION][0]
    report = built.apply()
    assert results_by_stage(report) == {"collections": True}
    assert report.totals["points"] == {"written": 0, "updated": 0, "deleted": 1}
    with opened(built) as collection:
        assert collection.count() == held
    assert run_checks(built, COLLECTION) == {"count_matches_table": True}


def test_a_check_that_cannot_look_has_not_passed(built: SmallPlatform) -> None:
    built.apply()
    platform = built.platform()
    for name in platform.vector_store.names():
        platform.vector_store.drop(name)
    assert run_checks(built, COLLECTION) == {}
    assert platform.run_log.state("guides")[COLLECTION].status == "check_failed"
    assert not built.apply().failed
    assert run_checks(built, COLLECTION) == {"count_matches_table": True}


def test_a_check_that_breaks_during_apply_stops_what_comes_after(
    built: SmallPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(platform: Platform, corpus: Corpus, work: StagePartition) -> Findings:
        raise OSError("the disk is gone")

    edit_the_other_document(built)
    with monkeypatch.context() as patch:
        patch.setattr(checks, "inspect_documents", breaks)
        report = built.apply(BUCKET)
    assert results_by_stage(report) == {"raw_documents": True, "documents": False}
    assert "the disk is gone" in report.failed[0].message
    assert [work for _, work, _ in report.blocked] == [CHUNKS, EMBEDDINGS]
    assert not built.apply(BUCKET).failed


def test_every_result_of_a_check_is_in_the_instance_with_its_partition(
    built: SmallPlatform,
) -> None:
    tamper(built, "chunks", other_text)
    run_checks(built, CHUNKS)
    key = dg.AssetCheckKey(dg.AssetKey(["guides", "chunks"]), "spans_exact")
    records = built.instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
    assert [record.partition for record in records] == [CHUNKS.partition] * 2
    latest, first = (record.event.asset_check_evaluation for record in records if record.event)
    assert latest is not None
    assert first is not None
    assert (first.passed, latest.passed) == (True, False)
    offenders = latest.metadata["offenders"].value
    assert isinstance(offenders, list)
    assert "boiler.md" in str(offenders[0])


def test_the_storage_holds_nothing_but_tables_and_collections(built: SmallPlatform) -> None:
    built.apply()
    names = {path.name for path in Path(built.platform().storage).iterdir()}
    assert names == {"tables", "vector_store"}

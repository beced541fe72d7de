"""The `quarantine` table: what a stage could not process, since when."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from partitions.stages import StagePartition
from resources.quarantine import Failure, Quarantine
from resources.tables import Tables

WORK = StagePartition("documents", "b00")
BROKEN = Failure("1", "a.md", "v1", "ParseError", "it's binary: \\x00 \U0001f680")
LARGE = Failure("2", "b.md", "v1", "SourceError", "has 9 bytes")


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return Tables(tmp_path)


@pytest.fixture
def quarantine(tables: Tables) -> Quarantine:
    return Quarantine(tables)


def row(tables: Tables, uri: str = "a.md") -> dict[str, Any]:
    (found,) = [row for row in tables.read("quarantine").to_pylist() if row["uri"] == uri]
    return dict(found)


def test_failures_come_back_sorted_by_uri(quarantine: Quarantine) -> None:
    quarantine.replace("handbook", WORK, [LARGE, BROKEN], "run")
    assert quarantine.failures("handbook", WORK) == [BROKEN, LARGE]


def test_without_a_failure_nothing_is_written(quarantine: Quarantine, tables: Tables) -> None:
    quarantine.replace("handbook", WORK, [], "run")
    assert not tables.exists("quarantine")
    assert quarantine.failures("handbook", WORK) == []


def test_what_was_repaired_goes(quarantine: Quarantine) -> None:
    quarantine.replace("handbook", WORK, [BROKEN, LARGE], "first")
    quarantine.replace("handbook", WORK, [LARGE], "second")
    assert quarantine.failures("handbook", WORK) == [LARGE]
    quarantine.replace("handbook", WORK, [], "third")
    assert quarantine.failures("handbook", WORK) == []


def test_other_stages_partitions_and_corpora_are_left_alone(quarantine: Quarantine) -> None:
    others = [
        ("handbook", StagePartition("chunks", "b00")),
        ("handbook", StagePartition("documents", "b01")),
        ("wiki", WORK),
    ]
    for corpus, work in [("handbook", WORK), *others]:
        quarantine.replace(corpus, work, [BROKEN], "run")
    quarantine.replace("handbook", WORK, [], "run")
    assert quarantine.failures("handbook", WORK) == []
    assert all(quarantine.failures(corpus, work) == [BROKEN] for corpus, work in others)


def test_a_failure_that_stays_keeps_when_it_was_first_seen(
    quarantine: Quarantine, tables: Tables
) -> None:
    before = datetime.now(UTC)
    quarantine.replace("handbook", WORK, [BROKEN], "first")
    first = row(tables)
    quarantine.replace("handbook", WORK, [BROKEN, LARGE], "second")
    second = row(tables)
    assert before <= first["first_seen"] == first["last_seen"] <= datetime.now(UTC)
    assert second["first_seen"] == first["first_seen"]
    assert second["last_seen"] > first["last_seen"]
    assert second["run_id"] == "second"
    assert row(tables, "b.md")["first_seen"] == second["last_seen"]


@pytest.mark.parametrize("change", [{"input_version": "v2"}, {"message": "another reason"}])
def test_another_version_or_reason_is_seen_for_the_first_time(
    quarantine: Quarantine, tables: Tables, change: dict[str, str]
) -> None:
    quarantine.replace("handbook", WORK, [BROKEN], "first")
    first = row(tables)
    quarantine.replace("handbook", WORK, [replace(BROKEN, **change)], "second")
    assert row(tables)["first_seen"] > first["last_seen"]


def test_one_document_may_fail_more_than_once(quarantine: Quarantine) -> None:
    # Two chunks of one document that the model cannot embed.
    failures = [replace(BROKEN, input_version=version) for version in ("key1", "key2")]
    quarantine.replace("handbook", WORK, failures, "run")
    assert quarantine.failures("handbook", WORK) == failures


def test_partitions_that_fail_at_the_same_time_are_all_noted(quarantine: Quarantine) -> None:
    works = [StagePartition("documents", f"b{number:02d}") for number in range(10)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda w: quarantine.replace("handbook", w, [BROKEN], "run"), works))
    assert all(quarantine.failures("handbook", work) == [BROKEN] for work in works)

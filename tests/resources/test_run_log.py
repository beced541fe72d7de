"""The `runs` table: its latest rows are the platform's state."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from partitions.stages import StagePartition
from resources.run_log import Materialization, RunLog
from resources.tables import Tables

WORK = StagePartition("chunks", "b00|long")


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return Tables(tmp_path)


@pytest.fixture
def log(tables: Tables) -> RunLog:
    return RunLog(tables)


def run(run_id: str = "1", work: StagePartition = WORK) -> Materialization:
    return Materialization(
        stage=work.stage,
        partition=work.partition,
        run_id=run_id,
        data_version=f"version of {run_id}",
        inputs={"documents/b00": "d", "code": "1"},
        code_version="1",
        git_commit="",
        configuration={"max_tokens": 200, "context": ["title"], "nested": {"a": None}},
        counts={"chunks": 3},
        tokens=7,
        seconds=0.5,
    )


def test_before_the_first_run_there_is_no_state(log: RunLog) -> None:
    assert log.state("handbook") == {}


def test_a_run_comes_back_as_it_was_recorded(log: RunLog) -> None:
    odd = replace(run(), inputs={"a 'quoted' \U0001f680 name": "\\ \n"}, counts={})
    log.record("handbook", odd)
    assert log.state("handbook") == {WORK: odd}


def test_the_latest_run_of_a_partition_counts(log: RunLog) -> None:
    for number in range(5):
        log.record("handbook", run(str(number)))
    assert log.state("handbook")[WORK].run_id == "4"


def test_every_partition_of_every_stage_has_a_state_of_its_own(log: RunLog) -> None:
    works = [WORK, StagePartition("chunks", "b01|long"), StagePartition("leaderboard", "")]
    for number, work in enumerate(works):
        log.record("handbook", run(str(number), work))
    assert {work: m.run_id for work, m in log.state("handbook").items()} == {
        work: str(number) for number, work in enumerate(works)
    }


def test_the_latest_run_of_one_partition_is_that_of_the_state(log: RunLog) -> None:
    other = StagePartition("leaderboard", "")
    for number, work in enumerate([WORK, other, WORK]):
        log.record("handbook", run(str(number), work))
    log.record("wiki", run("wiki"))
    state = log.state("handbook")
    assert {work: log.latest("handbook", work) for work in state} == state
    assert log.latest("handbook", StagePartition("chunks", "b09|long")) is None


def test_a_corpus_does_not_see_the_runs_of_another(log: RunLog) -> None:
    log.record("handbook", run("1"))
    log.record("wiki", run("2"))
    assert log.state("handbook")[WORK].run_id == "1"
    assert log.state("wiki")[WORK].run_id == "2"


def test_a_refusal_by_a_check_is_the_state_until_the_next_run(log: RunLog) -> None:
    log.record("handbook", run("1"))
    log.record("handbook", replace(run("1"), status="check_failed"))
    assert log.state("handbook")[WORK].status == "check_failed"
    log.record("handbook", run("2"))
    assert log.state("handbook")[WORK].status == "ok"


def test_the_state_survives_a_compaction(log: RunLog, tables: Tables) -> None:
    for number in range(12):
        log.record("handbook", run(str(number)))
        log.record("handbook", run(str(number), StagePartition("chunks", f"b{number:02d}|long")))
    before = log.state("handbook")
    tables.compact("runs", more_files_than=2)
    assert log.state("handbook") == before
    assert tables.read("runs").num_rows == 24, "the history is kept"


def test_runs_that_end_at_the_same_time_are_all_recorded(log: RunLog) -> None:
    works = [StagePartition("chunks", f"b{number:02d}|long") for number in range(12)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda work: log.record("handbook", run("1", work)), works))
    assert set(log.state("handbook")) == set(works)

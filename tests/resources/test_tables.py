"""Delta tables: a partition is replaced as a whole, whoever else writes at the same time."""

import multiprocessing
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as fs
import pytest
from deltalake import DeltaTable

from chunk_assets.errors import ChunkAssetsError, TableDamagedError
from resources.schemas import CORPUS_TABLES, PARTITIONED_BY, SHARED_TABLES
from resources.tables import Tables

CHUNKS = "handbook/chunks"
ODD_VALUES = [
    "it's",
    "a''b",
    "x'; drop table",
    "100%",
    "a%2Fb",
    "a b",
    "a=b",
    "a/b",
    "a\\b",
    "..",
    '"quoted"',
    "a:b",
    "ü 猫 🚀",
    "{}",
    "null",
    "1",
    "line\nbreak",
]


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return Tables(tmp_path)


def chunks(bucket: str, *ids: str, strategy: str = "long") -> pa.Table:
    rows = [
        {"bucket": bucket, "strategy": strategy, "chunk_id": i, "text": f"text of {i}"} for i in ids
    ]
    return pa.Table.from_pylist(rows, schema=CORPUS_TABLES["chunks"])


def key(bucket: str, strategy: str = "long") -> dict[str, str]:
    return {"bucket": bucket, "strategy": strategy}


def ids_of(tables: Tables, **where: str) -> list[str]:
    return sorted(tables.read(CHUNKS, ["chunk_id"], where=where)["chunk_id"].to_pylist())


def failures(partition: str, uri: str) -> pa.Table:
    row = {"corpus": "handbook", "stage": "chunks", "partition": partition, "uri": uri}
    return pa.Table.from_pylist([row], schema=SHARED_TABLES["quarantine"])


def runs(*ids: str, corpus: str = "handbook") -> pa.Table:
    rows = [{"corpus": corpus, "run_id": identity} for identity in ids]
    return pa.Table.from_pylist(rows, schema=SHARED_TABLES["runs"])


def test_a_table_that_was_never_written_is_empty_and_has_its_columns(tables: Tables) -> None:
    assert not tables.exists(CHUNKS)
    assert tables.version(CHUNKS) is None
    rows = tables.read(CHUNKS, where=key("b00"))
    assert rows.num_rows == 0
    assert rows.schema.equals(CORPUS_TABLES["chunks"])


def test_a_table_without_declared_columns_must_be_written_before_it_is_read(tables: Tables) -> None:
    with pytest.raises(ChunkAssetsError, match="'handbook/leaderboard' does not exist"):
        tables.read("handbook/leaderboard")


def test_a_partition_is_replaced_and_the_others_are_left_alone(tables: Tables) -> None:
    tables.replace(CHUNKS, chunks("b00", "1", "2"), key("b00"))
    tables.replace(CHUNKS, chunks("b01", "3"), key("b01"))
    tables.replace(CHUNKS, chunks("b00", "4", strategy="short"), key("b00", "short"))
    tables.replace(CHUNKS, chunks("b00", "5"), key("b00"))
    assert ids_of(tables, **key("b00")) == ["5"]
    assert ids_of(tables) == ["3", "4", "5"]


def test_a_partition_can_become_empty(tables: Tables) -> None:
    tables.replace(CHUNKS, chunks("b00", "1"), key("b00"))
    tables.replace(CHUNKS, chunks("b01", "2"), key("b01"))
    tables.replace(CHUNKS, chunks("b00"), key("b00"))
    assert ids_of(tables, **key("b00")) == []
    assert ids_of(tables) == ["2"]


def test_a_first_partition_without_rows_makes_the_table(tables: Tables) -> None:
    tables.replace(CHUNKS, chunks("b00"), key("b00"))
    assert tables.exists(CHUNKS)
    assert ids_of(tables) == []
    tables.replace(CHUNKS, chunks("b00", "1"), key("b00"))
    assert ids_of(tables) == ["1"]


def test_rows_come_back_as_they_were_written(tables: Tables) -> None:
    row = {
        **key("b00"),
        "chunk_id": "1",
        "ordinal": 3,
        "span_start": 2**40,
        "parent_id": None,
        "heading_path": ["A", "Ü 猫", ""],
        "text": 'nothing is lost: \t \r\n \u2028 \U0001f680 "quoted" \\',
        "flags": [],
    }
    rows = pa.Table.from_pylist([row], schema=CORPUS_TABLES["chunks"])
    tables.replace(CHUNKS, rows, key("b00"))
    back = tables.read(CHUNKS, where=key("b00"))
    assert back.equals(rows)
    assert back.schema.equals(rows.schema)


def test_the_order_of_rows_and_columns_given_is_the_order_read(tables: Tables) -> None:
    rows = chunks("b00", *(str(number) for number in range(2_000)))
    tables.replace(CHUNKS, rows.select(rows.column_names[::-1]), key("b00"))
    assert tables.read(CHUNKS, where=key("b00")).equals(rows)


def test_rows_of_another_partition_are_refused_and_change_nothing(tables: Tables) -> None:
    tables.replace(CHUNKS, chunks("b00", "1"), key("b00"))
    with pytest.raises(ChunkAssetsError, match="failed validation"):
        tables.replace(CHUNKS, chunks("b01", "2"), key("b00"))
    assert ids_of(tables) == ["1"]


def test_a_missing_column_is_refused_and_changes_nothing(tables: Tables) -> None:
    tables.replace(CHUNKS, chunks("b00", "1"), key("b00"))
    with pytest.raises(KeyError, match="embed_text"):
        tables.replace(CHUNKS, chunks("b00", "2").drop_columns(["embed_text"]), key("b00"))
    assert ids_of(tables) == ["1"]


def test_an_empty_partition_value_is_refused(tables: Tables) -> None:
    with pytest.raises(ValueError, match="partition is empty"):
        tables.replace(
            "quarantine",
            failures("", "a"),
            {"corpus": "handbook", "stage": "chunks", "partition": ""},
        )


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """Every odd value written twice."""
    tables = Tables(tmp_path_factory.mktemp("odd"))
    for value in ODD_VALUES:
        for uri in ("first", "second"):
            where = {"corpus": "handbook", "stage": "chunks", "partition": value}
            tables.replace("quarantine", failures(value, uri), where)
    return tables


@pytest.mark.parametrize("value", ODD_VALUES)
def test_an_odd_value_is_a_partition_like_any_other(odd: Tables, value: str) -> None:
    rows = odd.read("quarantine", ["partition", "uri"], where={"partition": value})
    assert rows.to_pylist() == [{"partition": value, "uri": "second"}]


def test_no_odd_value_touched_another(odd: Tables) -> None:
    assert sorted(odd.read("quarantine")["partition"].to_pylist()) == sorted(ODD_VALUES)


@pytest.mark.parametrize("folder", ["a b", "it's", "ünï", "100%", "a#b", "a?b", "x{y}"])
def test_the_storage_folder_may_have_any_name(tmp_path: Path, folder: str) -> None:
    tables = Tables(tmp_path / folder)
    tables.replace(CHUNKS, chunks("b00", "1"), key("b00"))
    assert ids_of(Tables(tmp_path / folder)) == ["1"]
    assert (tmp_path / folder / "tables" / "handbook" / "chunks" / "_delta_log").is_dir()


def test_columns_and_filters_are_read_together(tables: Tables) -> None:
    tables.replace(CHUNKS, chunks("b00", "1", "2"), key("b00"))
    tables.replace(CHUNKS, chunks("b01", "2"), key("b01"))
    rows = tables.read(
        CHUNKS, ["bucket"], where={"strategy": "long"}, filter=pc.field("chunk_id") == "2"
    )
    assert rows.column_names == ["bucket"]
    assert sorted(rows["bucket"].to_pylist()) == ["b00", "b01"]


def test_what_was_opened_stays_as_it_was_while_others_write(tables: Tables) -> None:
    tables.replace(CHUNKS, chunks("b00", "1"), key("b00"))
    before = tables.dataset(CHUNKS)
    tables.replace(CHUNKS, chunks("b00", "2"), key("b00"))
    assert before.to_table(columns=["chunk_id"])["chunk_id"].to_pylist() == ["1"]
    assert ids_of(tables) == ["2"]


def test_every_write_is_one_commit_and_history_is_kept(tables: Tables) -> None:
    tables.replace(CHUNKS, chunks("b00", "1"), key("b00"))
    tables.replace(CHUNKS, chunks("b00", "2"), key("b00"))
    assert tables.version(CHUNKS) == 1
    then = DeltaTable(tables.uri(CHUNKS), version=0).to_pyarrow_table()
    assert then["chunk_id"].to_pylist() == ["1"]


def test_a_whole_table_is_overwritten_with_its_columns(tables: Tables) -> None:
    tables.overwrite("handbook/leaderboard", pa.table({"a": [1, 2]}))
    tables.overwrite("handbook/leaderboard", pa.table({"b": ["x"]}))
    assert tables.read("handbook/leaderboard").to_pylist() == [{"b": "x"}]
    tables.overwrite("handbook/leaderboard", pa.table({"b": pa.array([], pa.string())}))
    assert tables.read("handbook/leaderboard").num_rows == 0


def test_appended_rows_are_added(tables: Tables) -> None:
    tables.append("runs", runs("1", "2"))
    tables.append("runs", runs("3", corpus="wiki"))
    tables.append("runs", runs("1"))
    assert sorted(tables.read("runs")["run_id"].to_pylist()) == ["1", "1", "2", "3"]
    assert tables.read("runs", where={"corpus": "wiki"})["run_id"].to_pylist() == ["3"]


def files_of(tables: Tables, table: str) -> int:
    return len(DeltaTable(tables.uri(table)).file_uris())


def test_compaction_merges_files_and_loses_no_row(tables: Tables) -> None:
    for number in range(12):
        tables.append("runs", runs(str(number)))
    before = tables.read("runs").sort_by("run_id")
    tables.compact("runs", more_files_than=20)
    assert files_of(tables, "runs") == 12, "few files are left as they are"
    tables.compact("runs", more_files_than=5)
    assert files_of(tables, "runs") == 1
    assert tables.read("runs").sort_by("run_id").equals(before)
    tables.append("runs", runs("99"))
    assert tables.read("runs").num_rows == 13


def test_a_table_that_does_not_exist_needs_no_compaction(tables: Tables) -> None:
    tables.compact("runs")
    assert not tables.exists("runs")


def test_compaction_and_appends_at_the_same_time_lose_nothing(tables: Tables) -> None:
    tables.append("runs", runs("first"))

    def append(number: int) -> None:
        tables.append("runs", runs(str(number)))

    with ThreadPoolExecutor(3) as threads:
        compactions = [threads.submit(tables.compact, "runs", 1) for _ in range(3)]
        list(threads.map(append, range(12)))
        for compaction in compactions:
            compaction.result()
    assert tables.read("runs").num_rows == 13


def replace_partition(tables: Tables, bucket: str, times: int) -> None:
    for number in range(times):
        tables.replace(CHUNKS, chunks(bucket, f"{bucket} {number}", f"{bucket} x"), key(bucket))


def test_threads_that_write_different_partitions_all_succeed(tables: Tables) -> None:
    # From the very first commit: they race for making the table as well.
    buckets = [f"b{number:02d}" for number in range(6)]
    with ThreadPoolExecutor(len(buckets)) as threads:
        list(threads.map(lambda bucket: replace_partition(tables, bucket, 3), buckets))
    assert ids_of(tables) == sorted(f"{b} {i}" for b in buckets for i in ("2", "x"))


def test_threads_that_replace_one_partition_leave_one_of_their_states(tables: Tables) -> None:
    def replace(number: int) -> None:
        tables.replace(CHUNKS, chunks("b00", f"{number} a", f"{number} b"), key("b00"))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(replace, range(8)))
    first, second = ids_of(tables)
    assert first.split()[0] == second.split()[0]


def write_in_a_process(folder: Path, buckets: Sequence[str]) -> None:
    tables = Tables(folder)
    for bucket in buckets:
        replace_partition(tables, bucket, 2)
        tables.append("runs", runs(bucket))


@pytest.mark.slow
def test_processes_that_write_different_partitions_all_succeed(tmp_path: Path) -> None:
    parts = [[f"b{process}{number}" for number in range(3)] for process in range(3)]
    # Spawned: a forked process would inherit the threads of the Delta library half alive.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(3, mp_context=context) as processes:
        for done in [processes.submit(write_in_a_process, tmp_path, part) for part in parts]:
            done.result()
    buckets = [bucket for part in parts for bucket in part]
    tables = Tables(tmp_path)
    assert ids_of(tables) == sorted(f"{b} {i}" for b in buckets for i in ("1", "x"))
    assert sorted(tables.read("runs")["run_id"].to_pylist()) == buckets


def test_every_table_has_partition_columns_that_come_first() -> None:
    declared = {**CORPUS_TABLES, **SHARED_TABLES}
    assert PARTITIONED_BY.keys() == declared.keys()
    for table, columns in PARTITIONED_BY.items():
        assert declared[table].names[: len(columns)] == list(columns)


@pytest.mark.parametrize("damage", ["missing file", "cut file", "broken log"])
def test_a_damaged_table_is_named_with_its_folder_and_the_remedy(
    tables: Tables, tmp_path: Path, damage: str
) -> None:
    tables.replace(CHUNKS, chunks("b00", "a"), key("b00"))
    assert tables.is_whole(CHUNKS)
    folder = tmp_path / "tables" / CHUNKS
    data = next(folder.rglob("*.parquet"))
    if damage == "missing file":
        data.unlink()
    elif damage == "cut file":
        data.write_bytes(data.read_bytes()[:20])
    else:
        next(folder.glob("_delta_log/*.json")).write_text("no log")
    with pytest.raises(TableDamagedError) as caught:
        tables.read(CHUNKS)
    message = str(caught.value)
    assert str(folder) in message
    assert "delete that folder and run `chunk-assets apply`" in message
    assert "\n" not in message
    if damage != "cut file":
        assert not tables.is_whole(CHUNKS)


@pytest.mark.parametrize("name", ["with blanks", "ümlaut", "100%", "a#b", "a?b", "it's"])
def test_a_table_is_whole_whatever_the_storage_folder_is_called(tmp_path: Path, name: str) -> None:
    tables = Tables(tmp_path / name)
    tables.replace(CHUNKS, chunks("b00", "1", strategy="a|b"), key("b00", "a|b"))
    assert tables.is_whole(CHUNKS)
    assert ids_of(tables) == ["1"]
    next((tmp_path / name).rglob("*.parquet")).unlink()
    assert not tables.is_whole(CHUNKS)


def test_files_in_a_folder_are_read_without_python_code_on_the_threads_of_arrow(
    tables: Tables,
) -> None:
    # Such threads end the process when they outlive the interpreter.
    tables.replace(CHUNKS, chunks("b00", "1"), key("b00"))
    dataset = tables.dataset(CHUNKS)
    assert isinstance(dataset, ds.FileSystemDataset)
    assert isinstance(dataset.filesystem, fs.SubTreeFileSystem)
    assert isinstance(dataset.filesystem.base_fs, fs.LocalFileSystem)


@pytest.mark.slow
def test_a_process_that_ends_right_after_a_read_ends_well(tables: Tables, tmp_path: Path) -> None:
    for number in range(3):
        tables.append("runs", runs(str(number)))
    script = f"from resources.tables import Tables\nTables({str(tmp_path)!r}).read('runs')\n"
    for _ in range(30):
        done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")

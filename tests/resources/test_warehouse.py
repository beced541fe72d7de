import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from chunk_assets.errors import ChunkAssetsError
from chunk_assets.lineage.sql_models import load_models
from resources.schemas import CORPUS_TABLES, SHARED_TABLES
from resources.tables import Tables
from resources.warehouse import SOURCES, Warehouse


def _rows(table: str, *rows: Mapping[str, object]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema={**CORPUS_TABLES, **SHARED_TABLES}[table])


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    """Two buckets of chunks of one corpus, and runs of two."""
    tables = Tables(tmp_path)
    for bucket, count in (("b00", 2), ("b01", 3)):
        key = {"bucket": bucket, "strategy": "fixed"}
        rows = [{**key, "chunk_id": f"{bucket}-{number}"} for number in range(count)]
        tables.replace("handbook/chunks", _rows("chunks", *rows), key)
    moment = datetime(2024, 5, 1, 12, tzinfo=UTC)
    for corpus in ("handbook", "wiki"):
        run = {"corpus": corpus, "stage": "chunks", "run_id": f"{corpus}-run"}
        tables.append("runs", _rows("runs", {**run, "finished_at": moment}))
        tables.replace(
            "quarantine",
            _rows("quarantine", {"corpus": corpus, "stage": "chunks", "partition": "b00|fixed"}),
            {"corpus": corpus, "stage": "chunks", "partition": "b00|fixed"},
        )
    return tables


@pytest.fixture
def warehouse(tables: Tables) -> Warehouse:
    """The shipped models over these tables."""
    return Warehouse(tables)


def _with_models(tables: Tables, folder: Path, files: Mapping[str, str]) -> Warehouse:
    for file, sql in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(f"-- A row is a thing.\n{sql}\n", encoding="utf-8")
    return Warehouse(tables, load_models(folder, SOURCES))


def _values(table: pa.Table) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


def test_source_tables_are_read_as_they_are_stored(warehouse: Warehouse) -> None:
    rows = warehouse.query(
        "handbook", "select bucket, count(*) from lake.chunks group by bucket order by bucket"
    )
    assert _values(rows) == [("b00", 2), ("b01", 3)]


def test_a_filter_reaches_the_stored_table(warehouse: Warehouse) -> None:
    with warehouse.connect("handbook") as connection:
        plan = connection.execute(
            "explain select chunk_id from stg_chunks where bucket = 'b01'"
        ).fetchall()[0][1]
    scan = plan.partition("Arrow Scan")[2]
    assert "\"bucket\" = 'b01'" in scan
    assert "embed_text" not in scan


def test_tables_that_were_never_written_are_empty_with_their_columns(tmp_path: Path) -> None:
    with Warehouse(Tables(tmp_path)).connect("handbook") as connection:
        for table, schema in SOURCES.items():
            rows = connection.sql(f"from lake.{table}").to_arrow_table()
            assert (rows.num_rows, rows.column_names) == (0, schema.names)


def test_every_model_and_every_test_runs_on_an_empty_lake(tmp_path: Path) -> None:
    warehouse = Warehouse(Tables(tmp_path))
    for name, model in warehouse.catalog.items():
        if model.kind == "test":
            assert warehouse.run_test("handbook", name).num_rows == 0
            continue
        rows = warehouse.run_model("handbook", name)
        assert rows.num_rows == 0
        if model.kind == "mart":
            Tables(tmp_path).overwrite(f"handbook/{name}", rows)


@pytest.mark.parametrize("table", ["runs", "quarantine"])
def test_only_the_corpus_of_a_shared_table_is_seen(warehouse: Warehouse, table: str) -> None:
    rows = warehouse.query("wiki", f"from lake.{table}").select(["corpus"])
    assert _values(rows) == [("wiki",)]


def test_a_corpus_name_cannot_break_out_of_its_filter(warehouse: Warehouse) -> None:
    rows = warehouse.query("x' or 'a' = 'a", "select corpus from lake.runs")
    assert rows.num_rows == 0


def test_times_are_in_utc(warehouse: Warehouse) -> None:
    rows = warehouse.query("handbook", "select finished_at from lake.runs")
    assert rows.schema.field("finished_at").type == pa.timestamp("us", tz="UTC")
    assert _values(rows) == [(datetime(2024, 5, 1, 12, tzinfo=UTC),)]


def test_models_lists_the_marts_only(warehouse: Warehouse) -> None:
    assert {model.kind for model in warehouse.models.values()} == {"mart"}
    assert {"leaderboard", "vector_lineage", "strategy_statistics", "coverage"} <= set(
        warehouse.models
    )


def test_the_tests_of_a_mart_are_listed(warehouse: Warehouse) -> None:
    assert [test.name for test in warehouse.tests_of("chunk_flags")] == [
        "chunk_flags__flags_stand_once"
    ]


def test_column_lineage_leads_to_staging_and_stored_lineage_to_tables(
    warehouse: Warehouse,
) -> None:
    assert warehouse.column_lineage("chunk_flags")["flag"] == [("stg_chunks", "flags")]
    assert warehouse.stored_column_lineage("chunk_flags")["flag"] == [("chunks", "flags")]


CHAIN = {
    "staging/stg_chunks.sql": "select chunk_id, bucket from lake.chunks",
    "views/big.sql": "select bucket from stg_chunks group by bucket having count(*) > 2",
    "marts/first.sql": "select bucket, count(*) as chunks from stg_chunks group by bucket",
    "marts/second.sql": "select first.chunks from first inner join big using (bucket)",
    "tests/second__few.sql": "select chunks from second where chunks > 2",
}


def test_a_mart_reads_the_mart_before_it_as_it_is_stored(tables: Tables, tmp_path: Path) -> None:
    warehouse = _with_models(tables, tmp_path / "models", CHAIN)
    stored = pa.table({"bucket": ["b01"], "chunks": [77]})
    tables.overwrite("handbook/first", stored)
    assert _values(warehouse.run_model("handbook", "second")) == [(77,)]


def test_a_mart_whose_upstream_is_not_stored_says_what_to_do(
    tables: Tables, tmp_path: Path
) -> None:
    warehouse = _with_models(tables, tmp_path / "models", CHAIN)
    with pytest.raises(ChunkAssetsError, match="materialize handbook/first first"):
        warehouse.run_model("handbook", "second")


def test_a_test_returns_the_rows_that_must_not_exist(tables: Tables, tmp_path: Path) -> None:
    warehouse = _with_models(tables, tmp_path / "models", CHAIN)
    tables.overwrite("handbook/second", pa.table({"chunks": [1, 3]}))
    assert _values(warehouse.run_test("handbook", "second__few")) == [(3,)]


def test_a_query_sees_stored_marts_and_views(tables: Tables, tmp_path: Path) -> None:
    warehouse = _with_models(tables, tmp_path / "models", CHAIN)
    tables.overwrite("handbook/first", warehouse.run_model("handbook", "first"))
    rows = warehouse.query("handbook", "select chunks from first inner join big using (bucket)")
    assert _values(rows) == [(3,)]


def test_a_query_of_a_mart_that_is_not_stored_says_what_to_do(warehouse: Warehouse) -> None:
    with pytest.raises(ChunkAssetsError, match="materialize handbook/leaderboard first"):
        warehouse.query("handbook", "select gold_set from leaderboard")


def test_an_error_in_a_model_names_its_file_and_line(tables: Tables, tmp_path: Path) -> None:
    sql = "select\n    missing\nfrom stg_chunks"
    warehouse = _with_models(tables, tmp_path / "models", {**CHAIN, "marts/bad.sql": sql})
    with pytest.raises(ChunkAssetsError, match=r"^marts/bad\.sql, line 3: .*missing"):
        warehouse.run_model("handbook", "bad")


def test_an_error_in_a_staging_model_names_that_model(tables: Tables, tmp_path: Path) -> None:
    files = {"staging/stg_bad.sql": "select missing\nfrom lake.chunks"}
    warehouse = _with_models(
        tables, tmp_path / "models", {**files, "marts/sizes.sql": "select missing from stg_bad"}
    )
    with pytest.raises(ChunkAssetsError, match=r"^staging/stg_bad\.sql, line 2: "):
        warehouse.run_model("handbook", "sizes")


def test_an_error_while_rows_are_computed_names_the_line(warehouse: Warehouse) -> None:
    with pytest.raises(ChunkAssetsError, match=r"^The query failed, line 2: Conversion Error"):
        warehouse.query("handbook", "select\n  chunk_id::integer\nfrom lake.chunks")


def test_an_unknown_model_is_refused_with_the_nearest_name(warehouse: Warehouse) -> None:
    with pytest.raises(ChunkAssetsError, match="did you mean 'leaderboard'"):
        warehouse.run_model("handbook", "leaderbord")


def test_a_test_is_not_run_as_a_model_nor_a_model_as_a_test(warehouse: Warehouse) -> None:
    with pytest.raises(ChunkAssetsError, match="run it with run_test"):
        warehouse.run_model("handbook", "chunk_flags__flags_stand_once")
    with pytest.raises(ChunkAssetsError, match="run it with run_model"):
        warehouse.run_test("handbook", "chunk_flags")


@pytest.mark.parametrize(
    "sql",
    [
        "create table a as select 1 as b",
        "drop view stg_chunks",
        "select 1; select 2",
        "attach 'other.db'",
        "set threads = 64",
        "",
    ],
)
def test_a_query_is_one_select(warehouse: Warehouse, sql: str) -> None:
    with pytest.raises(ChunkAssetsError, match="exactly one select"):
        warehouse.query("handbook", sql)


def test_a_query_cannot_read_files(warehouse: Warehouse, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret", encoding="utf-8")
    with pytest.raises(ChunkAssetsError, match="file system operations are disabled"):
        warehouse.query("handbook", f"from read_text('{secret}')")


def test_a_name_in_a_query_is_never_a_python_variable(warehouse: Warehouse) -> None:
    python_rows = pa.table({"a": [1]})
    assert python_rows.num_rows == 1
    with pytest.raises(ChunkAssetsError, match="python_rows"):
        warehouse.query("handbook", "select a from python_rows")


def test_work_that_exceeds_its_memory_goes_to_files_that_are_removed(
    tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    warehouse = Warehouse(tables, threads=1, memory_limit="40MB")
    with warehouse.connect("handbook") as connection:
        [(count,)] = connection.execute(
            "select count(*) from ("
            "select row_number() over (order by md5(number::varchar)) as place"
            " from range(400000) as numbers(number)) where place % 2 = 0"
        ).fetchall()
        assert count == 200_000
        assert list(scratch.iterdir()) != []
    assert list(scratch.iterdir()) == []


def test_columns_of_one_name_are_refused_instead_of_lost(warehouse: Warehouse) -> None:
    with pytest.raises(ChunkAssetsError, match="lost: a"):
        warehouse.query("handbook", "select 1 as a, 2 as a")


def test_an_error_quotes_the_statement_as_it_was_written(warehouse: Warehouse) -> None:
    with pytest.raises(ChunkAssetsError) as caught:
        warehouse.query("handbook", "select nothing_there")
    assert "LINE 1: select nothing_there" in str(caught.value)

import os
from pathlib import Path

import pytest

from chunk_assets.lineage.sql_columns import column_lineage, stored_column_lineage
from chunk_assets.lineage.sql_models import SqlModelError, load_models, shipped_models_folder
from resources.warehouse import SOURCES

SCHEMAS = {"chunks": ["chunk_id", "span_start", "span_end", "flags"], "runs": ["run_id"]}
SHIPPED = load_models(shipped_models_folder(), SOURCES)
SHIPPED_SCHEMAS = {name: schema.names for name, schema in SOURCES.items()}
SNAPSHOT = Path(__file__).parent / "sql_column_lineage.txt"


def _lineage(folder: Path, sql: str) -> dict[str, list[tuple[str, str]]]:
    """The lineage of a mart over a staging model of all columns of `chunks`."""
    for file, text in {
        "staging/stg_chunks.sql": "select chunk_id, span_start, span_end, flags from lake.chunks",
        "marts/sizes.sql": sql,
    }.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(f"-- A row is a thing.\n{text}\n", encoding="utf-8")
    return column_lineage("sizes", load_models(folder, SCHEMAS), SCHEMAS)


@pytest.mark.parametrize(
    ("sql", "origins"),
    [
        ("select chunk_id as a from stg_chunks", ["chunk_id"]),
        ("select c.span_end - c.span_start as a from stg_chunks as c", ["span_end", "span_start"]),
        ("select count(*) as a from stg_chunks", []),
        ("select 'text' as a from stg_chunks", []),
        ("select max(span_end) as a from stg_chunks where span_start > 0", ["span_end"]),
        (
            "select max(span_end) over (partition by chunk_id order by span_start) as a"
            " from stg_chunks",
            ["chunk_id", "span_end", "span_start"],
        ),
        (
            "with lists as (select unnest(flags) as flag from stg_chunks)"
            " select flag as a from lists",
            ["flags"],
        ),
        (
            "select span_start as a from stg_chunks union all select span_end from stg_chunks",
            ["span_end", "span_start"],
        ),
        ("select (select max(span_end) from stg_chunks) as a", ["span_end"]),
    ],
)
def test_a_column_comes_from_the_columns_it_is_computed_from(
    tmp_path: Path, sql: str, origins: list[str]
) -> None:
    assert _lineage(tmp_path, sql) == {"a": [("stg_chunks", column) for column in origins]}


def test_columns_keep_the_order_of_the_select(tmp_path: Path) -> None:
    lineage = _lineage(tmp_path, "select span_end, flags, chunk_id from stg_chunks")
    assert list(lineage) == ["span_end", "flags", "chunk_id"]


def test_a_column_that_upstream_lacks_is_refused_with_the_file(tmp_path: Path) -> None:
    with pytest.raises(SqlModelError, match=r"^marts/sizes\.sql: .*span_middle"):
        _lineage(tmp_path, "select span_middle as a from stg_chunks")


def test_stored_lineage_looks_through_staging_models_but_not_through_marts(
    tmp_path: Path,
) -> None:
    files = {
        "staging/stg_chunks.sql": "select span_end - span_start as size from lake.chunks",
        "marts/sizes.sql": "select size from stg_chunks",
        "marts/totals.sql": "select sizes.size + stg_chunks.size as total"
        " from sizes cross join stg_chunks",
    }
    for file, text in files.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(f"-- A row is a thing.\n{text}\n", encoding="utf-8")
    lineage = stored_column_lineage("totals", load_models(tmp_path, SCHEMAS), SCHEMAS)
    assert lineage == {
        "total": [("chunks", "span_end"), ("chunks", "span_start"), ("sizes", "size")]
    }


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_model_has_its_lineage(name: str) -> None:
    lineage = column_lineage(name, SHIPPED, SHIPPED_SCHEMAS)
    known = {*SHIPPED, *SOURCES}
    assert any(lineage.values())
    assert {origin for origins in lineage.values() for origin, _ in origins} <= known


def test_the_lineage_of_the_stored_models_is_as_reviewed() -> None:
    """Rewrite the snapshot with UPDATE_SNAPSHOTS=1 in the environment, and review the diff."""
    lines = [
        f"{model}.{column} <- "
        + (", ".join(f"{origin}.{source}" for origin, source in origins) or "(rows)")
        for model, sql_model in SHIPPED.items()
        if sql_model.kind in ("mart", "view")
        for column, origins in stored_column_lineage(model, SHIPPED, SHIPPED_SCHEMAS).items()
    ]
    text = "\n".join(lines) + "\n"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert text == SNAPSHOT.read_text(encoding="utf-8")


def test_no_model_reads_the_bytes_of_documents_or_the_components_of_vectors() -> None:
    read = {
        origin
        for name, model in SHIPPED.items()
        if model.kind == "staging"
        for origins in column_lineage(name, SHIPPED, SHIPPED_SCHEMAS).values()
        for origin in origins
    }
    assert read.isdisjoint({("raw_documents", "content"), ("vectors", "vector")})

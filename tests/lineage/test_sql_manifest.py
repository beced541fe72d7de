"""The manifest of the SQL models: what it says is what reading them would say."""

import json
from pathlib import Path

import pytest

from chunk_assets.lineage.sql_manifest import FILE_NAME, read_manifest, write_manifest
from chunk_assets.lineage.sql_models import load_models, shipped_models_folder
from chunk_assets.reference import sql_manifest
from resources.schemas import CORPUS_TABLES, SHARED_TABLES

SOURCES = ("chunks", "documents")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of models with its manifest."""
    models = {
        "staging/stg_chunks.sql": "-- A row is one chunk.\nselect a from lake.chunks\n",
        "marts/sizes.sql": "-- A row is one size.\nselect a from stg_chunks\n",
    }
    for file, sql in models.items():
        path = tmp_path / file
        path.parent.mkdir()
        path.write_text(sql, encoding="utf-8")
    manifest = write_manifest(tmp_path, SOURCES, load_models(tmp_path, SOURCES))
    (tmp_path / FILE_NAME).write_text(manifest, encoding="utf-8")
    return tmp_path


def test_the_shipped_manifest_is_up_to_date() -> None:
    shipped = (shipped_models_folder() / FILE_NAME).read_text(encoding="utf-8")
    assert shipped == sql_manifest(), "run: python -m chunk_assets.reference"


def test_the_shipped_manifest_says_what_reading_the_models_says() -> None:
    sources = {**CORPUS_TABLES, **SHARED_TABLES}
    read = read_manifest(shipped_models_folder(), sources)

    assert read is not None
    expected = load_models(shipped_models_folder(), sources)
    assert list(read.items()) == list(expected.items())


def test_a_manifest_is_read_in_place_of_the_models(folder: Path) -> None:
    assert read_manifest(folder, SOURCES) == load_models(folder, SOURCES)


@pytest.mark.parametrize(
    ("file", "sql"),
    [
        ("marts/sizes.sql", "-- A row is one size.\nselect b from stg_chunks\n"),
        ("marts/sizes.sql", "-- Described anew.\nselect a from stg_chunks\n"),
        ("marts/added.sql", "-- A row is one.\nselect a from stg_chunks\n"),
    ],
)
def test_a_manifest_of_other_models_is_not_believed(folder: Path, file: str, sql: str) -> None:
    (folder / file).write_text(sql, encoding="utf-8")
    assert read_manifest(folder, SOURCES) is None


def test_a_manifest_without_a_model_that_went_is_not_believed(folder: Path) -> None:
    (folder / "marts" / "sizes.sql").unlink()
    assert read_manifest(folder, SOURCES) is None


def test_a_manifest_for_other_source_tables_is_not_believed(folder: Path) -> None:
    assert read_manifest(folder, ("chunks",)) is None


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"made_from": 1}'])
def test_a_damaged_manifest_is_not_believed(folder: Path, damage: str) -> None:
    (folder / FILE_NAME).write_text(damage, encoding="utf-8")
    assert read_manifest(folder, SOURCES) is None


def test_a_manifest_that_lacks_an_entry_is_not_believed(folder: Path) -> None:
    manifest = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
    del manifest["models"]["marts/sizes.sql"]["reads"]
    (folder / FILE_NAME).write_text(json.dumps(manifest), encoding="utf-8")
    assert read_manifest(folder, SOURCES) is None


def test_a_folder_without_a_manifest_has_none(tmp_path: Path) -> None:
    assert read_manifest(tmp_path, SOURCES) is None

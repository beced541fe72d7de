from pathlib import Path

import pytest

from chunk_assets.lineage.sql_models import SqlModel, SqlModelError, load_models, mart_tests

SOURCES = ("chunks", "documents", "runs")


class Folder:
    """A folder of models that a test writes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, file: str, sql: str, description: str = "A row is one thing.") -> None:
        target = self.path / file
        target.parent.mkdir(exist_ok=True)
        target.write_text(f"-- {description}\n{sql}\n", encoding="utf-8")

    def load(self) -> dict[str, SqlModel]:
        return load_models(self.path, SOURCES)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_a_model_is_named_after_its_file_and_described_by_its_first_line(folder: Folder) -> None:
    folder.add("staging/stg_chunks.sql", "select a from lake.chunks", "A row is one chunk.")
    [model] = folder.load().values()
    assert (model.name, model.kind, model.file) == (
        "stg_chunks",
        "staging",
        "staging/stg_chunks.sql",
    )
    assert model.description == "A row is one chunk."


def test_dependencies_are_what_the_sql_reads(folder: Folder) -> None:
    folder.add("staging/stg_chunks.sql", "select a from lake.chunks")
    folder.add("staging/stg_documents.sql", "select a from lake.documents")
    folder.add(
        "marts/sizes.sql",
        "select a from stg_documents where a in (select a from stg_chunks)",
    )
    model = folder.load()["sizes"]
    assert model.depends_on == ("stg_chunks", "stg_documents")
    assert model.reads == ("chunks", "documents")


@pytest.mark.parametrize(
    "sql",
    [
        "with chunks as (select a from stg_chunks) select a from chunks",
        "with stg_chunks as (select a from stg_chunks) select a from stg_chunks",
        "select a from (select a from stg_chunks) as documents",
        "select a from stg_chunks, range(3) as numbers(n), unnest([1, 2]) as lists(item)",
        "select a from stg_chunks as runs union all select a from stg_chunks",
        "with recursive steps as (select a from stg_chunks union all select a from steps)"
        " select a from steps",
    ],
)
def test_names_that_a_query_gives_itself_are_no_dependencies(folder: Folder, sql: str) -> None:
    folder.add("staging/stg_chunks.sql", "select a from lake.chunks")
    folder.add("marts/sizes.sql", sql)
    assert folder.load()["sizes"].depends_on == ("stg_chunks",)


def test_a_mart_on_a_mart_does_not_read_the_sources_behind_it(folder: Folder) -> None:
    folder.add("staging/stg_chunks.sql", "select a from lake.chunks")
    folder.add("marts/first.sql", "select a from stg_chunks")
    folder.add("marts/second.sql", "select a from first")
    model = folder.load()["second"]
    assert (model.depends_on, model.reads) == (("first",), ())


def test_models_come_after_those_they_depend_on(folder: Folder) -> None:
    folder.add("marts/a_last.sql", "select a from b_middle")
    folder.add("marts/b_middle.sql", "select a from z_first")
    folder.add("marts/z_first.sql", "select a from stg_chunks")
    folder.add("staging/stg_chunks.sql", "select a from lake.chunks")
    folder.add("tests/a_last__holds.sql", "select a from a_last")
    assert list(folder.load()) == ["stg_chunks", "z_first", "b_middle", "a_last", "a_last__holds"]


def test_the_tests_of_a_mart_are_found_by_name(folder: Folder) -> None:
    folder.add("marts/sizes.sql", "select 1 as a")
    folder.add("marts/others.sql", "select 1 as a")
    folder.add("tests/sizes__positive.sql", "select a from sizes")
    folder.add("tests/sizes__finite.sql", "select a from sizes")
    folder.add("tests/others__positive.sql", "select a from others")
    names = [test.name for test in mart_tests("sizes", folder.load())]
    assert names == ["sizes__finite", "sizes__positive"]


def test_comments_and_layout_do_not_change_the_fingerprint(folder: Folder) -> None:
    folder.add("marts/sizes.sql", "select 1 as a")
    before = folder.load()["sizes"].fingerprint
    folder.add("marts/sizes.sql", "select\n    1 as a -- a reason", "A row is described anew.")
    assert folder.load()["sizes"].fingerprint == before
    folder.add("marts/sizes.sql", "select 2 as a")
    assert folder.load()["sizes"].fingerprint != before


def test_a_changed_staging_model_changes_the_fingerprint_of_its_readers(folder: Folder) -> None:
    folder.add("staging/stg_chunks.sql", "select a from lake.chunks")
    folder.add("views/recent.sql", "select a from stg_chunks")
    folder.add("marts/sizes.sql", "select a from recent")
    folder.add("marts/totals.sql", "select a from sizes")
    before = {name: model.fingerprint for name, model in folder.load().items()}
    folder.add("staging/stg_chunks.sql", "select a from lake.chunks where a > 1")
    after = {name: model.fingerprint for name, model in folder.load().items()}
    changed = {name for name in before if before[name] != after[name]}
    # What `totals` reads are the stored rows of `sizes`, whose own version says what they are.
    assert changed == {"stg_chunks", "recent", "sizes"}


def _error(folder: Folder) -> str:
    with pytest.raises(SqlModelError) as raised:
        folder.load()
    return str(raised.value)


def test_an_unknown_model_is_refused_with_the_nearest_name(folder: Folder) -> None:
    folder.add("staging/stg_chunks.sql", "select a from lake.chunks")
    folder.add("marts/sizes.sql", "select a from stg_chunk")
    message = _error(folder)
    assert message.startswith("marts/sizes.sql: there is no model 'stg_chunk'")
    assert "did you mean 'stg_chunks'?" in message


def test_an_unknown_source_table_is_refused_with_the_nearest_name(folder: Folder) -> None:
    folder.add("staging/stg_chunks.sql", "select a from lake.chunk")
    message = _error(folder)
    assert message.startswith("staging/stg_chunks.sql: there is no source table lake.chunk;")
    assert "did you mean 'chunks'?" in message


def test_a_source_table_named_without_its_schema_is_pointed_out(folder: Folder) -> None:
    folder.add("staging/stg_chunks.sql", "select a from chunks")
    assert "did you mean lake.chunks?" in _error(folder)


def test_another_schema_is_refused(folder: Folder) -> None:
    folder.add("staging/stg_chunks.sql", "select a from warehouse.chunks")
    assert "warehouse.chunks is neither a model nor a source table" in _error(folder)


def test_models_in_a_circle_are_refused_by_name(folder: Folder) -> None:
    folder.add("marts/hen.sql", "select a from egg")
    folder.add("marts/egg.sql", "select a from hen")
    message = _error(folder)
    assert "marts/hen.sql" in message
    assert "marts/egg.sql" in message
    assert "in a circle" in message


def test_a_model_that_reads_itself_is_refused(folder: Folder) -> None:
    folder.add("marts/hen.sql", "select a from hen")
    assert "in a circle: marts/hen.sql → marts/hen.sql" in _error(folder)


def test_a_view_on_a_mart_is_refused(folder: Folder) -> None:
    folder.add("marts/sizes.sql", "select 1 as a")
    folder.add("views/recent.sql", "select a from sizes")
    assert _error(folder) == (
        "views/recent.sql: a view model cannot read marts/sizes.sql; "
        "it may read staging, view models."
    )


def test_nothing_may_depend_on_a_test(folder: Folder) -> None:
    folder.add("marts/sizes.sql", "select a from sizes__hold")
    folder.add("tests/sizes__hold.sql", "select 1 as a")
    assert "a mart model cannot read tests/sizes__hold.sql" in _error(folder)


def test_a_test_of_an_unknown_mart_is_refused_with_the_nearest_name(folder: Folder) -> None:
    folder.add("marts/sizes.sql", "select 1 as a")
    folder.add("tests/size__hold.sql", "select a from sizes")
    message = _error(folder)
    assert message.startswith("tests/size__hold.sql: a test is named <mart>__<what must hold>")
    assert "did you mean 'sizes'?" in message


def test_a_file_without_a_description_is_refused(folder: Folder) -> None:
    folder.add("marts/sizes.sql", "select 1 as a")
    (folder.path / "marts/sizes.sql").write_text("select 1 as a\n", encoding="utf-8")
    assert _error(folder) == (
        "marts/sizes.sql: the first line must be a comment that says what a row is."
    )


def test_two_models_of_one_name_are_refused(folder: Folder) -> None:
    folder.add("staging/sizes.sql", "select 1 as a")
    folder.add("marts/sizes.sql", "select 1 as a")
    assert _error(folder) == (
        "marts/sizes.sql: staging/sizes.sql has the same name; rename one of them."
    )


def test_a_model_named_like_a_source_table_is_refused(folder: Folder) -> None:
    folder.add("marts/chunks.sql", "select 1 as a")
    assert "'chunks' is the name of a source table" in _error(folder)


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("select 1 as a; select 2 as a", "found: select, select"),
        ("drop table chunks", "found: drop"),
        ("create table a as select 1 as b", "found: create"),
        ("", "found: nothing"),
    ],
)
def test_a_file_that_is_not_one_select_is_refused(folder: Folder, sql: str, found: str) -> None:
    folder.add("marts/sizes.sql", sql)
    message = _error(folder)
    assert message.startswith("marts/sizes.sql: a model is one select;")
    assert found in message


def test_sql_that_cannot_be_parsed_is_refused_with_its_place(folder: Folder) -> None:
    folder.add("marts/sizes.sql", "select (1 as a\nfrom b")
    message = _error(folder)
    assert message.startswith("marts/sizes.sql: this is not valid SQL:")
    assert "line 3, column 4: Expecting )" in message


def test_an_empty_folder_holds_no_models(folder: Folder) -> None:
    assert folder.load() == {}

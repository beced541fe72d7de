"""DuckDB in memory over the tables of a corpus, and the SQL models that run in it."""

import re
import tempfile
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from chunk_assets.errors import ChunkAssetsError
from chunk_assets.lineage.sql_manifest import read_manifest
from chunk_assets.lineage.sql_models import (
    SOURCE_SCHEMA,
    SqlModel,
    load_models,
    mart_tests,
    shipped_models_folder,
)
from chunk_assets.validation import nearest
from partitions.stages import STAGES, Axes, column_values, partitions_of
from resources.schemas import CORPUS_TABLES, PARTITIONED_BY, SHARED_TABLES

if TYPE_CHECKING:
    import duckdb

    from chunk_assets.lineage.sql_columns import ColumnLineage
    from resources.tables import Tables

SOURCES = {**CORPUS_TABLES, **SHARED_TABLES}
"""What the models read as `lake.<name>`."""

# `_rows` puts a word in front of the statement that its author never wrote.
_EXPLAINED = re.compile(r"^LINE 1: explain (.*)\n {8}", re.MULTILINE)
_LINE = re.compile(r"^LINE (\d+):", re.MULTILINE)


@cache
def _shipped_lineage(model: str) -> "ColumnLineage":
    from chunk_assets.lineage.sql_columns import stored_column_lineage

    return stored_column_lineage(model, _shipped_models(), _columns_of_sources())


class Warehouse:
    """Runs SQL models and queries over one corpus at a time.

    Nothing is kept between calls: each opens the tables as they are then, and reads only the rows
    and columns that it needs.
    """

    def __init__(
        self,
        tables: "Tables",
        catalog: Mapping[str, SqlModel] | None = None,
        *,
        axes_of: Callable[[str], Axes | None] = lambda corpus: None,
        threads: int = 2,
        memory_limit: str = "2GB",
    ) -> None:
        """Take the tables to read.

        Args:
            tables: where the source tables and the stored marts lie.
            catalog: the models; those that come with the platform if None.
            axes_of: what a corpus is partitioned by now: rows of other partitions, which a removed
                strategy or a larger number of buckets left behind, are not seen.
            threads: how many threads one query may use.
            memory_limit: what one query may hold in memory; more goes to temporary files.
        """
        self._tables = tables
        self._catalog = catalog
        self._axes_of = axes_of
        self._threads = threads
        self._memory_limit = memory_limit

    @property
    def catalog(self) -> Mapping[str, SqlModel]:
        """Every model by name, each after those it depends on."""
        return _shipped_models() if self._catalog is None else self._catalog

    @cached_property
    def models(self) -> dict[str, SqlModel]:
        """The marts, each after those it depends on: the models that are stored."""
        return {name: model for name, model in self.catalog.items() if model.kind == "mart"}

    def tests_of(self, mart: str) -> list[SqlModel]:
        """The tests of a mart, by name."""
        return mart_tests(mart, self.catalog)

    def column_lineage(self, model: str) -> "ColumnLineage":
        """What each column of a model is computed from, one model up.

        Raises:
            ChunkAssetsError: if there is no such model.
        """
        from chunk_assets.lineage.sql_columns import column_lineage

        return column_lineage(self._model(model).name, self.catalog, _columns_of_sources())

    def stored_column_lineage(self, model: str) -> "ColumnLineage":
        """What each column of a model is computed from, among source tables and marts.

        Raises:
            ChunkAssetsError: if there is no such model.
        """
        from chunk_assets.lineage.sql_columns import stored_column_lineage

        name = self._model(model).name
        if self._catalog is None:
            return _shipped_lineage(name)
        return stored_column_lineage(name, self.catalog, _columns_of_sources())

    def connect(self, corpus: str) -> "duckdb.DuckDBPyConnection":
        """A database with the corpus's tables, the staging models and views, and stored marts.

        The tables are in schema `lake`; of `runs` and `quarantine` only the corpus's rows are seen.
        The database cannot reach files, network or extensions. Close it when done.
        """
        marts = [mart for mart in self.models if self._tables.exists(f"{corpus}/{mart}")]
        return self._connect(corpus, SOURCES, [*self._computed(self.catalog), *marts])

    def run_model(self, corpus: str, model: str) -> pa.Table:
        """The rows of a model: marts it depends on are read as they are stored.

        Raises:
            ChunkAssetsError: if there is no such model, a mart it depends on is not stored, or the
                SQL fails (naming file and line).
        """
        chosen = self._model(model)
        if chosen.kind == "test":
            raise ChunkAssetsError(f"{model!r} is a test; run it with run_test.")
        return self._run(corpus, chosen)

    def run_test(self, corpus: str, test: str) -> pa.Table:
        """The rows that must not exist: a test passes when there are none.

        Raises:
            ChunkAssetsError: as for `run_model`.
        """
        chosen = self._model(test)
        if chosen.kind != "test":
            raise ChunkAssetsError(f"{test!r} is a {chosen.kind} model; run it with run_model.")
        return self._run(corpus, chosen)

    def query(self, corpus: str, sql: str) -> pa.Table:
        """The rows of one select over everything that `connect` offers.

        Raises:
            ChunkAssetsError: if it is not exactly one select, or fails (naming the line).
        """
        import duckdb

        with self.connect(corpus) as connection, _told("The query failed"):
            statements = connection.extract_statements(sql)
            if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
                raise ChunkAssetsError(
                    "A query is exactly one select statement; it cannot change anything."
                )
            self._check_marts(corpus, connection.get_table_names(sql))
            rows = _rows(connection, sql)
        if len(set(rows.column_names)) < len(rows.column_names):
            twice = sorted({n for n in rows.column_names if rows.column_names.count(n) > 1})
            raise ChunkAssetsError(
                f"Columns of one name would be lost: {', '.join(twice)}. Give each a name of its "
                "own with `as`."
            )
        return rows

    def _run(self, corpus: str, model: SqlModel) -> pa.Table:
        upstream = self._upstream(model)
        with self._connect(corpus, model.reads, upstream) as connection, _told(model.file):
            return _rows(connection, model.sql)

    def _model(self, name: str) -> SqlModel:
        if name not in self.catalog:
            raise ChunkAssetsError(f"There is no SQL model {name!r}; {nearest(name, self.catalog)}")
        return self.catalog[name]

    def _check_marts(self, corpus: str, names: Collection[str]) -> None:
        for name in names:
            if name in self.models and not self._tables.exists(f"{corpus}/{name}"):
                raise ChunkAssetsError(
                    f"{self.models[name].file} is not stored for corpus {corpus!r}; materialize "
                    f"{corpus}/{name} first."
                )

    def _computed(self, names: Collection[str]) -> list[str]:
        """The models among them that are computed when they are read."""
        return [name for name in names if self.catalog[name].kind in ("staging", "view")]

    def _upstream(self, model: SqlModel) -> list[str]:
        """What must exist for a model to run, each after what it depends on."""
        needed: set[str] = set()
        waiting = list(model.depends_on)
        while waiting:
            name = waiting.pop()
            if name not in needed:
                needed.add(name)
                if self.catalog[name].kind != "mart":
                    waiting.extend(self.catalog[name].depends_on)
        return [name for name in self.catalog if name in needed]

    def _connect(
        self, corpus: str, sources: Collection[str], models: Collection[str]
    ) -> "duckdb.DuckDBPyConnection":
        import duckdb

        connection = duckdb.connect(
            config={
                "threads": self._threads,
                "memory_limit": self._memory_limit,
                # Otherwise a folder `.tmp` where the program was started. DuckDB removes it.
                "temp_directory": str(Path(tempfile.gettempdir()) / f"duckdb_{uuid.uuid4().hex}"),
                # A name in SQL must never mean a Python variable.
                "python_enable_replacements": False,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
        )
        try:
            # Times come back in the session's zone, which must not be that of the machine.
            connection.execute("set TimeZone = 'UTC'")
            connection.execute(f"create schema {SOURCE_SCHEMA}")
            for source in sources:
                self._show_source(connection, corpus, source)
            for name in models:
                self._show_model(connection, corpus, self.catalog[name])
            connection.execute("set enable_external_access = false")
            connection.execute("set lock_configuration = true")
        except BaseException:
            connection.close()
            raise
        return connection

    def _show_source(
        self, connection: "duckdb.DuckDBPyConnection", corpus: str, source: str
    ) -> None:
        is_shared = source in SHARED_TABLES
        table = source if is_shared else f"{corpus}/{source}"
        connection.register(f"arrow_{source}", self._tables.dataset(table))
        columns = ", ".join(f'"{name}"' for name in SOURCES[source].names)
        select = f"select {columns} from arrow_{source}"  # noqa: S608 - names of declared columns
        conditions = self._conditions(corpus, source)
        if conditions:
            select += f" where {' and '.join(conditions)}"
        connection.execute(f"create view {SOURCE_SCHEMA}.{source} as {select}")

    def _conditions(self, corpus: str, source: str) -> list[str]:
        """Which rows of a source table are the corpus's, and of a partition that there is."""
        conditions = []
        if "corpus" in SOURCES[source].names:
            conditions.append(f"corpus = {_quoted(corpus)}")
        axes = self._axes_of(corpus)
        if axes is None:
            return conditions
        if source == "quarantine":
            works = [str(work) for stage in STAGES for work in partitions_of(axes, stage)]
            return [*conditions, _is_one_of("stage || '/' || partition", works)]
        values = column_values(axes)
        columns = [column for column in PARTITIONED_BY[source] if column in values]
        return [*conditions, *(_is_one_of(column, values[column]) for column in columns)]

    def _show_model(
        self, connection: "duckdb.DuckDBPyConnection", corpus: str, model: SqlModel
    ) -> None:
        if model.kind == "mart":
            self._check_marts(corpus, [model.name])
            connection.register(model.name, self._tables.dataset(f"{corpus}/{model.name}"))
            return
        with _told(model.file):
            connection.execute(f"create view {model.name} as {model.sql}")


@cache
def _shipped_models() -> dict[str, SqlModel]:
    folder = shipped_models_folder()
    return read_manifest(folder, SOURCES) or load_models(folder, SOURCES)


def _rows(connection: "duckdb.DuckDBPyConnection", sql: str) -> pa.Table:
    # `sql` loses the line of what it cannot resolve; `execute`, which keeps it, copies its rows.
    connection.execute(f"explain {sql}")
    return connection.sql(sql).to_arrow_table()


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _is_one_of(expression: str, values: Sequence[str]) -> str:
    return f"{expression} in ({', '.join(map(_quoted, values))})" if values else "false"


def _columns_of_sources() -> dict[str, list[str]]:
    return {name: list(schema.names) for name, schema in SOURCES.items()}


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Turn DuckDB's errors into ours."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        line = _LINE.search(str(error))
        where = f"{what}, line {line[1]}" if line else what
        said = _EXPLAINED.sub(r"LINE 1: \1\n", str(error))
        raise ChunkAssetsError(f"{where}: {said}") from error

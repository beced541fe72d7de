"""Column lineage of SQL models: which columns a column is computed from."""

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.lineage import Node, lineage
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import build_scope
from sqlglot.schema import MappingSchema

from chunk_assets.lineage.sql_models import (
    DIALECT,
    SOURCE_SCHEMA,
    SqlModel,
    SqlModelError,
    outer_tables,
    parse_model,
)

ColumnLineage = dict[str, list[tuple[str, str]]]
"""Column of a model → what it is computed from: (model or source table, column), sorted."""

# DuckDB's default schema, which the models live in: sqlglot wants all tables named at one depth.
_MODEL_SCHEMA = "main"


def column_lineage(
    model: str, models: Mapping[str, SqlModel], source_schemas: Mapping[str, Sequence[str]]
) -> ColumnLineage:
    """Where each column of a model comes from, one model up.

    What only decides which rows there are (joins, `where`, `group by`, `count(*)`) is nothing that
    a column is computed from.

    Args:
        model: the model's name.
        models: the model and everything it depends on.
        source_schemas: the column names of each source table.

    Returns:
        Every output column, in order; the list is empty for a column computed from no column.

    Raises:
        SqlModelError: if a model names a column that its upstream does not have.
    """
    return _Columns(models, source_schemas).lineage(model)


def stored_column_lineage(
    model: str, models: Mapping[str, SqlModel], source_schemas: Mapping[str, Sequence[str]]
) -> ColumnLineage:
    """Where each column of a model comes from among what is stored: source tables and marts.

    As `column_lineage`, but staging models and views are looked through.
    """
    columns = _Columns(models, source_schemas)
    seen: dict[str, ColumnLineage] = {}

    def stored(name: str) -> ColumnLineage:
        if name not in seen:
            seen[name] = {
                column: sorted({end for origin in origins for end in ends(*origin)})
                for column, origins in columns.lineage(name).items()
            }
        return seen[name]

    def ends(name: str, column: str) -> list[tuple[str, str]]:
        if name not in models or models[name].kind == "mart":
            return [(name, column)]
        return stored(name)[column]

    return stored(model)


class _Columns:
    """Resolves the columns of models, each once."""

    def __init__(
        self, models: Mapping[str, SqlModel], source_schemas: Mapping[str, Sequence[str]]
    ) -> None:
        self._models = models
        self._known = {name: list(columns) for name, columns in source_schemas.items()}

    def lineage(self, name: str) -> ColumnLineage:
        query = self._qualified(self._models[name])
        origins = lineage(
            None, query, schema={}, dialect=DIALECT, scope=build_scope(query), trim_selects=False
        )
        return {column: sorted(set(_leaves(node))) for column, node in origins.items()}

    def _qualified(self, model: SqlModel) -> exp.Query:
        """The query with every column naming its table, and every table its schema."""
        query = parse_model(model.file, model.sql)
        schema = MappingSchema(dialect=DIALECT)
        for table in outer_tables(query):
            if not table.db:
                table.set("db", exp.to_identifier(_MODEL_SCHEMA))
            # Only names are resolved, so the types do not matter.
            schema.add_table(
                exp.table_(table.name, db=table.db),
                dict.fromkeys(self._columns_of(table.name), "unknown"),
            )
        try:
            qualified = qualify(query, dialect=DIALECT, schema=schema)
        except SqlglotError as error:
            raise SqlModelError(f"{model.file}: {error}") from error
        assert isinstance(qualified, exp.Query)  # noqa: S101 - qualify returns what it was given
        return qualified

    def _columns_of(self, name: str) -> list[str]:
        if name not in self._known:
            self._known[name] = self._qualified(self._models[name]).named_selects
        return self._known[name]


def _leaves(node: Node) -> Iterator[tuple[str, str]]:
    for step in node.walk():
        table = step.expression
        if isinstance(table, exp.Table) and table.db in (SOURCE_SCHEMA, _MODEL_SCHEMA):
            # A leaf is named `alias."column"`.
            yield table.name, exp.to_column(step.name, dialect=DIALECT).name

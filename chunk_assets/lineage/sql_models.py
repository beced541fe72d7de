"""SQL models: what they are, what they read, and in which order they can run.

A folder of models has `staging/` and `views/` (computed when they are read), `marts/` (stored as
tables) and `tests/` (selects of rows that must not exist). A model names other models by their bare
name and source tables as `lake.<table>`; that is all that declares a dependency.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Literal, NamedTuple

from chunk_assets.errors import ChunkAssetsError
from chunk_assets.lineage.identity import Fingerprint, fingerprint
from chunk_assets.validation import nearest

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

Kind = Literal["staging", "view", "mart", "test"]

DIALECT = "duckdb"
SOURCE_SCHEMA = "lake"
"""The schema that the source tables are read from."""

_FOLDERS: dict[str, Kind] = {
    "staging": "staging",
    "views": "view",
    "marts": "mart",
    "tests": "test",
}

_MAY_READ: dict[Kind, tuple[Kind, ...]] = {
    "staging": ("staging",),
    # A view is always current; over a stored mart it would only seem to be.
    "view": ("staging", "view"),
    "mart": ("staging", "view", "mart"),
    "test": ("staging", "view", "mart"),
}


class SqlModelError(ChunkAssetsError):
    """A SQL model cannot be read, names something that does not exist, or depends on itself."""


@dataclass(frozen=True, slots=True)
class SqlModel:
    """One file with one select."""

    name: str
    kind: Kind
    file: str
    """Inside the folder of models, for messages: `marts/leaderboard.sql`."""
    sql: str
    description: str
    """The file's first line, a comment: what a row is, or for a test what must hold."""
    depends_on: tuple[str, ...]
    """Models it names, sorted."""
    reads: tuple[str, ...]
    """Source tables it reads, itself or through staging models and views, sorted."""
    fingerprint: Fingerprint
    """Identity of what it computes: its SQL and that of the staging models and views it reads,
    comments and layout aside."""

    @property
    def tested_mart(self) -> str:
        """The mart a test is about: what stands before `__` in its name."""
        return self.name.partition("__")[0]


class _File(NamedTuple):
    name: str
    kind: Kind
    file: str
    sql: str
    description: str
    query: "exp.Query"
    models: tuple[str, ...]
    sources: tuple[str, ...]


def shipped_models_folder() -> Traversable:
    """The folder of the models that come with the platform."""
    return files("dbt_like_sql")


def load_models(folder: Traversable, sources: Collection[str]) -> dict[str, SqlModel]:
    """Every model of a folder, each after the models it depends on.

    Args:
        folder: holds `staging/`, `views/`, `marts/` and `tests/` with `*.sql` files; each of them
            may be missing.
        sources: the source tables there are (`chunks` is read as `lake.chunks`).

    Raises:
        SqlModelError: if a file is not one select below a comment, two models share a name, a
            model bears the name of a source table, a name is unknown, a view depends on a mart,
            or models depend on each other in a circle.
    """
    found: dict[str, _File] = {}
    for kind, file, sql in model_files(folder):
        model = _read(kind, file, sql)
        if model.name in found:
            raise SqlModelError(
                f"{file}: {found[model.name].file} has the same name; rename one of them."
            )
        if model.name in sources:
            raise SqlModelError(
                f"{file}: {model.name!r} is the name of a source table; rename the model."
            )
        found[model.name] = model
    for model in found.values():
        _check_names(model, found, sources)
    models: dict[str, SqlModel] = {}
    for name in _runnable_order(found):
        models[name] = _resolved(found[name], models)
    return models


def mart_tests(mart: str, models: Mapping[str, SqlModel]) -> list[SqlModel]:
    """The tests of a mart, by name."""
    tests = [model for model in models.values() if model.kind == "test"]
    return sorted((test for test in tests if test.tested_mart == mart), key=lambda test: test.name)


def parse_model(file: str, sql: str) -> "exp.Query":
    """The syntax tree of a model.

    Raises:
        SqlModelError: if it is not exactly one select.
    """
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        statements = [tree for tree in sqlglot.parse(sql, dialect=DIALECT) if tree is not None]
    except SqlglotError as error:
        raise SqlModelError(f"{file}: this is not valid SQL: {_place(error)}") from error
    match statements:
        case [exp.Query() as query]:
            return query
        case _:
            kinds = ", ".join(tree.key for tree in statements) or "nothing"
            raise SqlModelError(f"{file}: a model is one select; found: {kinds}.")


def outer_tables(query: "exp.Query") -> "list[exp.Table]":
    """The tables a query reads from outside: neither its own CTEs nor table functions."""
    from sqlglot import exp
    from sqlglot.optimizer.scope import traverse_scope

    found: dict[int, exp.Table] = {}
    for scope in traverse_scope(query):
        for source in scope.sources.values():
            if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
                found[id(source)] = source
    return list(found.values())


def model_files(folder: Traversable) -> Iterator[tuple[Kind, str, str]]:
    """Kind, file and SQL of each model of a folder, by kind, then by name."""
    for subfolder, kind in _FOLDERS.items():
        directory = folder / subfolder
        if not directory.is_dir():
            continue
        for file in sorted(directory.iterdir(), key=lambda file: file.name):
            if file.name.endswith(".sql"):
                yield kind, f"{subfolder}/{file.name}", file.read_text(encoding="utf-8")


def _read(kind: Kind, file: str, sql: str) -> _File:
    first_line = sql.partition("\n")[0]
    if not first_line.startswith("-- "):
        row = "what must hold" if kind == "test" else "what a row is"
        raise SqlModelError(f"{file}: the first line must be a comment that says {row}.")
    query = parse_model(file, sql)
    models: set[str] = set()
    sources: set[str] = set()
    for table in outer_tables(query):
        if not table.db:
            models.add(table.name)
        elif table.db == SOURCE_SCHEMA:
            sources.add(table.name)
        else:
            raise SqlModelError(
                f"{file}: {table.db}.{table.name} is neither a model nor a source table; name "
                f"models by their bare name and source tables as {SOURCE_SCHEMA}.<table>."
            )
    return _File(
        name=model_name(file),
        kind=kind,
        file=file,
        sql=sql,
        description=model_description(sql),
        query=query,
        models=tuple(sorted(models)),
        sources=tuple(sorted(sources)),
    )


def model_name(file: str) -> str:
    """The name of the model in a file."""
    return file.rpartition("/")[2].removesuffix(".sql")


def model_description(sql: str) -> str:
    """The first line of a model, a comment."""
    return sql.partition("\n")[0].removeprefix("-- ").strip()


def _place(error: "SqlglotError") -> str:
    """What is wrong and where, without the terminal colours of sqlglot's own message."""
    from sqlglot.errors import ParseError

    if isinstance(error, ParseError) and error.errors:
        first = error.errors[0]
        return f"line {first['line']}, column {first['col']}: {first['description']}"
    return str(error)


def _check_names(model: _File, found: Mapping[str, _File], sources: Collection[str]) -> None:
    readable = [name for name, other in found.items() if other.kind in _MAY_READ[model.kind]]
    for name in model.models:
        if name in readable:
            continue
        if name in found:
            raise SqlModelError(
                f"{model.file}: a {model.kind} model cannot read {found[name].file}; it may read "
                f"{', '.join(_MAY_READ[model.kind])} models."
            )
        near = f"did you mean {SOURCE_SCHEMA}.{name}?" if name in sources else None
        raise SqlModelError(
            f"{model.file}: there is no model {name!r}; {near or nearest(name, readable)}"
        )
    for name in model.sources:
        if name not in sources:
            raise SqlModelError(
                f"{model.file}: there is no source table {SOURCE_SCHEMA}.{name}; "
                f"{nearest(name, sources)}"
            )
    if model.kind == "test":
        tested = model.name.partition("__")[0]
        marts = [name for name, other in found.items() if other.kind == "mart"]
        if tested not in marts:
            raise SqlModelError(
                f"{model.file}: a test is named <mart>__<what must hold>, and there is no mart "
                f"{tested!r}; {nearest(tested, marts)}"
            )


def _runnable_order(found: Mapping[str, _File]) -> list[str]:
    sorter = TopologicalSorter({name: model.models for name, model in found.items()})
    try:
        return list(sorter.static_order())
    except CycleError as error:
        circle = " → ".join(found[name].file for name in error.args[1])
        raise SqlModelError(f"Models depend on each other in a circle: {circle}.") from error


def _resolved(model: _File, upstream: Mapping[str, SqlModel]) -> SqlModel:
    inlined = [upstream[name] for name in model.models if upstream[name].kind != "mart"]
    return SqlModel(
        name=model.name,
        kind=model.kind,
        file=model.file,
        sql=model.sql,
        description=model.description,
        depends_on=model.models,
        reads=tuple(sorted({*model.sources, *(name for other in inlined for name in other.reads)})),
        fingerprint=fingerprint(
            "sql_model",
            [
                model.query.sql(dialect=DIALECT, comments=False),
                {other.name: other.fingerprint for other in inlined},
            ],
        ),
    )

"""The generated pages of docs/reference, and the manifest of the SQL models.

`python -m chunk_assets.reference` rewrites them.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from chunk_assets.chunking.strategy import CHUNKERS
from chunk_assets.config import Configuration
from chunk_assets.lineage.sql_manifest import FILE_NAME, write_manifest
from chunk_assets.lineage.sql_models import Kind, SqlModel, load_models, shipped_models_folder
from resources.schemas import CORPUS_TABLES, SHARED_TABLES

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
MANIFEST = Path(__file__).parents[1] / "dbt_like_sql" / FILE_NAME

Schema = dict[str, Any]

_CONFIGURATION_INTRODUCTION = """\
# Configuration

Every key of `chunk_assets.yaml` with its type, its default and its meaning. Generated from the
models that validate the file: `python -m chunk_assets.reference` rewrites this page.

* The file is `--config FILE`, else `$CHUNK_ASSETS_CONFIG`, else `./chunk_assets.yaml`. Relative
  paths start at its folder. `chunk-assets init DIR` writes a commented one.
* `chunk-assets config --resolved` checks the file and shows it with every default filled in.
* An unknown key, a key that stands twice and a value of another type are errors that name the
  place and the nearest valid name.
* A `NAME` below (of an embedder, a strategy, a corpus, a gold set) is up to 40 lower-case letters,
  digits and `_`. It begins with a letter, holds no `__` and does not end in `_`. A corpus cannot be
  called `vectors`, `quarantine` or `runs`.
* `${NAME}` stands for an environment variable. The file, the tables and the UI keep the name; the
  value is read when it is needed. `storage`, `vector_store.url`, `source.root`, the `path` of a
  gold set, and `remote.base_url` and `remote.headers` of an embedder may hold one.
  `vector_store.api_key` and the values of `storage_options` must be one.
* A default that is left empty is nothing: the key is not set."""

_SQL_INTRODUCTION = """\
# SQL models

What a row of every model is. Generated from the first comment line of each file in `dbt_like_sql/`:
`python -m chunk_assets.reference` rewrites this page.

Query them with `chunk-assets sql "select … from leaderboard"`. Models have their bare name; the
[tables](tables.md) beneath them are `lake.<table>`. A model sees the rows of one corpus.

A model reads others by naming them: dependencies and column lineage are taken from the SQL. Staging
models and views are computed when they are read. Marts are stored as tables and are assets of their
corpus. A test selects rows that must not exist, and is a check on the asset of its mart."""

_KINDS: dict[Kind, str] = {"mart": "Marts", "view": "Views", "staging": "Staging models"}


class _Section(NamedTuple):
    path: str
    """Of the keys in the file, as `corpora.NAME.source`."""
    choice: str
    """What distinguishes it from other sections of the same path: `kind: files`."""
    schema: Schema


def configuration_page() -> str:
    """docs/reference/configuration.md."""
    schema = Configuration.model_json_schema()
    # A model that two variants share (`vector_store.hnsw`) is described once.
    sections = {(each.path, each.choice): each for each in _sections(schema, schema, "", "")}
    return "\n\n".join(
        [_CONFIGURATION_INTRODUCTION, *(_shown(section) for section in sections.values())]
    )


def sql_models_page() -> str:
    """docs/reference/sql-models.md."""
    models = load_models(shipped_models_folder(), {**CORPUS_TABLES, **SHARED_TABLES})
    parts = [_SQL_INTRODUCTION]
    for kind, title in _KINDS.items():
        rows = [_model_row(model) for model in _of_kind(models, kind)]
        parts.append(
            "\n".join([f"## {title}", "", "| model | a row | reads |", "|---|---|---|", *rows])
        )
    tests = [
        f"| `{test.tested_mart}` | `{test.name.partition('__')[2]}` | {test.description} |"
        for test in _of_kind(models, "test")
    ]
    parts.append(
        "\n".join(["## Tests", "", "| mart | check | what holds |", "|---|---|---|", *tests])
    )
    return "\n\n".join(parts)


PAGES: dict[str, Callable[[], str]] = {
    "configuration.md": configuration_page,
    "sql-models.md": sql_models_page,
}


def write(folder: Path) -> None:
    """Rewrite every generated page."""
    for name, page in PAGES.items():
        (folder / name).write_text(page() + "\n", encoding="utf-8")


def sql_manifest() -> str:
    """What the shipped SQL models read, for processes that have no time to parse them."""
    folder, sources = shipped_models_folder(), {**CORPUS_TABLES, **SHARED_TABLES}
    return write_manifest(folder, sources, load_models(folder, sources))


def _sections(schema: Schema, node: Schema, path: str, choice: str) -> Iterator[_Section]:
    yield _Section(path, choice, node)
    for key, value in node["properties"].items():
        yield from _below(schema, value, f"{path}.{key}".lstrip("."))


def _below(schema: Schema, value: Schema, path: str) -> Iterator[_Section]:
    if "$ref" in value:
        yield from _sections(schema, _resolved(schema, value["$ref"]), path, "")
    elif "oneOf" in value:
        discriminator = value["discriminator"]
        variants = [
            list(
                _sections(
                    schema,
                    _resolved(schema, reference),
                    path,
                    f"{discriminator['propertyName']}: {tag}",
                )
            )
            for tag, reference in discriminator["mapping"].items()
        ]
        yield from (variant for variant, *_ in variants)
        for _, *nested in variants:
            yield from nested
    else:
        for each in value.get("patternProperties", {}).values():
            yield from _below(schema, each, f"{path}.NAME")
        for each in value.get("anyOf", ()):  # a mapping that may be left out
            yield from _below(schema, each, path)


def _resolved(schema: Schema, reference: str) -> Schema:
    resolved: Schema = schema["$defs"][reference.rpartition("/")[2]]
    return resolved


def _shown(section: _Section) -> str:
    choice = f" with `{section.choice}`" if section.choice else ""
    heading = f"## `{section.path}`{choice}" if section.path else "## The file"
    chunker = section.choice.removeprefix("chunker: ")
    if chunker in CHUNKERS:
        # Its page has the table already, with defaults that depend on its unit.
        page = f"[Its page](../chunkers/{chunker}.md#settings) has every setting."
        return f"{heading}\n\n{_text(section.schema)} {page}"
    required = section.schema.get("required", ())
    rows = [
        f"| `{key}` | {_type(value)} | {_default(value, key in required)} | {_text(value)} |"
        for key, value in section.schema["properties"].items()
    ]
    table = "\n".join(["| key | value | default | meaning |", "|---|---|---|---|", *rows])
    return f"{heading}\n\n{_text(section.schema)}\n\n{table}"


def _type(node: Schema) -> str:
    if "anyOf" in node:
        return " or ".join(_type(each) for each in node["anyOf"] if each.get("type") != "null")
    if "const" in node:
        return f"`{node['const']}`"
    if "enum" in node:
        return ", ".join(f"`{value}`" for value in node["enum"])
    if {"$ref", "oneOf", "patternProperties"} & node.keys():
        return "mapping, below"
    match node.get("type"):
        case "boolean":
            return "`true`, `false`"
        case "integer":
            return f"whole number{_limits(node)}"
        case "number":
            return f"number{_limits(node)}"
        case "array":
            item = _type(node["items"])
            return f"list of {item.replace('number', 'numbers').replace('text', 'texts')}"
        case "object":
            values = node["additionalProperties"]
            return f"mapping to {_type(values)}" if isinstance(values, dict) else "mapping"
        case _:
            return "path" if node.get("format") == "path" else "text"


def _limits(node: Schema) -> str:
    limits = [
        f"{word} {node[key]:,}"
        for key, word in (
            ("minimum", "from"),
            ("exclusiveMinimum", "above"),
            ("maximum", "to"),
            ("exclusiveMaximum", "below"),
        )
        if key in node
    ]
    return f" {' '.join(limits)}" if limits else ""


def _default(node: Schema, is_required: bool) -> str:
    if is_required:
        return "required"
    default = node.get("default")
    if "mapping, below" in _type(node) or default in (None, "", []):
        return ""
    return f"`{default if isinstance(default, str) else json.dumps(default)}`"


def _text(node: Mapping[str, Any]) -> str:
    return " ".join(str(node.get("description", "")).split()).replace("|", "\\|")


def _of_kind(models: Mapping[str, SqlModel], kind: Kind) -> list[SqlModel]:
    return sorted((m for m in models.values() if m.kind == kind), key=lambda model: model.name)


def _model_row(model: SqlModel) -> str:
    # A staging model stands over one source table or more; the others are built on models.
    reads = model.depends_on or tuple(f"lake.{name}" for name in model.reads)
    row = model.description.removeprefix("A row is ").rstrip(".")
    return f"| `{model.name}` | {row} | {', '.join(f'`{name}`' for name in reads)} |"


if __name__ == "__main__":
    write(FOLDER)
    MANIFEST.write_text(sql_manifest(), encoding="utf-8")

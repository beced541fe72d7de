"""The reference part of a chunker's page, generated from its settings."""

from typing import Any

from chunk_assets.chunking.settings import StrategySettings

_TYPES = {"integer": "whole number", "number": "fraction", "string": "text", "null": "nothing"}


def settings_table(chunker: type[StrategySettings]) -> str:
    """A Markdown table: each setting with what it may be, its default and its meaning."""
    properties: dict[str, dict[str, Any]] = chunker.model_json_schema()["properties"]
    rows = [
        f"| `{name}` | {_allowed(schema)} | {_default(chunker, name)} | {_meaning(schema)} |"
        for name, schema in properties.items()
        if name != "chunker"
    ]
    return "\n".join(["| setting | value | default | meaning |", "|---|---|---|---|", *rows])


def _allowed(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_allowed(each) for each in schema["anyOf"] if each["type"] != "null")
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema["type"] == "array":
        return f"list of {_allowed(schema['items'])}"
    if "exclusiveMinimum" in schema:
        return f"{_TYPES[schema['type']]} above {schema['exclusiveMinimum']}"
    if schema["type"] == "number":
        return "fraction below 1"
    return _TYPES[schema["type"]]


def _default(chunker: type[StrategySettings], name: str) -> str:
    default = chunker.model_fields[name].default
    if name == f"max_{chunker.DEFAULT_UNIT}":
        default = chunker.DEFAULT_MAXIMUM
    if isinstance(default, tuple):
        default = list(default)
    return "" if default in (None, "", []) else f"`{default}`".replace("'", "")


def _meaning(schema: dict[str, Any]) -> str:
    return str(schema["description"]).replace("\n", " ")

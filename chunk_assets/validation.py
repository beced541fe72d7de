"""Pydantic's errors, told to the person who wrote the configuration."""

import difflib
import reprlib
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError


def nearest(name: str, allowed: Iterable[str]) -> str:
    """A hint that names the nearest allowed name, else all of them."""
    names = sorted(allowed)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else f"allowed: {', '.join(names)}"


def explain(error: ValidationError, schema: dict[str, Any]) -> str:
    """One line per mistake: where it is, what was given, what is allowed.

    Args:
        error: what validation raised.
        schema: the JSON schema of the validated type (`json_schema_of`), for the allowed names.
    """
    lines = []
    for item in error.errors(include_url=False):
        location = [part for part in item["loc"] if part != "[key]"]
        given = item["input"]
        match item["type"]:
            case "extra_forbidden":
                key = str(location[-1])
                allowed = _properties(schema, location[:-1])
                message = f"unknown key {key!r}; {nearest(key, allowed)}"
                location = location[:-1]
            case "union_tag_invalid":
                context = item["ctx"]
                tag = str(context["tag"])
                allowed = [name.strip(" '\"") for name in context["expected_tags"].split(",")]
                discriminator = context["discriminator"].strip("'")
                message = f"{discriminator}: unknown value {tag!r}; {nearest(tag, allowed)}"
            case "union_tag_not_found":
                discriminator = item["ctx"]["discriminator"].strip("'")
                allowed = sorted(_tags(schema, location))
                message = f"{discriminator}: this key is required; allowed: {', '.join(allowed)}"
            case "model_type" | "model_attributes_type" | "dict_type":
                message = f"expected a mapping of keys to values (given: {reprlib.repr(given)})"
            case "list_type" | "tuple_type":
                message = f"expected a list (given: {reprlib.repr(given)})"
            case "int_type" | "int_from_float":
                message = f"expected a whole number{_as_given(given)}"
            case "float_type":
                message = f"expected a number{_as_given(given)}"
            case "bool_type":
                message = f"expected true or false{_as_given(given)}"
            case "string_type":
                message = f"expected text{_as_given(given)}; put it in quotes"
            case "missing":
                message = "this key is required"
            case "value_error" | "assertion_error":
                message = str(item["ctx"]["error"])
            case _:
                shown = "" if isinstance(given, dict | list) else f" (given: {given!r})"
                message = f"{item['msg']}{shown}"
        where = ".".join(str(part) for part in _without_tags(schema, location))
        lines.append(f"{where}: {message}" if where else message)
    return "\n".join(lines)


def _as_given(value: object) -> str:
    """What was given instead of a scalar, as YAML writes it, and what would make it one."""
    if isinstance(value, dict | list):
        return f", not a {'mapping' if isinstance(value, dict) else 'list'}"
    if isinstance(value, str):
        return f" (given: the text {value!r}; leave out its quotes, if it has some)"
    written = "nothing" if value is None else str(value)
    return f" (given: {written.lower() if isinstance(value, bool) else written})"


def json_schema_of(kind: type[BaseModel] | TypeAdapter[Any]) -> dict[str, Any]:
    """The JSON schema that `explain` reads names from."""
    return kind.json_schema() if isinstance(kind, TypeAdapter) else kind.model_json_schema()


def _resolve(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    return node


def _branches(schema: dict[str, Any], node: dict[str, Any]) -> list[dict[str, Any]]:
    node = _resolve(schema, node)
    options = node.get("oneOf") or node.get("anyOf") or node.get("allOf")
    if not options:
        return [node]
    return [branch for option in options for branch in _branches(schema, option)]


def _tags(schema: dict[str, Any], location: list[Any]) -> list[str]:
    node, _ = _walk(schema, location)
    return [] if node is None else list(_resolve(schema, node)["discriminator"]["mapping"])


def _tagged(schema: dict[str, Any], node: dict[str, Any], tag: object) -> dict[str, Any] | None:
    node = _resolve(schema, node)
    mapping = node.get("discriminator", {}).get("mapping", {})
    return {"$ref": mapping[tag]} if tag in mapping else None


def _step(schema: dict[str, Any], node: dict[str, Any], part: object) -> dict[str, Any] | None:
    for branch in _branches(schema, node):
        if isinstance(part, int):
            if "items" in branch:
                return dict(branch["items"])
        elif part in branch.get("properties", {}):
            return dict(branch["properties"][part])
        elif isinstance(branch.get("additionalProperties"), dict):
            return dict(branch["additionalProperties"])
        else:
            # Names with a pattern of their own; one that does not fit it has a mistake of its own.
            for values in branch.get("patternProperties", {}).values():
                return dict(values)
    return None


def _walk(schema: dict[str, Any], location: list[Any]) -> tuple[dict[str, Any] | None, list[Any]]:
    node: dict[str, Any] | None = schema
    shown = []
    for part in location:
        if node is None:
            shown.append(part)
            continue
        tagged = _tagged(schema, node, part)
        if tagged is not None:
            # Pydantic puts the tag of a union into the location; the reader never wrote it there.
            node = tagged
            continue
        node = _step(schema, node, part)
        shown.append(part)
    return node, shown


def _properties(schema: dict[str, Any], location: list[Any]) -> list[str]:
    node, _ = _walk(schema, location)
    if node is None:
        return []
    return [name for branch in _branches(schema, node) for name in branch.get("properties", {})]


def _without_tags(schema: dict[str, Any], location: list[Any]) -> list[Any]:
    return _walk(schema, location)[1]

"""Rows and columns as the UI shows them."""

from collections.abc import Mapping, Sequence

import dagster as dg
import pyarrow as pa

PREVIEW_ROWS = 5
PREVIEW_CHARACTERS = 120


def markdown_table(rows: pa.Table, columns: Sequence[str], limit: int = PREVIEW_ROWS) -> str:
    """The first rows as a Markdown table; long values are shortened."""
    if rows.num_rows == 0:
        return "_no rows_"
    shown = rows.select(list(columns)).slice(0, limit).to_pylist()
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    lines += [f"| {' | '.join(_cell(row[column]) for column in columns)} |" for row in shown]
    if rows.num_rows > limit:
        lines.append(f"\n_{rows.num_rows - limit} more rows_")
    return "\n".join(lines)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        text = f"{value:.4g}"
    elif isinstance(value, list):
        text = " › ".join(str(item) for item in value)
    else:
        text = str(value)
    if len(text) > PREVIEW_CHARACTERS:
        text = f"{text[: PREVIEW_CHARACTERS - 1]}…"
    # A preview must stay one row of one table whatever the text holds.
    for character, replacement in (("\\", "\\\\"), ("|", "\\|"), ("`", "'"), ("<", "&lt;")):
        text = text.replace(character, replacement)
    return " ".join(text.split())


def table_schema(
    schema: pa.Schema, descriptions: Mapping[str, str] | None = None
) -> dg.TableSchema:
    """Arrow columns as Dagster shows them, with descriptions where there are any."""
    described = descriptions or {}
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                name=field.name, type=str(field.type), description=described.get(field.name)
            )
            for field in schema
        ]
    )

"""Previews and plots for the UI: small, and one table whatever the text holds."""

import base64
import re

import dagster as dg
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunk_assets.assets.plots import MAX_BYTES, histogram, intervals
from chunk_assets.assets.preview import markdown_table, table_schema


def png(value: dg.MetadataValue) -> bytes:
    match = re.fullmatch(r"!\[plot\]\(data:image/png;base64,([A-Za-z0-9+/=]+)\)", str(value.value))
    assert match is not None, value
    return base64.b64decode(match[1])


@pytest.mark.parametrize(
    ("values", "mark"),
    [([1], None), ([5, 5, 5], 5), (list(range(100_000)), 50_000), ([0, 1e12], 1e11)],
)
def test_a_histogram_is_a_small_picture(values: list[float], mark: float | None) -> None:
    content = png(histogram(values, "characters per document", mark))
    assert content.startswith(b"\x89PNG")
    assert len(content) < MAX_BYTES


def test_intervals_are_a_small_picture_even_where_one_ends_short_of_its_mean() -> None:
    content = png(intervals(["a", "b $x$ _y_"], [0.5, 0.9], [0.4, 0.91], [0.6, 0.95], "recall"))
    assert content.startswith(b"\x89PNG")
    assert len(content) < MAX_BYTES


def test_without_values_there_is_no_plot() -> None:
    assert histogram([], "x").value == "_nothing to plot_"
    assert intervals([], [], [], [], "x").value == "_nothing to plot_"


def cells(line: str) -> list[str]:
    """The cells of a row, as a Markdown reader splits it: at bars without a backslash."""
    return re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]


@given(texts=st.lists(st.text(max_size=200), min_size=1, max_size=7))
def test_a_preview_is_one_row_a_line_whatever_the_text_holds(texts: list[str]) -> None:
    rows = pa.table({"text": texts, "n": list(range(len(texts)))})
    head, rule, *lines = markdown_table(rows, ["text", "n"]).split("\n")[: 2 + min(5, len(texts))]
    assert cells(head) == [" text ", " n "]
    assert rule == "|---|---|"
    assert len(lines) == min(5, len(texts))
    assert [cells(line)[-1].strip() for line in lines] == [str(n) for n in range(len(lines))]
    assert all(len(cells(line)) == 2 for line in lines)


def test_long_values_are_shortened_and_hidden_rows_are_counted() -> None:
    rows = pa.table({"text": ["x" * 1000] * 8})
    table = markdown_table(rows, ["text"], limit=3)
    assert "x" * 119 + "…" in table
    assert "x" * 120 not in table
    assert table.endswith("_5 more rows_")


def test_values_are_shown_as_people_read_them() -> None:
    rows = pa.table({"a": [None], "b": [0.123456], "c": [["Guide", "Start"]]})
    assert markdown_table(rows, ["a", "b", "c"]).splitlines()[2] == "|  | 0.1235 | Guide › Start |"


def test_without_rows_the_preview_says_so() -> None:
    assert markdown_table(pa.table({"a": pa.array([], pa.string())}), ["a"]) == "_no rows_"


def test_the_schema_has_every_column_with_its_type_and_description() -> None:
    schema = table_schema(pa.schema([("a", pa.string()), ("b", pa.int64())]), {"b": "a count"})
    assert [(column.name, column.type) for column in schema.columns] == [
        ("a", "string"),
        ("b", "int64"),
    ]
    assert [column.description for column in schema.columns] == [None, "a count"]

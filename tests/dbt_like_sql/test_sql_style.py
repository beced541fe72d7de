"""The SQL files keep to the house style."""

from itertools import pairwise

import pytest
from sqlglot import TokenType, exp, tokenize

from chunk_assets.lineage.sql_models import (
    SqlModel,
    load_models,
    parse_model,
    shipped_models_folder,
)
from resources.warehouse import SOURCES

MODELS = load_models(shipped_models_folder(), SOURCES)
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))


@every_model
def test_sql_is_lower_case(model: SqlModel) -> None:
    words = [
        model.sql[token.start : token.end + 1]
        for token in tokenize(model.sql, dialect="duckdb")
        if token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER)
    ]
    assert [word for word in words if word != word.lower()] == []


@every_model
def test_columns_are_named_one_by_one(model: SqlModel) -> None:
    tokens = [token.token_type for token in tokenize(model.sql, dialect="duckdb")]
    before_stars = {before for before, token in pairwise(tokens) if token == TokenType.STAR}
    assert before_stars.isdisjoint({TokenType.SELECT, TokenType.COMMA, TokenType.DOT})


@every_model
def test_lines_are_short_and_the_file_ends_with_one_line_end(model: SqlModel) -> None:
    assert [line for line in model.sql.splitlines() if len(line) > 100] == []
    assert model.sql == model.sql.strip() + "\n"


@every_model
def test_the_description_is_a_sentence_about_a_row_or_about_what_must_hold(
    model: SqlModel,
) -> None:
    assert model.description.endswith(".")
    if model.kind != "test":
        assert model.description.startswith("A row is ")


@pytest.mark.parametrize(
    "model", [model for model in MODELS.values() if model.kind in ("mart", "view")]
)
def test_results_have_a_fixed_order(model: SqlModel) -> None:
    assert parse_model(model.file, model.sql).args.get("order") is not None


def test_only_staging_models_read_source_tables() -> None:
    readers = {
        model.kind
        for model in MODELS.values()
        if any(table.db for table in parse_model(model.file, model.sql).find_all(exp.Table))
    }
    assert readers == {"staging"}


def test_every_source_table_has_a_staging_model() -> None:
    staged = {model.name for model in MODELS.values() if model.kind == "staging"}
    assert {f"stg_{source}" for source in SOURCES} <= staged

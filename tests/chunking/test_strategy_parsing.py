"""Strategies from configuration, and what is said of wrong ones."""

import pytest
from pydantic import BaseModel

from chunk_assets.chunking.hierarchy import Hierarchy
from chunk_assets.chunking.strategy import CHUNKERS, Strategy, parse_strategy
from chunk_assets.errors import ConfigurationError


def refusal(value: object) -> str:
    with pytest.raises(ConfigurationError) as refused:
        parse_strategy(value)
    return str(refused.value)


def test_a_flat_mapping_makes_the_settings_of_its_chunker() -> None:
    strategy = parse_strategy(
        {"chunker": "hierarchy", "max_tokens": 200, "overlap": 20, "context": ["heading_path"]}
    )

    assert isinstance(strategy, Hierarchy)
    assert (strategy.unit, strategy.maximum, strategy.overlap_size) == ("tokens", 200, 20)


@pytest.mark.parametrize("chunker", CHUNKERS)
def test_every_chunker_works_without_further_settings(chunker: str) -> None:
    assert parse_strategy({"chunker": chunker}).chunker == chunker


def test_parsed_settings_parse_again_to_the_same() -> None:
    strategy = parse_strategy({"chunker": "fixed_overlap", "max_words": 20})

    assert parse_strategy(strategy) == strategy


def test_a_strategy_is_a_field_of_a_larger_configuration() -> None:
    class Configuration(BaseModel):
        strategies: dict[str, Strategy]

    parsed = Configuration.model_validate({"strategies": {"a": {"chunker": "hierarchy"}}})

    assert parsed.strategies["a"] == parse_strategy({"chunker": "hierarchy"})


def test_a_misspelt_key_is_named_with_its_value_and_the_nearest_valid_one() -> None:
    message = refusal({"chunker": "hierarchy", "max_token": 200})

    assert "unknown key 'max_token' (value 200) (did you mean 'max_tokens'?)" in message
    assert "min_section" in message  # all allowed keys are listed


def test_a_key_of_another_chunker_is_said_to_be_one() -> None:
    message = refusal({"chunker": "sentence_aware", "min_section": 5})

    assert "'min_section' (value 5) (a key of hierarchy)" in message


def test_a_misspelt_chunker_is_named_with_the_nearest_and_all_valid_ones() -> None:
    message = refusal({"chunker": "hierachy"})

    assert "'hierachy' (did you mean 'hierarchy'?)" in message
    assert "fixed_overlap, sentence_aware, hierarchy" in message


@pytest.mark.parametrize("value", [None, "hierarchy", ["hierarchy"], 7])
def test_what_is_no_mapping_is_refused_with_an_example(value: object) -> None:
    assert "{chunker: hierarchy, max_tokens: 200}" in refusal(value)


def test_a_missing_chunker_is_refused_with_the_valid_ones() -> None:
    assert "names no chunker. Allowed: fixed_overlap" in refusal({"max_tokens": 5})


@pytest.mark.parametrize("chunker", [["hierarchy"], {"name": "hierarchy"}])
def test_a_chunker_that_is_no_name_is_refused(chunker: object) -> None:
    assert "names no known chunker" in refusal({"chunker": chunker})


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"max_tokens": 9, "max_words": 8}, ["max_tokens (9)", "max_words (8)"]),
        ({"max_tokens": 9, "overlap": 9}, ["overlap (9)", "max_tokens (9)"]),
        ({"max_words": 9, "overlap": 12}, ["overlap (12)", "max_words (9)"]),
        ({"max_words": 9, "overlap": 1.0}, ["overlap (1.0)", "fraction", "max_words (9)"]),
        ({"overlap": 200}, ["overlap (200)", "max_tokens (200)"]),
        ({"max_characters": 9, "min_size": 10}, ["min_size (10)", "max_characters (9)"]),
        ({"max_words": 9, "min_section": 10}, ["min_section (10)", "max_words (9)"]),
        ({"max_words": 9, "tokenizer": "minilm"}, ["tokenizer ('minilm')", "max_words (9)"]),
        ({"context": ["title", "title"]}, ["title, title"]),
        ({"max_tokens": 0}, ["max_tokens is 0", "greater than 0"]),
        ({"max_tokens": -5}, ["max_tokens is -5", "greater than 0"]),
        ({"max_tokens": "200"}, ["max_tokens is '200'", "integer"]),
        ({"max_tokens": True}, ["max_tokens is True", "integer"]),
        ({"overlap": -1}, ["overlap is -1", "greater than or equal to 0"]),
        ({"overlap": float("nan")}, ["overlap is nan", "finite"]),
        ({"context": ["headings"]}, ["context is 'headings'", "'title' or 'heading_path'"]),
    ],
)
def test_impossible_values_are_refused_and_named(
    values: dict[str, object], named: list[str]
) -> None:
    message = refusal({"chunker": "hierarchy", **values})

    assert [part for part in named if part not in message] == []


@pytest.mark.parametrize(
    ("overlap", "resolved"), [(0, 0), (30, 30), (0.0, 0), (0.25, 50), (0.999, 199)]
)
def test_an_overlap_is_a_size_or_a_fraction_of_the_maximum(
    overlap: int | float, resolved: int
) -> None:
    strategy = parse_strategy({"chunker": "hierarchy", "max_tokens": 200, "overlap": overlap})

    assert strategy.overlap_size == resolved


def test_the_resolved_settings_show_every_default() -> None:
    assert parse_strategy({"chunker": "fixed_overlap"}).resolved() == {
        "chunker": "fixed_overlap",
        "unit": "words",
        "maximum": 300,
        "overlap": 150,
        "min_size": 0,
        "context": [],
    }


def test_a_default_that_depends_on_the_maximum_is_resolved() -> None:
    assert parse_strategy({"chunker": "hierarchy", "max_words": 80}).resolved()["min_section"] == 10

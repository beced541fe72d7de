"""Pydantic's errors, told with places and names that the reader of a configuration knows."""

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, ValidationError, field_validator

from chunk_assets.strict_model import StrictModel, Written
from chunk_assets.validation import explain, json_schema_of, nearest


class Engine(StrictModel):
    """With a tag."""

    kind: Literal["engine"]
    """Which part this is."""
    power: int = Field(default=1, ge=1)
    """Watts."""


class Wheel(StrictModel):
    """With another tag."""

    kind: Literal["wheel"]
    """Which part this is."""
    size: float | None = None
    """Metres."""


Part = Annotated[Engine | Wheel, Field(discriminator="kind")]


class Machine(StrictModel):
    """What is validated here."""

    name: str
    """Its name."""
    parts: dict[str, Part] = Field(default_factory=dict)
    """Parts by name."""
    spares: list[Part] = Field(default_factory=list)
    """Parts in a list."""
    best: Engine | None = None
    """One part, or none."""
    numbers: Annotated[tuple[int, ...], Written] = ()
    """Some numbers."""

    @field_validator("name")
    @classmethod
    def _is_lower_case(cls, name: str) -> str:
        if name != name.lower():
            raise ValueError(f"{name!r} is not lower case")
        return name


def mistakes(value: object, kind: type[BaseModel] | TypeAdapter[Any] = Machine) -> list[str]:
    adapter = kind if isinstance(kind, TypeAdapter) else TypeAdapter(kind)
    with pytest.raises(ValidationError) as caught:
        adapter.validate_python(value)
    return explain(caught.value, json_schema_of(kind)).splitlines()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"name": "a", "part": {}}, "unknown key 'part'; did you mean 'parts'?"),
        ({}, "name: this key is required"),
        ({"name": 5}, "name: expected text (given: 5); put it in quotes"),
        ({"name": "A"}, "name: 'A' is not lower case"),
        ({"name": "a", "parts": []}, "parts: expected a mapping of keys to values (given: [])"),
        ({"name": "a", "best": 1}, "best: expected a mapping of keys to values (given: 1)"),
        ({"name": "a", "numbers": 1}, "numbers: expected a list (given: 1)"),
        (
            {"name": "a", "numbers": ["x"]},
            "numbers.0: expected a whole number (given: the text 'x'",
        ),
        (
            {"name": "a", "parts": {"p": {"kind": "weel"}}},
            "parts.p: kind: unknown value 'weel'; did you mean 'wheel'?",
        ),
        (
            {"name": "a", "parts": {"p": {"power": 2}}},
            "parts.p: kind: this key is required; allowed: engine, wheel",
        ),
        (
            {"name": "a", "parts": {"p": {"kind": "engine", "powr": 2}}},
            "parts.p: unknown key 'powr'; did you mean 'power'?",
        ),
        (
            {"name": "a", "parts": {"p": {"kind": "engine", "power": 0}}},
            "parts.p.power: Input should be greater than or equal to 1 (given: 0)",
        ),
        (
            {"name": "a", "spares": [{"kind": "wheel"}, {"kind": "wheel", "sice": 1}]},
            "spares.1: unknown key 'sice'; did you mean 'size'?",
        ),
        (
            {"name": "a", "best": {"kind": "engine", "colour": 1}},
            "best: unknown key 'colour'; allowed: kind, power",
        ),
    ],
)
def test_one_mistake_is_one_line_with_its_place(value: object, said: str) -> None:
    (line,) = mistakes(value)
    assert line.startswith(said)


def test_a_tag_that_is_also_a_name_is_shown_once_for_each_time_it_was_written() -> None:
    (line,) = mistakes({"name": "a", "parts": {"engine": {"kind": "engine", "power": 0}}})
    assert line.startswith("parts.engine.power: ")


def test_a_union_on_its_own_is_explained_as_well() -> None:
    (line,) = mistakes({"kind": "wheel", "sise": 1}, TypeAdapter(Part))
    assert line == "unknown key 'sise'; did you mean 'size'?"


def test_every_mistake_gets_a_line() -> None:
    lines = mistakes({"name": 5, "numbers": 1, "colour": 1, "parts": {"p": {}}})
    assert len(lines) == 4


def test_a_name_far_from_all_is_answered_with_all_of_them() -> None:
    assert nearest("zebra", ["wheel", "engine"]) == "allowed: engine, wheel"


def test_a_name_close_to_one_is_answered_with_it() -> None:
    assert nearest("weel", ["wheel", "engine"]) == "did you mean 'wheel'?"


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "parts", "spares", "best", "kind", "engine", "power", "x"]),
            inner | st.sampled_from(["engine", "wheel"]),
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(value=_VALUES)
def test_whatever_is_given_is_explained(value: object) -> None:
    problem = None
    try:
        Machine.model_validate(value)
    except ValidationError as error:
        problem = error
    if problem is not None:
        lines = explain(problem, json_schema_of(Machine)).splitlines()
        assert len(lines) >= problem.error_count()

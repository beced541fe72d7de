"""The input lines that docutils' states get."""

import sys

import pytest
from docutils import statemachine

from chunk_assets.parsing.docutils_states import Lines

NUMBERS = [str(number) for number in range(1_000)]


def test_taking_the_rest_of_the_input_copies_nothing() -> None:
    rest = Lines(NUMBERS, source="")[5:]
    assert sys.getsizeof(rest.data) + sys.getsizeof(rest.items) < 500


@pytest.mark.parametrize("kind", [Lines, statemachine.StringList])
def test_the_rest_of_the_input_reads_like_a_copy(kind: type[statemachine.StringList]) -> None:
    rest = kind(NUMBERS, source="x")[900:][50:]
    assert len(rest) == 50
    assert list(rest) == NUMBERS[950:]
    assert list(rest[10:20]) == NUMBERS[960:970]
    assert (rest[0], rest[-1]) == ("950", "999")
    assert rest.info(3) == ("x", 953)
    with pytest.raises(IndexError):
        rest[50]


@pytest.mark.parametrize("kind", [Lines, statemachine.StringList])
def test_a_change_of_the_rest_is_its_own(kind: type[statemachine.StringList]) -> None:
    lines = kind(NUMBERS, source="x")
    rest = lines[998:]
    rest.disconnect()
    rest[0] = "changed"
    del rest[1]
    assert list(rest) == ["changed"]
    assert list(lines) == NUMBERS

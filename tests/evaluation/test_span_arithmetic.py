import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunk_assets.evaluation.spans import Axis, Spans, Union, overlapping, summed

QUERIES = 3
DOCUMENTS = {"a": 12, "b": 7, "c": 0}

Row = tuple[int, str, int, int]


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    """Spans (query, document, start, end), also empty ones, also touching the document's end."""
    drawn: list[Row] = []
    for _ in range(draw(st.integers(0, 12))):
        document = draw(st.sampled_from(sorted(DOCUMENTS)))
        start = draw(st.integers(0, DOCUMENTS[document]))
        end = draw(st.integers(start, DOCUMENTS[document]))
        drawn.append((draw(st.integers(0, QUERIES - 1)), document, start, end))
    return drawn


def integers(values: list[int]) -> npt.NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def axis() -> Axis:
    return Axis([(list(DOCUMENTS), integers(list(DOCUMENTS.values())))])


def on_axis(spans: list[Row]) -> Spans:
    return axis().spans(
        integers([row[0] for row in spans]),
        [row[1] for row in spans],
        integers([row[2] for row in spans]),
        integers([row[3] for row in spans]),
    )


def characters(spans: list[Row], query: int) -> set[tuple[str, int]]:
    return {
        (document, position)
        for owner, document, start, end in spans
        if owner == query
        for position in range(start, end)
    }


@given(rows())
def test_the_length_of_a_union_is_the_number_of_characters_in_it(spans: list[Row]) -> None:
    lengths = Union(on_axis(spans), axis().size).lengths(QUERIES)

    assert lengths.tolist() == [len(characters(spans, query)) for query in range(QUERIES)]


@given(rows(), rows())
def test_covered_is_the_number_of_a_spans_characters_in_the_union(
    union: list[Row], asked: list[Row]
) -> None:
    covered = Union(on_axis(union), axis().size).covered(on_axis(asked))

    assert covered.tolist() == [
        len(characters(union, row[0]) & characters([row], row[0])) for row in asked
    ]


@given(rows())
def test_the_spans_of_a_union_are_disjoint_and_do_not_touch(spans: list[Row]) -> None:
    merged = Union(on_axis(spans), axis().size).spans()
    keys = merged.query * axis().size

    assert bool((np.diff(keys + merged.start) > 0).all())
    assert bool(((keys + merged.start)[1:] > (keys + merged.end)[:-1]).all())


@given(rows(), rows(), st.booleans())
def test_overlapping_pairs_are_those_that_share_a_character_or_touch(
    wanted: list[Row], candidates: list[Row], touching: bool
) -> None:
    wanted = [row for row in wanted if row[2] < row[3]]
    candidates = [row for row in candidates if row[2] < row[3]]
    of_candidates = on_axis(candidates)

    found = overlapping(on_axis(wanted), of_candidates.start, of_candidates.end, touching=touching)

    expected = {
        (i, j)
        for i, (_, document, start, end) in enumerate(wanted)
        for j, (_, other, other_start, other_end) in enumerate(candidates)
        if document == other and min(end, other_end) - max(start, other_start) >= 1 - touching
    }
    pairs = list(zip(found[0].tolist(), found[1].tolist(), strict=True))
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == expected


def test_a_document_named_twice_gets_room_for_its_furthest_position() -> None:
    line = Axis([(["a", "b"], integers([3, 4])), (["a"], integers([9]))])
    spans = line.spans(integers([0, 0]), ["a", "b"], integers([0, 0]), integers([9, 4]))

    assert spans.end[0] < spans.start[1]


def test_an_unknown_document_has_no_place_on_the_axis() -> None:
    with pytest.raises(KeyError, match="z"):
        axis().codes(["z"])


def test_sums_are_per_query_and_zero_where_there_is_nothing() -> None:
    assert summed(integers([2, 0, 2]), integers([5, 1, 6]), 4).tolist() == [1, 0, 11, 0]

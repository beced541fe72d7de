import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from chunk_assets.evaluation.evidence import Evidence
from chunk_assets.evaluation.relevance import relevant_chunks
from chunk_assets.evaluation.spans import Spans

Span = tuple[int, int]


def integers(values: list[int]) -> npt.NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def relevant(places: list[Span], chunks: list[Span], overlap: float = 0.5) -> set[tuple[int, int]]:
    numbers = integers(list(range(len(places))))
    evidence = Evidence(
        Spans(numbers, integers([s for s, _ in places]), integers([e for _, e in places])),
        numbers,
        np.ones_like(numbers),
    )
    found = relevant_chunks(
        evidence, integers([s for s, _ in chunks]), integers([e for _, e in chunks]), overlap
    )
    return set(zip(found.place.tolist(), found.unit.tolist(), strict=True))


def test_a_short_answer_must_lie_mostly_in_the_chunk() -> None:
    assert relevant([(8, 18)], [(0, 11), (11, 40)]) == {(0, 1)}


def test_an_answer_cut_in_the_middle_makes_both_chunks_relevant() -> None:
    assert relevant([(5, 15)], [(0, 10), (10, 40)]) == {(0, 0), (0, 1)}


def test_of_a_long_section_every_chunk_mostly_inside_is_relevant() -> None:
    chunks = [(0, 10), (10, 20), (20, 30), (30, 40), (40, 50)]

    assert relevant([(6, 35)], chunks) == {(0, 1), (0, 2), (0, 3)}


def test_where_no_chunk_reaches_the_share_those_that_share_most_are_relevant() -> None:
    # Chunks with gaps between them: 4, 4 and 3 of 20 characters.
    assert relevant([(10, 30)], [(0, 14), (20, 24), (27, 90)], 0.9) == {(0, 1)}
    assert relevant([(10, 30)], [(0, 14), (26, 90), (16, 19)], 1.0) == {(0, 2)}
    assert relevant([(10, 30)], [(0, 14), (26, 90)], 0.5) == {(0, 0), (0, 1)}


def test_evidence_that_no_chunk_overlaps_has_no_relevant_chunk() -> None:
    assert relevant([(10, 20)], [(0, 10), (20, 30)]) == set()


def test_a_share_that_is_exactly_reached_counts() -> None:
    # 3 of 30 characters, and 0.1 * 30 is 3.0000000000000004 in floating point.
    assert relevant([(0, 30)], [(27, 90), (-60, 4)], 0.1) == {(0, 0), (0, 1)}


SPANS = st.tuples(st.integers(0, 60), st.integers(1, 25)).map(lambda s: (s[0], s[0] + s[1]))


@given(
    st.lists(SPANS, max_size=5),
    st.lists(SPANS, max_size=15),
    st.sampled_from([0.1, 0.25, 0.5, 0.75, 1.0]),
)
def test_the_rule_equals_its_definition_pair_by_pair(
    places: list[Span], chunks: list[Span], overlap: float
) -> None:
    expected: set[tuple[int, int]] = set()
    for i, (start, end) in enumerate(places):
        shared = [max(0, min(end, e) - max(start, s)) for s, e in chunks]
        shorter = [min(end - start, e - s) for s, e in chunks]
        reached = {j for j, n in enumerate(shared) if n and n >= overlap * shorter[j] - 1e-9}
        most = max(shared, default=0)
        expected |= {
            (i, j) for j in (reached or {j for j, n in enumerate(shared) if n and n == most})
        }

    assert relevant(places, chunks, overlap) == expected

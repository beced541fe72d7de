from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunk_assets.evaluation.evidence import Evidence
from chunk_assets.evaluation.span_metrics import precision_omega, span_scores, within_budget
from chunk_assets.evaluation.spans import Spans

AXIS = 100

Span = tuple[int, int]


def integers(values: list[int]) -> npt.NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def spans(rows: list[list[Span]]) -> Spans:
    flat = [(query, *span) for query, of_query in enumerate(rows) for span in of_query]
    return Spans(*(integers([row[column] for row in flat]) for column in range(3)))


def evidence(*queries: list[list[Span]]) -> Evidence:
    """Queries as lists of pieces, pieces as lists of places."""
    pieces = [(query, piece) for query, of_query in enumerate(queries) for piece in of_query]
    flat = [(query, i, *span) for i, (query, piece) in enumerate(pieces) for span in piece]
    columns = [integers([row[column] for row in flat]) for column in range(4)]
    return Evidence(Spans(columns[0], *columns[2:]), columns[1], np.ones_like(columns[0]))


def test_scores_equal_values_computed_by_hand() -> None:
    # Read [0, 30) and [20, 50): 50 characters; gold [10, 20) and [45, 65): 30, of which 15 read.
    scores = span_scores(spans([[(0, 30), (20, 50)]]), evidence([[(10, 20)], [(45, 65)]]), 1, AXIS)

    assert scores.recall.tolist() == [15 / 30]
    assert scores.precision.tolist() == [15 / 50]
    assert scores.iou.tolist() == [15 / (50 + 15)]


def test_text_read_twice_counts_once_unless_repeats_are_counted() -> None:
    read, gold = spans([[(0, 30), (20, 50)]]), evidence([[(10, 20)], [(45, 65)]])
    scores = span_scores(read, gold, 1, AXIS, count_repeats=True)

    assert scores.recall.tolist() == [15 / 30]
    assert scores.precision.tolist() == [15 / 60]
    assert scores.iou.tolist() == [15 / (60 + 15)]


def test_a_query_for_which_nothing_was_retrieved_scores_zero() -> None:
    scores = span_scores(spans([[], [(0, 5)]]), evidence([[(0, 5)]], [[(0, 5)]]), 2, AXIS)

    assert [column.tolist() for column in scores] == [[0, 1], [0, 1], [0, 1]]


def test_reading_any_one_place_of_a_piece_is_full_recall() -> None:
    scores = span_scores(spans([[(50, 60)]]), evidence([[(0, 10), (50, 60)]]), 1, AXIS)

    assert [column.tolist() for column in scores] == [[1], [1], [1]]


def test_a_second_copy_is_right_for_precision_and_bloat_for_iou() -> None:
    scores = span_scores(spans([[(0, 10), (50, 60)]]), evidence([[(0, 10), (50, 60)]]), 1, AXIS)

    assert scores.recall.tolist() == [1]
    assert scores.precision.tolist() == [1]
    assert scores.iou.tolist() == [0.5]


def test_precision_omega_is_the_iou_of_all_chunks_that_overlap_the_evidence() -> None:
    chunks = spans([[(0, 10), (10, 20), (20, 30), (30, 40)]])
    omega = precision_omega(chunks, evidence([[(10, 25)]], [[(32, 36)]], [[(50, 60)]]), 3, AXIS)

    assert omega.tolist() == [15 / 20, 4 / 10, 0]


def test_precision_omega_may_take_chunks_that_only_touch() -> None:
    chunks = spans([[(0, 10), (10, 20), (20, 30), (30, 40)]])
    omega = precision_omega(chunks, evidence([[(10, 25)]]), 1, AXIS, touching=True)

    assert omega.tolist() == [15 / 30]


def test_precision_omega_takes_the_first_place_of_a_piece() -> None:
    chunks = spans([[(0, 10), (50, 80)]])

    assert precision_omega(chunks, evidence([[(0, 5), (50, 55)]]), 1, AXIS).tolist() == [0.5]


def test_a_budget_cuts_the_last_chunk_in_proportion() -> None:
    read = within_budget(
        spans([[(0, 40), (40, 60), (60, 100)], [(10, 20)]]), integers([10, 5, 10, 3]), 12
    )

    assert list(zip(read.query.tolist(), read.start.tolist(), read.end.tolist(), strict=True)) == [
        (0, 0, 40),
        (0, 40, 48),
        (1, 10, 20),
    ]


def test_a_chunk_without_tokens_costs_nothing_until_the_budget_is_full() -> None:
    read = within_budget(spans([[(0, 4), (4, 8), (8, 12)]]), integers([0, 5, 0]), 5)

    assert read.start.tolist() == [0, 4]


SPANS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 30)).map(lambda s: (s[0], s[0] + s[1])),
    max_size=6,
)
PIECES = SPANS.filter(bool).map(lambda rows: [[row] for row in rows])


@given(st.lists(st.tuples(SPANS, PIECES), min_size=1, max_size=4))
def test_scores_equal_set_arithmetic_on_characters(
    queries: list[tuple[list[Span], list[list[Span]]]],
) -> None:
    scores = span_scores(
        spans([read for read, _ in queries]),
        evidence(*(pieces for _, pieces in queries)),
        len(queries),
        AXIS,
    )

    for number, (rows, pieces) in enumerate(queries):
        read = {p for start, end in rows for p in range(start, end)}
        gold = {p for ((start, end),) in pieces for p in range(start, end)}
        both = len(read & gold)
        assert scores.recall[number] == pytest.approx(both / len(gold))
        assert scores.precision[number] == pytest.approx(both / len(read) if read else 0)
        assert scores.iou[number] == pytest.approx(both / len(read | gold))


@given(SPANS, st.lists(SPANS.filter(bool), min_size=1, max_size=4), st.data())
def test_recall_never_falls_as_the_budget_grows(
    read: list[Span], pieces: list[list[Span]], data: st.DataObject
) -> None:
    tokens = integers([data.draw(st.integers(0, 9)) for _ in read])
    gold = evidence(pieces)

    recalls = [
        span_scores(within_budget(spans([read]), tokens, budget), gold, 1, AXIS).recall[0]
        for budget in range(0, 60, 7)
    ]

    assert all(later >= earlier - 1e-12 for earlier, later in pairwise(recalls))
    assert all(0 <= recall <= 1 for recall in recalls)


@given(SPANS, st.integers(0, 40), st.data())
def test_a_budget_is_never_exceeded_and_never_skips_a_chunk(
    read: list[Span], budget: int, data: st.DataObject
) -> None:
    tokens = [data.draw(st.integers(1, 9)) for _ in read]
    kept = within_budget(spans([read]), integers(tokens), budget)

    spent = 0.0
    expected: list[Span] = []
    for (start, end), cost in zip(read, tokens, strict=True):
        part = (end - start) * min(cost, max(0, int(budget - spent))) // cost
        spent += min(cost, max(0.0, budget - spent))
        if part:
            expected.append((start, start + part))
    assert list(zip(kept.start.tolist(), kept.end.tolist(), strict=True)) == expected

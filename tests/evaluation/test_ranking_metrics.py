import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunk_assets.evaluation.evidence import Evidence
from chunk_assets.evaluation.metrics import (
    Ranking,
    evidence_recall,
    first_positions,
    positions,
    ranking_metrics,
)
from chunk_assets.evaluation.relevance import Relevant
from chunk_assets.evaluation.spans import Spans

# A query is a list of pieces, a piece a list of places, a place its relevant units with its grade.
Place = tuple[list[int], int]
Query = list[list[Place]]


def integers(values: list[int]) -> npt.NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def judged(queries: list[Query]) -> tuple[Evidence, Relevant]:
    pieces = [(number, piece) for number, query in enumerate(queries) for piece in query]
    places = [
        (number, index, units, grade)
        for index, (number, piece) in enumerate(pieces)
        for units, grade in piece
    ]
    nowhere = np.zeros(len(places), dtype=np.int64)
    evidence = Evidence(
        Spans(integers([row[0] for row in places]), nowhere, nowhere),
        integers([row[1] for row in places]),
        integers([row[3] for row in places]),
    )
    pairs = [(place, unit) for place, row in enumerate(places) for unit in row[2]]
    return evidence, Relevant(
        integers([place for place, _ in pairs]), integers([unit for _, unit in pairs])
    )


def ranked(rankings: list[list[int]]) -> Ranking:
    query = integers([q for q, units in enumerate(rankings) for _ in units])
    return Ranking(query, integers([u for units in rankings for u in units]), positions(query))


def measured(
    queries: list[Query], rankings: list[list[int]], ks: list[int]
) -> dict[tuple[str, int | None], list[float]]:
    evidence, relevant = judged(queries)
    values = ranking_metrics(evidence, relevant, ranked(rankings), len(queries), ks)
    return {key: column.tolist() for key, column in values.items()}


def single(*units: int, grade: int = 1) -> list[Place]:
    return [(list(units), grade)]


def test_metrics_equal_values_computed_by_hand() -> None:
    # Relevant: 1 (grade 2), 4 and 9 (grade 1); ranked 7, 1, 4, so 1 and 4 stand at ranks 2 and 3.
    values = measured([[single(1, grade=2), single(4), single(9)]], [[7, 1, 4]], [1, 3])

    ideal = 2 / math.log2(2) + 1 / math.log2(3) + 1 / math.log2(4)
    assert values["precision", 1] == [0]
    assert values["precision", 3] == [pytest.approx(2 / 3)]
    assert values["recall", 3] == [pytest.approx(2 / 3)]
    assert values["hit", 1] == [0]
    assert values["hit", 3] == [1]
    assert values["recip_rank", None] == [0.5]
    assert values["ndcg", 3] == [pytest.approx((2 / math.log2(3) + 1 / math.log2(4)) / ideal)]
    assert values["map", None] == [pytest.approx((1 / 2 + 2 / 3) / 3)]


def test_a_query_without_results_scores_zero_and_is_kept() -> None:
    values = measured([[single(1)], [single(2)]], [[], [2]], [1])

    assert all(column == [0, 1] for column in values.values())


def test_a_run_without_any_result_scores_zero() -> None:
    values = measured([[single(1)], [single(2)]], [[], []], [1])

    assert all(column == [0, 0] for column in values.values())


def test_a_query_to_which_nothing_is_relevant_scores_zero_and_is_kept() -> None:
    values = measured([[single()], [single(2)]], [[1], [2]], [1])

    assert all(column == [0, 1] for column in values.values())


def test_the_rank_decides_among_many_whatever_the_names_of_the_units() -> None:
    # trec_eval breaks equal scores by name; 1,000 distinct ranks leave it none to break.
    units = list(range(1000))
    values = measured([[single(units[517])]], [units], [517, 518])

    assert values["hit", 517] == [0]
    assert values["hit", 518] == [1]
    assert values["recip_rank", None] == [pytest.approx(1 / 518)]


def test_a_chunk_relevant_to_two_pieces_counts_once_with_the_higher_grade() -> None:
    values = measured([[single(1), single(1, grade=3), single(2, grade=1)]], [[2, 1]], [2])

    ideal = 3 / math.log2(2) + 1 / math.log2(3)
    assert values["ndcg", 2] == [pytest.approx((1 / math.log2(2) + 3 / math.log2(3)) / ideal)]
    assert values["recall", 2] == [1]


def test_retrieving_any_one_copy_is_full_recall() -> None:
    copies: list[Place] = [([5], 1), ([6], 1), ([7], 1)]
    values = measured([[copies]], [[6]], [1])

    assert values["recall", 1] == [1]
    assert values["ndcg", 1] == [1]
    assert values["map", None] == [1]


def test_a_second_copy_is_relevant_for_precision_but_brings_no_further_gain() -> None:
    copies: list[Place] = [([5], 1), ([6], 1)]
    values = measured([[copies, single(8)]], [[5, 6, 8]], [2, 3])

    assert values["precision", 3] == [1]
    assert values["recall", 2] == [0.5]
    ideal = 1 / math.log2(2) + 1 / math.log2(3)
    assert values["ndcg", 3] == [pytest.approx((1 / math.log2(2) + 1 / math.log2(4)) / ideal)]


def test_evidence_recall_is_the_share_of_pieces_found_however_many_chunks_each_has() -> None:
    evidence, relevant = judged([[single(1, 2, 3), single(4), [([5], 1), ([6], 1)]]])
    first = first_positions(evidence, relevant, ranked([[2, 9, 6, 5]]))

    found = evidence_recall(evidence, first, 1, [1, 3, 4])

    assert {k: values.tolist() for k, values in found.items()} == {
        1: [pytest.approx(1 / 3)],
        3: [pytest.approx(2 / 3)],
        4: [pytest.approx(2 / 3)],
    }


def test_a_document_ranks_where_its_first_chunk_does() -> None:
    document_of_chunk = integers([0, 0, 1, 2, 1])
    collapsed = ranked([[4, 0, 2, 1], [3, 4]]).collapsed(document_of_chunk)

    assert collapsed.query.tolist() == [0, 0, 1, 1]
    assert collapsed.unit.tolist() == [1, 0, 2, 1]
    assert collapsed.position.tolist() == [0, 1, 0, 1]


UNITS = st.integers(0, 9)
RANKING = st.lists(UNITS, unique=True, max_size=8)
QUERY = st.lists(
    st.tuples(st.lists(UNITS, unique=True, max_size=3), st.integers(1, 3)).map(lambda p: [p]),
    min_size=1,
    max_size=4,
)


@given(st.lists(st.tuples(QUERY, RANKING), min_size=1, max_size=4), st.integers(1, 9))
def test_metrics_equal_their_definitions(pairs: list[tuple[Query, list[int]]], k: int) -> None:
    values = measured([query for query, _ in pairs], [ranking for _, ranking in pairs], [k])

    for number, (query, ranking) in enumerate(pairs):
        grade: dict[int, int] = {}
        for ((units, relevance),) in query:
            for unit in units:
                grade[unit] = max(relevance, grade.get(unit, 0))
        gains = [grade.get(unit, 0) for unit in ranking]
        hits = [gain > 0 for gain in gains]
        ideal = sorted(grade.values(), reverse=True)
        expected = {
            ("precision", k): sum(hits[:k]) / k,
            ("recall", k): sum(hits[:k]) / max(len(grade), 1),
            ("hit", k): float(any(hits[:k])),
            ("recip_rank", None): 1 / (hits.index(True) + 1) if any(hits) else 0,
            ("map", None): sum(sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(hits) if hit)
            / max(len(grade), 1),
            ("ndcg", k): _dcg(gains[:k]) / (_dcg(ideal[:k]) or 1),
        }
        assert {key: values[key][number] for key in expected} == pytest.approx(expected)


def _dcg(gains: list[int]) -> float:
    return sum(gain / math.log2(position + 2) for position, gain in enumerate(gains))

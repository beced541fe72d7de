import numpy as np
import pytest

from benchmarks.chroma_data import ChromaData
from benchmarks.chroma_published import LARGE, MINILM
from benchmarks.chroma_scores import Scorer, Spread, first_occurrence, spread
from benchmarks.chroma_token_windows import windows
from chunk_assets.evaluation.anchor import AnchoredQuery, Place


def data(*excerpts: tuple[int, int]) -> ChromaData:
    evidence = tuple((Place("a.md", start, end),) for start, end in excerpts)
    query = AnchoredQuery("q", "?", None, evidence, {})
    return ChromaData({"a.md": "x" * 100, "b.md": "x" * 50}, (query,))


def test_overlapping_chunks_and_chunks_of_other_corpora_count_in_full_among_what_was_read() -> None:
    scorer = Scorer(data((10, 20), (45, 65)))

    scores = scorer.scores([[("a.md", 0, 30), ("a.md", 20, 50), ("b.md", 0, 40)]])

    assert scores["recall"].tolist() == [15 / 30]
    assert scores["precision"].tolist() == [15 / (30 + 30 + 40)]
    assert scores["iou"].tolist() == [15 / (30 + 30 + 40 + 15)]


def test_precision_omega_takes_chunks_that_only_touch_an_excerpt() -> None:
    chunks = [("a.md", start, start + 10) for start in range(0, 100, 10)]

    assert Scorer(data((20, 30))).precision_omega(chunks).tolist() == [10 / 30]


def test_a_chunk_is_located_at_its_first_occurrence_without_its_full_stop() -> None:
    assert first_occurrence("one. two. one. two.", 10, 14) == (0, 3)


def test_windows_advance_by_size_less_overlap_and_end_with_the_text() -> None:
    borders = np.array([0, 2, 3, 7, 8, 12])

    assert list(windows(borders, 3, 1)) == [(0, 7), (3, 12)]
    assert list(windows(borders, 2, 0)) == [(0, 3), (3, 8), (8, 12)]


def test_a_spread_is_mean_and_population_deviation_in_per_cent() -> None:
    assert spread(np.array([0.0, 1.0])) == Spread(50.0, 50.0)
    assert str(Spread(4.659, 3.068)) == "4.7 ± 3.1"


@pytest.mark.parametrize(("table", "rows"), [(MINILM, 8), (LARGE, 13)])
def test_published_tables_are_read_in_full(table: tuple[object, ...], rows: int) -> None:
    assert len(table) == rows

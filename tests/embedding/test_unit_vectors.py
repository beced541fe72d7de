"""Rows of length one."""

import numpy as np
import pytest

from chunk_assets.embedding.unit_vectors import check_shape, defect, defects, normalize
from chunk_assets.errors import EmbeddingError


def test_rows_are_scaled_to_length_one_in_float32() -> None:
    rows = normalize(np.array([[3, 4], [0, -2]], dtype=np.float32))
    assert rows.dtype == np.float32
    assert rows.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0, -1]]


def test_a_row_is_scaled_the_same_beside_any_others() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 384)).astype(np.float32)
    together = normalize(rows)
    assert all(np.array_equal(normalize(rows[i : i + 1])[0], together[i]) for i in range(50))


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([0.6, 0.8], None),
        ([0.6, np.nan], "its vector holds NaN or infinity"),
        ([np.inf, 0], "its vector holds NaN or infinity"),
        ([0, 0], "its vector is zero"),
        ([3, 4], "its vector has length 5, expected 1"),
    ],
)
def test_what_is_no_unit_vector_is_named(row: list[float], expected: str | None) -> None:
    assert defect(np.array(row, dtype=np.float32)) == expected
    # Among others it is named as well, and they are not.
    rows = np.array([[1, 0], row, [0, 1]], dtype=np.float32)
    assert defects(rows) == [None, expected, None]


@pytest.mark.parametrize("error", [4e-4, 6e-4, 9e-4, 1.1e-3])
def test_one_row_and_many_are_held_to_the_same_tolerance(error: float) -> None:
    rows = np.array([[1 + error, 0], [1 - error, 0]], dtype=np.float32)
    assert defects(rows) == [defect(row) for row in rows]


def test_a_wrong_shape_names_both() -> None:
    with pytest.raises(EmbeddingError, match=r"\(2, 3\), expected \(2, 4\)"):
        check_shape(np.zeros((2, 3), dtype=np.float32), 2, 4)

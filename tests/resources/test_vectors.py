"""The `vectors` table: each vector once, found again by its key."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from chunk_assets.lineage.identity import Fingerprint, VectorKey
from resources.tables import Tables
from resources.vectors import Embedded, Vectors

MODEL = Fingerprint("m" * 32)
HOW = Embedded(tokens=5, tokens_embedded=4, flags=("truncated",))


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return Tables(tmp_path)


@pytest.fixture
def vectors(tables: Tables) -> Vectors:
    return Vectors(tables)


def key(number: int) -> VectorKey:
    return VectorKey(f"{number:032x}")


def vector(number: int, dimension: int = 8) -> npt.NDArray[np.float32]:
    return np.random.default_rng(number).normal(size=dimension).astype(np.float32)


def append(vectors: Vectors, *numbers: int, model: Fingerprint = MODEL) -> None:
    vectors.append(model, [(key(n), vector(n), HOW) for n in numbers], "run")


def test_a_vector_comes_back_bit_by_bit(vectors: Vectors) -> None:
    append(vectors, 1, 2)
    found = vectors.vectors(MODEL, [key(2), key(1)])
    assert found.keys() == {key(1), key(2)}
    for number in (1, 2):
        assert found[key(number)].dtype == np.float32
        assert np.array_equal(found[key(number)], vector(number))


def test_what_is_not_stored_is_left_out(vectors: Vectors) -> None:
    assert vectors.embedded(MODEL, [key(1)]) == {}
    assert vectors.vectors(MODEL, [key(1)]) == {}
    append(vectors, 1)
    assert vectors.embedded(MODEL, [key(1), key(2)]).keys() == {key(1)}
    assert vectors.vectors(MODEL, [key(2)]) == {}


def test_how_a_vector_came_about_is_told_without_the_vector(vectors: Vectors) -> None:
    whole = Embedded(tokens=3, tokens_embedded=3, flags=())
    vectors.append(MODEL, [(key(1), vector(1), HOW), (key(2), vector(2), whole)], "run")
    assert vectors.embedded(MODEL, [key(1), key(2)]) == {key(1): HOW, key(2): whole}


def test_no_key_asks_for_no_vector(vectors: Vectors) -> None:
    append(vectors, 1)
    assert vectors.embedded(MODEL, []) == vectors.vectors(MODEL, []) == {}


def test_two_models_keep_their_vectors_apart(vectors: Vectors) -> None:
    other = Fingerprint("o" * 32)
    append(vectors, 1)
    vectors.append(other, [(key(1), vector(7, dimension=3), HOW)], "run")
    assert np.array_equal(vectors.vectors(MODEL, [key(1)])[key(1)], vector(1))
    assert np.array_equal(vectors.vectors(other, [key(1)])[key(1)], vector(7, dimension=3))


def test_a_row_says_which_run_made_it_and_when(vectors: Vectors, tables: Tables) -> None:
    append(vectors, 1)
    (row,) = tables.read("vectors").to_pylist()
    assert row["run_id"] == "run"
    assert row["created_at"].tzinfo is not None


def test_a_block_is_one_commit(vectors: Vectors, tables: Tables) -> None:
    append(vectors, *range(100))
    append(vectors, *range(100, 150))
    assert tables.version("vectors") == 1
    assert tables.read("vectors").num_rows == 150


def test_runs_that_embed_at_the_same_time_lose_nothing(vectors: Vectors) -> None:
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda n: append(vectors, 2 * n, 2 * n + 1), range(8)))
    found = vectors.vectors(MODEL, [key(number) for number in range(16)])
    assert len(found) == 16
    assert all(np.array_equal(found[key(n)], vector(n)) for n in range(16))


def test_some_among_many_are_found(vectors: Vectors) -> None:
    append(vectors, *range(5_000))
    wanted = [key(number) for number in range(4_990, 5_010)]
    assert set(vectors.embedded(MODEL, wanted)) == set(wanted[:10])


def test_of_a_key_that_was_stored_twice_the_latest_counts(vectors: Vectors) -> None:
    for number in range(4):
        how = Embedded(tokens=number, tokens_embedded=number, flags=())
        vectors.append(MODEL, [(key(1), vector(number), how)], "run")
    assert np.array_equal(vectors.vectors(MODEL, [key(1)])[key(1)], vector(3))
    assert vectors.embedded(MODEL, [key(1)])[key(1)].tokens == 3

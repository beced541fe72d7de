"""Kill -9 at random moments: what was acknowledged is there, and the store works on.

Run as a program, this file is the process that gets killed.
"""

import random
import subprocess
import sys
import time
import uuid
from pathlib import Path

import numpy as np
import pytest

from chunk_assets.lineage.identity import ChunkId
from chunk_assets.retrieval.vector_store import Point, SparseVector
from resources.qdrant_edge import QdrantEdgeStore

BATCH = 50
DIMENSION = 16


def points_of(batch: int) -> list[Point]:
    rng = np.random.default_rng(batch)
    vectors = rng.normal(size=(BATCH, DIMENSION)).astype(np.float32)
    return [
        Point(
            ChunkId(str(uuid.UUID(int=batch * BATCH + n + 1))),
            vectors[n] / np.linalg.norm(vectors[n]),
            SparseVector((n, 1_000 + batch), (1.0, 2.0)),
            {"batch": batch, "text": f"{batch} {n}"},
        )
        for n in range(BATCH)
    ]


def acknowledge(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def write_for_ever(folder: Path, start: int) -> None:
    """Upsert batch after batch, flushing now and then."""
    store = QdrantEdgeStore(folder)
    store.create("a", DIMENSION)
    batch = start
    while True:
        with store.open("a") as collection:
            for _ in range(7):
                collection.upsert(points_of(batch))
                acknowledge(batch)
                batch += 1
            collection.finish()


def rename_for_ever(folder: Path, start: int) -> None:
    """Create collections, move the alias to them and drop the ones before."""
    store = QdrantEdgeStore(folder)
    number = start
    while True:
        store.create(f"c{number}", DIMENSION)
        with store.open(f"c{number}") as collection:
            collection.upsert(points_of(number))
        store.set_alias("alias", f"c{number}")
        acknowledge(number)
        for name in store.names():
            if name != f"c{number}":
                store.drop(name)
        number += 1


def kill_during(work: str, folder: Path, start: int, seed: int) -> list[int]:
    """Run `work` in a process, kill it at a random moment, return what it acknowledged."""
    process = subprocess.Popen(
        [sys.executable, __file__, work, str(folder), str(start)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    acknowledged = [int(process.stdout.readline())]  # it has begun
    time.sleep(random.Random(seed).uniform(0.0, 0.4))
    process.kill()
    rest, _ = process.communicate()
    return acknowledged + [int(line) for line in rest.splitlines() if line]


@pytest.mark.slow
def test_every_acknowledged_point_survives_a_kill_during_upserts(tmp_path: Path) -> None:
    acknowledged: list[int] = []
    store = QdrantEdgeStore(tmp_path, lock_timeout_s=60)
    for seed in range(4):
        start = acknowledged[-1] + 1 if acknowledged else 0
        acknowledged += kill_during("write", tmp_path, start, seed)
        expected = {point.id: point for batch in acknowledged for point in points_of(batch)}
        with store.open("a") as collection:
            payloads = dict(collection.scroll(["batch", "text"]))
            vectors = collection.vectors(list(expected))
            last = points_of(acknowledged[-1])[-1]
            [hit] = collection.search_sparse(
                SparseVector((1_000 + acknowledged[-1],), (1.0,)), 1, None
            )
        assert {id_: payloads[id_] for id_ in expected} == {
            id_: point.payload for id_, point in expected.items()
        }
        np.testing.assert_allclose(
            np.stack([vectors[id_] for id_ in expected]),
            np.stack([point.dense for point in expected.values()]),
            atol=1e-6,
        )
        assert hit.payload["batch"] == last.payload["batch"]


@pytest.mark.slow
def test_an_alias_always_points_to_a_complete_collection_after_a_kill(tmp_path: Path) -> None:
    store = QdrantEdgeStore(tmp_path, lock_timeout_s=60)
    acknowledged: list[int] = []
    for seed in range(4):
        start = acknowledged[-1] + 2 if acknowledged else 0
        acknowledged += kill_during("rename", tmp_path, start, seed)
        with store.open("alias") as collection:
            assert collection.count() == BATCH
        assert store.aliases()["alias"] in {f"c{acknowledged[-1]}", f"c{acknowledged[-1] + 1}"}
        for name in store.names():
            store.create(name, DIMENSION)
            with store.open(name) as collection:
                collection.upsert(points_of(0))


if __name__ == "__main__":
    {"write": write_for_ever, "rename": rename_for_ever}[sys.argv[1]](
        Path(sys.argv[2]), int(sys.argv[3])
    )

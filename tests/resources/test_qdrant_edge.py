"""What only the embedded store has: a lock, pointer files, and folders that a kill can leave."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import qdrant_edge
from filelock import FileLock

from chunk_assets.errors import VectorStoreError
from chunk_assets.lineage.identity import ChunkId
from chunk_assets.retrieval.vector_store import Point, SparseVector
from resources.hnsw import HnswSettings
from resources.qdrant_edge import QdrantEdgeStore

NOTHING = SparseVector((), ())
HOLD = """
import sys
from pathlib import Path
from resources.qdrant_edge import QdrantEdgeStore
with QdrantEdgeStore(Path(sys.argv[1])).open("a"):
    sys.stdout.write("open\\n")
    sys.stdout.flush()
    sys.stdin.readline()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


def chunk(number: int) -> ChunkId:
    return ChunkId(str(uuid.UUID(int=number)))


def point(number: int) -> Point:
    return Point(chunk(number), np.asarray([1, 0, 0], np.float32), NOTHING, {"number": number})


@contextmanager
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has collection `a` open until it reads a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process
    finally:
        process.kill()
        process.communicate()


class TestWaiting:
    def test_a_second_process_waits_with_a_message_and_both_succeed(self, folder: Path) -> None:
        QdrantEdgeStore(folder).create("a", 3)
        told: list[str] = []
        with holder(folder) as other:
            assert other.stdin is not None

            def on_wait(message: str) -> None:
                told.append(message)
                assert other.stdin is not None
                other.stdin.write("done\n")
                other.stdin.flush()

            with QdrantEdgeStore(folder).open("a", on_wait=on_wait) as collection:
                collection.upsert([point(1)])
            assert other.wait(timeout=60) == 0
            assert told[0].startswith(f"collection 'a' is in use by process {other.pid}; waiting")
        with QdrantEdgeStore(folder).open("a") as collection:
            assert collection.count() == 1

    def test_a_wait_beyond_the_limit_names_the_holder_and_the_setting(self, folder: Path) -> None:
        QdrantEdgeStore(folder).create("a", 3)
        with (
            holder(folder) as other,
            pytest.raises(
                VectorStoreError, match=rf"'a' .* process {other.pid} .*lock_timeout_s \(now 0.2\)"
            ),
            QdrantEdgeStore(folder, lock_timeout_s=0.2).open("a"),
        ):
            pass

    def test_after_a_wait_that_was_given_up_the_collection_can_be_opened(
        self, folder: Path
    ) -> None:
        store = QdrantEdgeStore(folder, lock_timeout_s=0.2)
        store.create("a", 3)
        with holder(folder), pytest.raises(VectorStoreError), store.open("a"):
            pass
        with store.open("a") as collection:
            assert collection.count() == 0

    def test_a_collection_whose_holder_was_killed_can_be_opened(self, folder: Path) -> None:
        store = QdrantEdgeStore(folder, lock_timeout_s=60)
        store.create("a", 3)
        with holder(folder) as other:
            other.kill()
            other.wait()
            with store.open("a") as collection:
                assert collection.count() == 0

    def test_names_and_aliases_can_be_read_and_moved_while_a_collection_is_open_elsewhere(
        self, folder: Path
    ) -> None:
        store = QdrantEdgeStore(folder, lock_timeout_s=0.2)
        store.create("a", 3)
        with holder(folder):
            store.create("a", 3)
            store.create("b", 3)
            store.set_alias("alias", "a")
            assert store.names() == ["a", "b"]
            assert store.aliases() == {"alias": "a"}

    def test_a_collection_that_is_open_elsewhere_is_not_dropped(self, folder: Path) -> None:
        store = QdrantEdgeStore(folder, lock_timeout_s=0.2)
        store.create("a", 3)
        with holder(folder), pytest.raises(VectorStoreError, match="still in use"):
            store.drop("a")
        assert store.exists("a")

    def test_threads_of_one_process_take_turns(self, folder: Path) -> None:
        store = QdrantEdgeStore(folder)
        store.create("a", 3)
        told: list[str] = []

        def write(number: int) -> None:
            with store.open("a", on_wait=told.append) as collection:
                collection.upsert([point(number)])
                time.sleep(0.05)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with store.open("a") as collection:
            assert collection.count() == 4
        assert any("another thread of this process" in message for message in told)

    def test_opening_a_collection_twice_in_one_thread_is_refused_at_once(
        self, folder: Path
    ) -> None:
        store = QdrantEdgeStore(folder, lock_timeout_s=600)
        store.create("a", 3)
        with (
            store.open("a"),
            pytest.raises(VectorStoreError, match="already open in this thread"),
            store.open("a"),
        ):
            pass

    def test_a_program_that_holds_only_the_engines_own_lock_is_waited_for(
        self, folder: Path
    ) -> None:
        store = QdrantEdgeStore(folder)
        store.create("a", 3)
        foreign = qdrant_edge.EdgeShard.load(str(folder / "collections" / "a"))
        told: list[str] = []

        def on_wait(message: str) -> None:
            told.append(message)
            foreign.close()

        with store.open("a", on_wait=on_wait) as collection:
            assert collection.count() == 0
        assert "another program" in told[0]

    def test_an_alias_that_moved_on_from_a_dropped_collection_meanwhile_is_followed(
        self, folder: Path
    ) -> None:
        store = QdrantEdgeStore(folder)
        for name, points in (("a", []), ("b", [point(1)])):
            store.create(name, 3)
            with store.open(name) as collection:
                collection.upsert(points)
        store.set_alias("alias", "a")
        dropping = FileLock(folder / "collections" / "a.lock")
        dropping.acquire()

        def on_wait(message: str) -> None:
            store.set_alias("alias", "b")
            shutil.rmtree(folder / "collections" / "a")
            dropping.release()

        with store.open("alias", on_wait=on_wait) as collection:
            assert collection.count() == 1

    def test_a_collection_that_was_dropped_meanwhile_is_reported_missing(
        self, folder: Path
    ) -> None:
        store = QdrantEdgeStore(folder)
        store.create("a", 3)
        dropping = FileLock(folder / "collections" / "a.lock")
        dropping.acquire()

        def on_wait(message: str) -> None:
            shutil.rmtree(folder / "collections" / "a")
            dropping.release()

        with (
            pytest.raises(VectorStoreError, match="neither a collection nor an alias 'a'"),
            store.open("a", on_wait=on_wait),
        ):
            pass

    def test_a_collection_is_unusable_after_its_block(self, folder: Path) -> None:
        store = QdrantEdgeStore(folder)
        store.create("a", 3)
        with store.open("a") as collection:
            pass
        with pytest.raises(VectorStoreError, match="after its `open` block had ended"):
            collection.count()


class TestLeftovers:
    def test_a_collection_that_a_kill_left_half_created_is_created_anew(self, folder: Path) -> None:
        store = QdrantEdgeStore(folder)
        store.create("a", 3)
        (folder / "collections" / "a").rename(folder / "collections" / "a.creating")
        (folder / "collections" / "a.creating" / "collection.json").unlink()
        assert store.names() == []
        store.create("a", 4)
        assert store.names() == ["a"]
        assert not (folder / "collections" / "a.creating").exists()

    def test_a_collection_that_a_kill_left_half_dropped_is_gone(self, folder: Path) -> None:
        store = QdrantEdgeStore(folder)
        store.create("a", 3)
        (folder / "collections" / "a").rename(folder / "collections" / "a.dropping")
        assert store.names() == []
        assert not store.exists("a")
        store.drop("a")
        assert not (folder / "collections" / "a.dropping").exists()

    def test_an_empty_store_has_no_collections_and_no_aliases(self, folder: Path) -> None:
        store = QdrantEdgeStore(folder)
        assert (store.names(), store.aliases(), store.exists("a")) == ([], {}, False)
        assert not folder.exists()

    def test_a_damaged_description_names_its_file_and_the_remedy(self, folder: Path) -> None:
        store = QdrantEdgeStore(folder)
        store.create("a", 3)
        (folder / "collections" / "a" / "collection.json").write_text("{")
        with pytest.raises(VectorStoreError, match=r"collection\.json is unreadable.*delete"):
            store.create("a", 3)
        store.drop("a")
        assert store.names() == []

    def test_a_collection_of_a_later_format_is_refused(self, folder: Path) -> None:
        store = QdrantEdgeStore(folder)
        store.create("a", 3)
        description = folder / "collections" / "a" / "collection.json"
        description.write_text(json.dumps({"format": 2, "dimension": 3}))
        with pytest.raises(VectorStoreError, match="has format 2"), store.open("a"):
            pass

    def test_damaged_segments_name_the_collection_and_the_remedy(self, folder: Path) -> None:
        store = QdrantEdgeStore(folder)
        store.create("a", 3)
        with store.open("a") as collection:
            collection.upsert([point(1)])
        for path in (folder / "collections" / "a" / "segments").rglob("segment.json"):
            path.write_text("{")
        with pytest.raises(VectorStoreError, match=r"'a' at .* cannot be opened"), store.open("a"):
            pass

    def test_a_folder_that_is_a_file_is_named(self, folder: Path) -> None:
        folder.write_text("not a folder")
        with pytest.raises(VectorStoreError, match=str(folder)):
            QdrantEdgeStore(folder).create("a", 3)


class TestPointers:
    def test_an_unreadable_pointer_names_its_file_and_the_remedy(self, folder: Path) -> None:
        store = QdrantEdgeStore(folder)
        store.create("a", 3)
        store.set_alias("alias", "a")
        (folder / "aliases" / "alias.json").write_text('{"collection":')
        with pytest.raises(VectorStoreError, match=r"alias\.json is unreadable.*delete the file"):
            store.aliases()
        with pytest.raises(VectorStoreError, match="unreadable"), store.open("alias"):
            pass

    def test_an_unreadable_pointer_is_repaired_by_setting_the_alias(self, folder: Path) -> None:
        store = QdrantEdgeStore(folder)
        store.create("a", 3)
        store.set_alias("alias", "a")
        (folder / "aliases" / "alias.json").write_text("[]")
        store.set_alias("alias", "a")
        assert store.aliases() == {"alias": "a"}

    def test_a_dangling_pointer_names_its_target_and_the_remedy(self, folder: Path) -> None:
        store = QdrantEdgeStore(folder)
        store.create("a", 3)
        store.set_alias("alias", "a")
        (folder / "aliases" / "alias.json").write_text('{"collection": "gone"}')
        with (
            pytest.raises(VectorStoreError, match=r"'alias' points to collection 'gone'.*delete"),
            store.open("alias"),
        ):
            pass

    def test_readers_of_a_moving_alias_always_find_a_collection(self, folder: Path) -> None:
        store = QdrantEdgeStore(folder)
        for name in ("a", "b"):
            store.create(name, 3)
        store.set_alias("alias", "a")
        seen: list[str] = []
        moved = threading.Event()

        def read() -> None:
            while not moved.is_set():
                seen.append(store.aliases().get("alias", "none"))

        reader = threading.Thread(target=read)
        reader.start()
        for turn in range(100):
            store.set_alias("alias", "ab"[turn % 2])
        moved.set()
        reader.join()
        assert set(seen) <= {"a", "b"}
        assert len(seen) > 0


class TestIndex:
    @pytest.mark.slow
    def test_above_the_limit_of_exact_search_an_index_is_built_that_finds_the_same(
        self, folder: Path
    ) -> None:
        rng = np.random.default_rng(7)
        centres = rng.normal(size=(30, 32))
        vectors = centres[rng.integers(30, size=3_000)] + 0.3 * rng.normal(size=(3_000, 32))
        vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        store = QdrantEdgeStore(folder, hnsw=HnswSettings(exact_below=1_000))
        store.create("a", 32)
        with store.open("a") as collection:
            collection.upsert(
                [Point(chunk(n), vectors[n], NOTHING, {"number": n}) for n in range(3_000)]
            )
            collection.finish()
        graphs = [path for path in folder.rglob("*") if path.name.startswith("graph")]
        assert graphs
        with store.open("a") as collection:
            found = [
                {hit.payload["number"] for hit in collection.search_dense(vectors[n], 10)}
                for n in range(100)
            ]
        expected = [set(np.argsort(-(vectors @ vectors[n]))[:10].tolist()) for n in range(100)]
        shared = sum(len(a & b) for a, b in zip(found, expected, strict=True))
        assert shared / 1_000 > 0.95

    def test_below_the_limit_of_exact_search_finishing_builds_no_index(self, folder: Path) -> None:
        store = QdrantEdgeStore(folder)
        store.create("a", 3)
        with store.open("a") as collection:
            collection.upsert([point(number) for number in range(1_500)])
            collection.finish()
        assert not [path for path in folder.rglob("*") if path.name.startswith("graph")]


def test_the_holder_record_does_not_outlive_the_block(folder: Path) -> None:
    store = QdrantEdgeStore(folder)
    store.create("a", 3)
    record = folder / "collections" / "a.holder"
    with store.open("a"):
        assert json.loads(record.read_text())["pid"] == os.getpid()
    assert not record.exists()

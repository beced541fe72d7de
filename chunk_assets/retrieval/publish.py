"""Making a collection hold exactly the wanted points: new before old, resumable at any moment."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from chunk_assets.errors import VectorStoreError
from chunk_assets.lineage.identity import ChunkId
from chunk_assets.retrieval.vector_store import Collection, Payload, Point

BATCH_POINTS = 1_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a point should be; equal values mean that nothing has to be written."""

    vector_key: str
    payload_hash: str


@dataclass(frozen=True, slots=True)
class Difference:
    """What separates a collection from what it should hold, each list sorted."""

    write: list[ChunkId]
    """Absent, or with another vector: written whole."""
    update: list[ChunkId]
    """The same vector with another payload: only the payload is replaced."""
    delete: list[ChunkId]
    """Not wanted any more."""


class PointFactory(Protocol):
    """Makes what is written; only asked for what must be."""

    def points(self, ids: Sequence[ChunkId]) -> list[Point]:
        """Whole points."""

    def payloads(self, ids: Sequence[ChunkId]) -> dict[ChunkId, Payload]:
        """Payloads alone."""


def difference(collection: Collection, wanted: Mapping[ChunkId, Wanted]) -> Difference:
    """Compare a collection with what it should hold.

    The collection itself is read, not a record of what was once written to it: whatever a killed
    run left behind is seen and mended.
    """
    held = {
        identity: Wanted(str(payload.get("vector_key")), str(payload.get("payload_hash")))
        for identity, payload in collection.scroll(["vector_key", "payload_hash"])
    }
    write, update = [], []
    for identity, point in wanted.items():
        now = held.get(identity)
        if now is None or now.vector_key != point.vector_key:
            write.append(identity)
        elif now.payload_hash != point.payload_hash:
            update.append(identity)
    return Difference(sorted(write), sorted(update), sorted(held.keys() - wanted.keys()))


def publish(
    collection: Collection,
    wanted: Mapping[ChunkId, Wanted],
    factory: PointFactory,
    *,
    commit: Callable[[Difference], None],
    on_progress: Callable[[int, int], None],
) -> Difference:
    """Upsert, verify, commit, delete, in that order.

    Until `commit` returns, everything the collection held is still in it; a reader never sees a
    document vanish, and a kill at any moment leaves a state that the next call completes.

    Args:
        collection: the opened collection.
        wanted: every point it should hold.
        factory: makes the points that must be written.
        commit: records the new state; called when all new points are in and counted.
        on_progress: told the number of points written so far and in all.

    Raises:
        VectorStoreError: if the collection does not hold what was written to it.
    """
    todo = difference(collection, wanted)
    total = len(todo.write) + len(todo.update)
    done = 0
    for ids in _batches(todo.write):
        collection.upsert(factory.points(ids))
        done += len(ids)
        on_progress(done, total)
    for ids in _batches(todo.update):
        collection.replace_payloads(factory.payloads(ids))
        done += len(ids)
        on_progress(done, total)
    _verify(collection, len(wanted) + len(todo.delete), "after the new points were written")
    commit(todo)
    for ids in _batches(todo.delete):
        collection.delete(ids)
    _verify(collection, len(wanted), "after stale points were deleted")
    collection.finish()
    return todo


def _verify(collection: Collection, expected: int, moment: str) -> None:
    held = collection.count()
    if held != expected:
        raise VectorStoreError(
            f"The collection holds {held} points {moment}, expected {expected}: something else "
            "writes to it. Stop the other writer and materialize it again; nothing was deleted "
            "that is not replaced."
        )


def _batches(ids: Sequence[ChunkId]) -> Iterator[Sequence[ChunkId]]:
    for start in range(0, len(ids), BATCH_POINTS):
        yield ids[start : start + BATCH_POINTS]

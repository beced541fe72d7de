"""From any state to any other: new before old, and whatever happens in between."""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from qdrant_client import QdrantClient

from chunk_assets.errors import VectorStoreError
from chunk_assets.lineage.identity import ChunkId
from chunk_assets.retrieval import publish as publishing
from chunk_assets.retrieval.publish import Difference, Wanted, difference, publish
from chunk_assets.retrieval.vector_store import (
    Collection,
    Hit,
    Payload,
    Point,
    SparseVector,
    VectorStore,
)
from resources.qdrant_edge import QdrantEdgeStore
from resources.qdrant_server import QdrantServerStore

State = dict[int, tuple[int, int]]
"""Number of a point → which vector and which payload it has."""

STATES = st.dictionaries(
    st.integers(0, 7), st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=6
)
EXAMPLES: list[tuple[State, State]] = [
    ({}, {}),
    ({}, {0: (0, 0), 1: (0, 0), 2: (0, 0)}),
    ({0: (0, 0), 1: (0, 0), 2: (0, 0)}, {}),
    # Kept, another vector, another payload, gone, new.
    (
        {0: (0, 0), 1: (0, 0), 2: (0, 0), 3: (0, 0), 4: (0, 0)},
        {0: (0, 0), 1: (1, 0), 2: (0, 1), 5: (0, 0), 6: (1, 1), 7: (0, 0)},
    ),
]


def identity(number: int) -> ChunkId:
    return ChunkId(str(uuid.UUID(int=number + 1)))


def vector(version: int) -> npt.NDArray[np.float32]:
    components = np.zeros(4, np.float32)
    components[version] = 1.0
    return components


def payload(number: int, state: tuple[int, int]) -> Payload:
    return {
        "vector_key": f"v{state[0]}",
        "payload_hash": f"p{state[1]}",
        "text": f"chunk {number}, payload {state[1]}",
    }


def wanted_of(state: State) -> dict[ChunkId, Wanted]:
    return {identity(n): Wanted(f"v{v}", f"p{p}") for n, (v, p) in state.items()}


@dataclass
class Factory:
    """Makes points, and remembers which it was asked for."""

    state: State
    asked: list[ChunkId] = field(default_factory=list)

    def points(self, ids: Sequence[ChunkId]) -> list[Point]:
        self.asked += ids
        numbers = {identity(n): n for n in self.state}
        return [
            Point(
                i,
                vector(self.state[numbers[i]][0]),
                SparseVector((1,), (1.0,)),
                payload(numbers[i], self.state[numbers[i]]),
            )
            for i in ids
        ]

    def payloads(self, ids: Sequence[ChunkId]) -> dict[ChunkId, Payload]:
        return {point.id: point.payload for point in self.points(ids)}


class KilledError(Exception):
    """What stops a run in the middle."""


@dataclass
class Watched:
    """A real collection that tells every operation, and stops at one of them, before or after."""

    collection: Collection
    watch: Callable[[str], None] = lambda operation: None
    stop_at: int | None = None
    stops_before: bool = True
    operations: list[str] = field(default_factory=list)

    def _do(self, operation: str, action: Callable[[], Any]) -> Any:  # noqa: ANN401
        self.operations.append(operation)
        is_last = self.stop_at == len(self.operations)
        if is_last and self.stops_before:
            raise KilledError(operation)
        result = action()
        self.watch(operation)
        if is_last:
            raise KilledError(operation)
        return result

    def upsert(self, points: Sequence[Point]) -> None:
        self._do("upsert", lambda: self.collection.upsert(points))

    def replace_payloads(self, payloads: Mapping[ChunkId, Payload]) -> None:
        self._do("replace_payloads", lambda: self.collection.replace_payloads(payloads))

    def delete(self, ids: Sequence[ChunkId]) -> None:
        self._do("delete", lambda: self.collection.delete(ids))

    def count(self) -> int:
        return int(self._do("count", self.collection.count))

    def scroll(self, fields: Sequence[str]) -> Iterator[tuple[ChunkId, Payload]]:
        return iter(self._do("scroll", lambda: list(self.collection.scroll(fields))))

    def vectors(self, ids: Sequence[ChunkId]) -> dict[ChunkId, npt.NDArray[np.float32]]:
        return self.collection.vectors(ids)

    def search_dense(
        self, vector: npt.NDArray[np.float32], limit: int, where: Mapping[str, str] | None = None
    ) -> list[Hit]:
        return self.collection.search_dense(vector, limit, where)

    def search_sparse(
        self, vector: SparseVector, limit: int, where: Mapping[str, str] | None = None
    ) -> list[Hit]:
        return self.collection.search_sparse(vector, limit, where)

    def finish(self) -> None:
        self._do("finish", self.collection.finish)


def content(collection: Collection) -> State:
    """What a collection really holds, read from its vectors and texts."""
    held = dict(collection.scroll(["vector_key", "payload_hash", "text"]))
    vectors = collection.vectors(list(held))
    state = {}
    for point, values in held.items():
        number = uuid.UUID(point).int - 1
        version = int(np.argmax(vectors[point]))
        state[number] = (version, int(str(values["payload_hash"])[1:]))
        assert values == payload(number, state[number])
    return state


def fill(collection: Collection, state: State) -> None:
    collection.delete([identity(number) for number in range(8)])
    if state:
        collection.upsert(Factory(state).points([identity(number) for number in state]))


def bring(collection: Collection, state: State, commits: list[Difference] | None = None) -> Factory:
    factory = Factory(state)
    publish(
        collection,
        wanted_of(state),
        factory,
        commit=(commits if commits is not None else []).append,
        on_progress=lambda done, total: None,
    )
    return factory


@pytest.fixture(scope="module")
def memory() -> Iterator[Collection]:
    yield from _opened(QdrantServerStore(QdrantClient(":memory:")))


@pytest.fixture(scope="module", params=["embedded", "server in memory"])
def collection(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Collection]:
    if request.param == "embedded":
        yield from _opened(QdrantEdgeStore(tmp_path_factory.mktemp("store")))
    else:
        yield from _opened(QdrantServerStore(QdrantClient(":memory:")))


def _opened(store: VectorStore) -> Iterator[Collection]:
    store.create("published", 4)
    with store.open("published") as collection:
        yield collection


@pytest.fixture(autouse=True, scope="module")
def _small_batches() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publishing, "BATCH_POINTS", 2)
        yield


@settings(max_examples=60, deadline=None)
@given(before=STATES, after=STATES)
def test_from_any_state_to_any_other(memory: Collection, before: State, after: State) -> None:
    fill(memory, before)
    bring(memory, after)
    assert content(memory) == after


@pytest.mark.parametrize(("before", "after"), EXAMPLES)
def test_both_stores_end_with_what_is_wanted(
    collection: Collection, before: State, after: State
) -> None:
    fill(collection, before)
    bring(collection, after)
    assert content(collection) == after


@settings(max_examples=40, deadline=None)
@given(before=STATES, after=STATES)
def test_the_difference_is_what_must_be_done_and_no_more(
    memory: Collection, before: State, after: State
) -> None:
    fill(memory, before)
    found = difference(memory, wanted_of(after))
    new = {n for n in after if n not in before or after[n][0] != before[n][0]}
    payload_alone = {n for n in after.keys() - new if after[n] != before[n]}
    assert found.write == sorted(identity(n) for n in new)
    assert found.update == sorted(identity(n) for n in payload_alone)
    assert found.delete == sorted(identity(n) for n in before.keys() - after.keys())


@settings(max_examples=30, deadline=None)
@given(state=STATES)
def test_an_unchanged_collection_is_not_written_to(memory: Collection, state: State) -> None:
    fill(memory, state)
    watched = Watched(memory)
    factory = bring(watched, state)
    assert factory.asked == []
    assert not {"upsert", "replace_payloads", "delete"} & set(watched.operations)


def test_only_what_is_written_is_made(memory: Collection) -> None:
    before, after = EXAMPLES[3]
    fill(memory, before)
    factory = bring(memory, after)
    assert sorted(factory.asked) == sorted(identity(n) for n in (1, 2, 5, 6, 7))


def test_the_order_is_write_count_commit_delete_count_finish(memory: Collection) -> None:
    before, after = EXAMPLES[3]
    fill(memory, before)
    watched = Watched(memory)
    publish(
        watched,
        wanted_of(after),
        Factory(after),
        commit=lambda done: watched.operations.append("commit"),
        on_progress=lambda done, total: None,
    )
    assert watched.operations == [
        "scroll",
        "upsert",
        "upsert",
        "replace_payloads",
        "count",
        "commit",
        "delete",
        "count",
        "finish",
    ]


def test_progress_counts_every_written_point_up_to_their_number(memory: Collection) -> None:
    before, after = EXAMPLES[3]
    fill(memory, before)
    told: list[tuple[int, int]] = []
    publish(
        memory,
        wanted_of(after),
        Factory(after),
        commit=lambda done: None,
        on_progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(2, 5), (4, 5), (5, 5)]


def run_with_stops(collection: Collection, before: State, after: State) -> int:
    """Stop at every operation, before and after it, and go on; how often it was stopped."""
    stops = 0
    for stop_at in range(1, 100):
        for stops_before in (True, False):
            fill(collection, before)
            if not stop_once(collection, before, after, stop_at, stops_before):
                return stops
            stops += 1
            bring(collection, after)
            assert content(collection) == after
    raise AssertionError("it never came to its end")


def stop_once(
    collection: Collection, before: State, after: State, stop_at: int, stops_before: bool
) -> bool:
    """Publish until the given operation; a reader that looks after every one misses nothing."""
    commits: list[Difference] = []

    def look(operation: str) -> None:
        held = content(collection)
        for number in before.keys() & after.keys():
            assert held[number][0] in (before[number][0], after[number][0])
        if not commits:
            assert before.keys() <= held.keys(), f"a point vanished with {operation}"

    watched = Watched(collection, look, stop_at, stops_before)
    try:
        bring(watched, after, commits)
    except KilledError:
        return True
    return False


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(before=STATES, after=STATES)
def test_a_stop_at_any_operation_loses_nothing_and_is_mended(
    memory: Collection, before: State, after: State
) -> None:
    assert run_with_stops(memory, before, after) >= 6


def test_a_stop_at_any_operation_of_either_store_is_mended(collection: Collection) -> None:
    assert run_with_stops(collection, *EXAMPLES[3]) == 2 * 8


def test_a_commit_that_fails_leaves_the_old_points_where_they_are(memory: Collection) -> None:
    before, after = EXAMPLES[3]
    fill(memory, before)

    def fail(done: Difference) -> None:
        raise KilledError

    with pytest.raises(KilledError):
        publish(
            memory,
            wanted_of(after),
            Factory(after),
            commit=fail,
            on_progress=lambda done, total: None,
        )
    assert content(memory) == before | after


def test_the_commit_is_told_what_changed_when_everything_new_is_in(memory: Collection) -> None:
    before, after = EXAMPLES[3]
    fill(memory, before)
    seen: list[tuple[Difference, State]] = []
    result = publish(
        memory,
        wanted_of(after),
        Factory(after),
        commit=lambda done: seen.append((done, content(memory))),
        on_progress=lambda done, total: None,
    )
    assert seen == [(result, before | after)]
    assert result.delete == [identity(3), identity(4)]


@pytest.mark.parametrize("moment", ["upsert", "delete"])
def test_another_writer_is_noticed_before_or_after_the_commit(
    memory: Collection, moment: str
) -> None:
    before, after = EXAMPLES[3]
    fill(memory, before)
    foreign = Factory({40: (0, 0)}).points([identity(40)])

    def interfere(operation: str) -> None:
        if operation == moment:
            memory.upsert(foreign)

    commits: list[Difference] = []
    try:
        with pytest.raises(VectorStoreError, match="something else writes to it"):
            bring(Watched(memory, interfere), after, commits)
    finally:
        memory.delete([identity(40)])
    assert len(commits) == (moment == "delete")
    assert content(memory).keys() >= before.keys() & after.keys()


def test_points_of_an_older_layout_are_written_anew(memory: Collection) -> None:
    fill(memory, {})
    memory.upsert([Point(identity(0), vector(0), SparseVector((), ()), {"text": "old"})])
    bring(memory, {0: (0, 0)})
    assert content(memory) == {0: (0, 0)}


def test_a_collection_is_reopened_with_what_was_published(tmp_path: Path) -> None:
    store = QdrantEdgeStore(tmp_path)
    store.create("kept", 4)
    with store.open("kept") as collection:
        bring(collection, EXAMPLES[3][1])
    with QdrantEdgeStore(tmp_path).open("kept") as collection:
        assert content(collection) == EXAMPLES[3][1]

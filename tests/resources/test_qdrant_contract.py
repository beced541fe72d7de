"""What both adapters promise, sentence by sentence of the protocols' docstrings."""

import math
import os
import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from qdrant_client import QdrantClient

from chunk_assets.errors import VectorStoreError
from chunk_assets.lineage.identity import ChunkId
from chunk_assets.retrieval.vector_store import (
    Collection,
    Hit,
    Payload,
    Point,
    SparseVector,
    VectorStore,
)
from resources.qdrant_edge import QdrantEdgeStore
from resources.qdrant_server import QdrantServerStore, connect

Names = Callable[[str], str]
NOTHING = SparseVector((), ())


URL = os.environ.get("QDRANT_URL")


@pytest.fixture(
    scope="module", params=["embedded", "memory", "server"] if URL else ["embedded", "memory"]
)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> VectorStore:
    match request.param:
        case "embedded":
            return QdrantEdgeStore(tmp_path_factory.mktemp("store"))
        case "memory":
            return QdrantServerStore(QdrantClient(":memory:"))
        case _:
            return server()


def server() -> QdrantServerStore:
    assert URL
    return QdrantServerStore(connect(URL, api_key=os.environ.get("QDRANT_API_KEY")))


@contextmanager
def own_names(store: VectorStore) -> Iterator[Names]:
    """Names that no one else uses, and whose collections are gone afterwards."""
    prefix = f"test_{uuid.uuid4().hex}_"
    yield lambda name: prefix + name
    for name in store.names():
        if name.startswith(prefix):
            store.drop(name)


@pytest.fixture
def named(store: VectorStore) -> Iterator[Names]:
    with own_names(store) as names:
        yield names


@pytest.fixture(scope="module")
def one_point(store: VectorStore) -> Iterator[str]:
    """A collection that holds point 9 and is written to in vain."""
    with own_names(store) as names:
        yield filled(store, names("one"), [point(9)])


def chunk(number: int) -> ChunkId:
    return ChunkId(str(uuid.UUID(int=number)))


def vector(*values: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.asarray(values, dtype=np.float32)


def point(
    number: int,
    dense: Sequence[float] = (1.0, 0.0, 0.0),
    sparse: SparseVector = NOTHING,
    **payload: Any,  # noqa: ANN401 - any JSON, and in some tests what is none
) -> Point:
    return Point(chunk(number), vector(*dense), sparse, payload or {"number": number})


def terms(**weights: float) -> SparseVector:
    """Weights of terms named `t1`, `t2`, …"""
    return SparseVector(tuple(int(name[1:]) for name in weights), tuple(weights.values()))


def ids(hits: Sequence[Hit]) -> list[ChunkId]:
    return [hit.id for hit in hits]


def payloads(collection: Collection, *fields: str) -> dict[ChunkId, Payload]:
    return dict(collection.scroll(fields))


def filled(store: VectorStore, name: str, points: Sequence[Point], dimension: int = 3) -> str:
    store.create(name, dimension)
    with store.open(name) as collection:
        collection.upsert(points)
    return name


@pytest.mark.skipif(not URL, reason="QDRANT_URL is not set: the contract is not tested on a server")
def test_the_server_that_the_contract_is_tested_on_answers() -> None:
    assert isinstance(server().names(), list)


class TestNames:
    def test_a_created_collection_exists_and_is_empty(
        self, store: VectorStore, named: Names
    ) -> None:
        store.create(named("a"), 3)
        assert store.exists(named("a"))
        with store.open(named("a")) as collection:
            assert collection.count() == 0

    def test_creating_a_collection_again_leaves_its_points_alone(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(1)])
        store.create(name, 3)
        with store.open(name) as collection:
            assert collection.count() == 1

    def test_creating_a_collection_with_another_dimension_names_both_dimensions(
        self, store: VectorStore, named: Names
    ) -> None:
        store.create(named("a"), 3)
        with pytest.raises(VectorStoreError, match=r"dimension 3, not 4"):
            store.create(named("a"), 4)

    def test_a_collection_without_dimensions_is_refused(
        self, store: VectorStore, named: Names
    ) -> None:
        with pytest.raises(VectorStoreError, match="dimension 0"):
            store.create(named("a"), 0)

    @pytest.mark.parametrize("name", ["", "Upper", "a-b", "../a", "a/b", "a.b", "ä", "a" * 201])
    def test_a_name_that_is_no_safe_file_name_is_refused(
        self, store: VectorStore, name: str
    ) -> None:
        with pytest.raises(VectorStoreError, match="cannot name a collection"):
            store.create(name, 3)

    def test_a_collection_cannot_take_the_name_of_an_alias(
        self, store: VectorStore, named: Names
    ) -> None:
        store.create(named("a"), 3)
        store.set_alias(named("alias"), named("a"))
        with pytest.raises(VectorStoreError, match="is an alias"):
            store.create(named("alias"), 3)
        assert not store.exists(named("alias"))

    def test_an_alias_does_not_exist_as_a_collection(
        self, store: VectorStore, named: Names
    ) -> None:
        store.create(named("a"), 3)
        store.set_alias(named("alias"), named("a"))
        assert not store.exists(named("alias"))

    def test_names_are_all_collections_sorted(self, store: VectorStore, named: Names) -> None:
        for name in ("b", "c", "a"):
            store.create(named(name), 3)
        store.set_alias(named("alias"), named("a"))
        own = [name for name in store.names() if name.startswith(named(""))]
        assert own == [named("a"), named("b"), named("c")]

    def test_a_dropped_collection_is_gone(self, store: VectorStore, named: Names) -> None:
        name = filled(store, named("a"), [point(1)])
        store.drop(name)
        assert not store.exists(name)
        assert name not in store.names()

    def test_dropping_a_collection_that_does_not_exist_is_ignored(
        self, store: VectorStore, named: Names
    ) -> None:
        store.drop(named("missing"))

    def test_a_collection_created_after_a_drop_is_empty_and_may_have_another_dimension(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(1)])
        store.drop(name)
        store.create(name, 5)
        with store.open(name) as collection:
            assert collection.count() == 0

    def test_dropping_a_collection_removes_the_aliases_that_point_to_it(
        self, store: VectorStore, named: Names
    ) -> None:
        for name in ("a", "b"):
            store.create(named(name), 3)
            store.set_alias(named(f"to_{name}"), named(name))
        store.drop(named("a"))
        assert named("to_a") not in store.aliases()
        assert store.aliases()[named("to_b")] == named("b")


class TestAliases:
    def test_an_alias_opens_the_collection_it_points_to(
        self, store: VectorStore, named: Names
    ) -> None:
        filled(store, named("a"), [point(1)])
        store.set_alias(named("alias"), named("a"))
        with store.open(named("alias")) as collection:
            assert collection.count() == 1

    def test_aliases_name_the_collection_each_points_to(
        self, store: VectorStore, named: Names
    ) -> None:
        store.create(named("a"), 3)
        store.set_alias(named("x"), named("a"))
        store.set_alias(named("y"), named("a"))
        aliases = store.aliases()
        assert (aliases[named("x")], aliases[named("y")]) == (named("a"), named("a"))

    def test_an_alias_can_be_moved_to_another_collection(
        self, store: VectorStore, named: Names
    ) -> None:
        filled(store, named("a"), [point(1)])
        filled(store, named("b"), [point(1), point(2)])
        store.set_alias(named("alias"), named("a"))
        store.set_alias(named("alias"), named("b"))
        with store.open(named("alias")) as collection:
            assert collection.count() == 2

    def test_an_alias_can_be_moved_while_its_collection_is_open(
        self, store: VectorStore, named: Names
    ) -> None:
        filled(store, named("a"), [point(1)])
        store.create(named("b"), 3)
        store.set_alias(named("alias"), named("a"))
        with store.open(named("alias")) as collection:
            store.set_alias(named("alias"), named("b"))
            assert collection.count() == 1
        assert store.aliases()[named("alias")] == named("b")

    def test_an_alias_to_a_missing_collection_is_refused_and_stays_where_it_was(
        self, store: VectorStore, named: Names
    ) -> None:
        store.create(named("a"), 3)
        store.set_alias(named("alias"), named("a"))
        with pytest.raises(VectorStoreError, match="missing"):
            store.set_alias(named("alias"), named("missing"))
        assert store.aliases()[named("alias")] == named("a")

    def test_an_alias_to_an_alias_is_refused(self, store: VectorStore, named: Names) -> None:
        store.create(named("a"), 3)
        store.set_alias(named("alias"), named("a"))
        with pytest.raises(VectorStoreError):
            store.set_alias(named("second"), named("alias"))

    def test_an_alias_cannot_take_the_name_of_a_collection(
        self, store: VectorStore, named: Names
    ) -> None:
        store.create(named("a"), 3)
        store.create(named("b"), 3)
        with pytest.raises(VectorStoreError, match="is a collection"):
            store.set_alias(named("a"), named("b"))
        assert named("a") not in store.aliases()

    def test_an_alias_with_a_forbidden_name_is_refused(
        self, store: VectorStore, named: Names
    ) -> None:
        store.create(named("a"), 3)
        with pytest.raises(VectorStoreError, match="cannot name an alias"):
            store.set_alias("../alias", named("a"))


class TestOpening:
    def test_opening_an_unknown_name_lists_what_there_is(
        self, store: VectorStore, named: Names
    ) -> None:
        store.create(named("a"), 3)
        with (
            pytest.raises(VectorStoreError, match=rf"{named('b')}.*{named('a')}"),
            store.open(named("b")),
        ):
            pass

    def test_what_was_written_is_there_on_the_next_opening(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(1, text="kept")])
        with store.open(name) as collection:
            assert payloads(collection, "text") == {chunk(1): {"text": "kept"}}

    def test_an_error_inside_the_block_is_raised_and_the_collection_can_be_opened_again(
        self, store: VectorStore, named: Names
    ) -> None:
        store.create(named("a"), 3)

        def write_and_fail() -> None:
            with store.open(named("a")) as collection:
                collection.upsert([point(1)])
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            write_and_fail()
        with store.open(named("a")) as collection:
            assert collection.count() == 1


class TestUpsert:
    def test_points_are_written_whole(self, store: VectorStore, named: Names) -> None:
        name = filled(store, named("a"), [point(7, [0, 3, 4], terms(t5=2.0), text="seven")])
        with store.open(name) as collection:
            [dense] = collection.search_dense(vector(0, 3, 4), 5)
            [sparse] = collection.search_sparse(terms(t5=1.0), 5)
        assert dense.id == sparse.id == chunk(7)
        assert dense.payload == sparse.payload == {"text": "seven"}
        assert dense.score == pytest.approx(1.0)

    def test_an_existing_point_is_replaced_in_all_its_parts(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(1, [1, 0, 0], terms(t5=1.0), old="x")])
        with store.open(name) as collection:
            collection.upsert([point(1, [0, 1, 0], terms(t6=1.0), new="y")])
            assert collection.count() == 1
            assert payloads(collection, "old", "new") == {chunk(1): {"new": "y"}}
            assert collection.vectors([chunk(1)])[chunk(1)].tolist() == [0, 1, 0]
            assert collection.search_sparse(terms(t5=1.0), 5) == []
            assert len(collection.search_sparse(terms(t6=1.0), 5)) == 1

    def test_a_point_that_loses_its_terms_is_no_longer_found_by_them(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(1, sparse=terms(t5=1.0))])
        with store.open(name) as collection:
            collection.upsert([point(1, sparse=NOTHING)])
            assert collection.search_sparse(terms(t5=1.0), 5) == []
            assert collection.count() == 1

    def test_writing_no_points_changes_nothing(self, store: VectorStore, named: Names) -> None:
        name = filled(store, named("a"), [])
        with store.open(name) as collection:
            assert collection.count() == 0

    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            (point(2, [1, 0]), "dimension 3"),
            (Point(chunk(2), np.ones((1, 3), np.float32), NOTHING, {}), "shape"),
            (point(2, [1, math.nan, 0]), "NaN"),
            (point(2, [1, math.inf, 0]), "infinity"),
            (Point(chunk(2), np.asarray([1e300, 0, 0]), NOTHING, {}), "infinity"),
            (point(1), "twice in one call"),
            (Point(ChunkId("chunk-2"), vector(1, 0, 0), NOTHING, {}), "expected a UUID"),
            (Point(ChunkId(chunk(0xAB).upper()), vector(1, 0, 0), NOTHING, {}), "lower case"),
            (point(2, sparse=SparseVector((4, 4), (1.0, 1.0))), "index twice"),
            (point(2, sparse=SparseVector((4,), (1.0, 1.0))), "1 indices but 2 values"),
            (point(2, sparse=SparseVector((-1,), (1.0,))), "between 0 and"),
            (point(2, sparse=SparseVector((2**32,), (1.0,))), "between 0 and"),
            (point(2, sparse=SparseVector((4,), (math.nan,))), "NaN"),
            (point(2, x=math.nan), "finite"),
            (point(2, x=[{"y": math.inf}]), "finite"),
            (point(2, x=2**63), "64 bits"),
            (point(2, x="\ud800"), "UTF-8"),
            (point(2, x={1: "one"}), "no string"),
            (point(2, x={"a"}), "expected JSON"),
            (point(2, x=b"bytes"), "expected JSON"),
        ],
    )
    def test_a_bad_point_is_refused_and_nothing_of_the_call_is_written(
        self, store: VectorStore, one_point: str, bad: Point, message: str
    ) -> None:
        with store.open(one_point) as collection:
            with pytest.raises(VectorStoreError, match=message):
                collection.upsert([point(1), bad, point(3)])
            assert list(payloads(collection, "number")) == [chunk(9)]
        with store.open(one_point) as collection:
            assert list(payloads(collection, "number")) == [chunk(9)]

    def test_a_payload_comes_back_as_it_was(self, store: VectorStore, named: Names) -> None:
        payload: dict[str, Any] = {
            "text": "Zürich\n\x00 \U0001f9ea “quoted”",
            "empty": "",
            "path": ["A", "b"],
            "nothing": None,
            "yes": True,
            "most": 2**63 - 1,
            "least": -(2**63),
            "share": 0.1,
            "tiny": 5e-324,
            "nested": {"list": [1, [2, {"deep": None}]], "empty": {}, "none": []},
        }
        name = filled(store, named("a"), [point(1, **payload)])
        with store.open(name) as collection:
            assert payloads(collection, *payload) == {chunk(1): payload}

    def test_a_tuple_in_a_payload_comes_back_as_a_list(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(1, heading_path=("A", "b"))])
        with store.open(name) as collection:
            assert payloads(collection, "heading_path") == {chunk(1): {"heading_path": ["A", "b"]}}

    def test_a_call_with_more_points_than_one_batch_writes_them_all(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(number) for number in range(2_300)])
        with store.open(name) as collection:
            assert collection.count() == 2_300


class TestReplacePayloads:
    def test_the_whole_payload_is_replaced_and_the_vectors_stay(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(
            store,
            named("a"),
            [point(1, [0, 1, 0], terms(t5=1.0), old="x", uri="a"), point(2, other="kept")],
        )
        with store.open(name) as collection:
            collection.replace_payloads({chunk(1): {"new": ["y"], "uri": "b"}})
        with store.open(name) as collection:
            found = payloads(collection, "old", "new", "uri", "other")
            assert found == {chunk(1): {"new": ["y"], "uri": "b"}, chunk(2): {"other": "kept"}}
            assert collection.vectors([chunk(1)])[chunk(1)].tolist() == [0, 1, 0]
            assert len(collection.search_sparse(terms(t5=1.0), 5)) == 1
            assert collection.search_dense(vector(0, 1, 0), 5, {"uri": "a"}) == []
            assert len(collection.search_dense(vector(0, 1, 0), 5, {"uri": "b"})) == 1

    def test_replacing_the_payload_of_a_missing_point_is_refused_and_nothing_is_replaced(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(1, text="old")])
        with store.open(name) as collection:
            with pytest.raises(VectorStoreError, match=chunk(2)):
                collection.replace_payloads({chunk(1): {"text": "new"}, chunk(2): {"text": "new"}})
            assert payloads(collection, "text") == {chunk(1): {"text": "old"}}

    def test_a_bad_payload_is_refused_and_nothing_is_replaced(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(1, text="old"), point(2, text="old")])
        with store.open(name) as collection:
            with pytest.raises(VectorStoreError, match="finite"):
                collection.replace_payloads(
                    {chunk(1): {"text": "new"}, chunk(2): {"text": math.nan}}
                )
            assert payloads(collection, "text")[chunk(1)] == {"text": "old"}

    def test_more_payloads_than_one_batch_are_all_replaced(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(number) for number in range(600)])
        with store.open(name) as collection:
            collection.replace_payloads({chunk(n): {"number": -n} for n in range(600)})
            found = payloads(collection, "number")
        assert found == {chunk(n): {"number": -n} for n in range(600)}

    def test_replacing_no_payloads_changes_nothing(self, store: VectorStore, named: Names) -> None:
        name = filled(store, named("a"), [point(1)])
        with store.open(name) as collection:
            collection.replace_payloads({})
            assert payloads(collection, "number") == {chunk(1): {"number": 1}}


class TestDelete:
    def test_deleted_points_are_gone_and_others_stay(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(n, sparse=terms(t5=1.0)) for n in range(4)])
        with store.open(name) as collection:
            collection.delete([chunk(1), chunk(3)])
            assert collection.count() == 2
            assert set(payloads(collection, "number")) == {chunk(0), chunk(2)}
            assert ids(collection.search_dense(vector(1, 0, 0), 9)) == [chunk(0), chunk(2)]
            assert ids(collection.search_sparse(terms(t5=1.0), 9)) == [chunk(0), chunk(2)]

    def test_ids_that_do_not_exist_are_ignored(self, store: VectorStore, named: Names) -> None:
        name = filled(store, named("a"), [point(1)])
        with store.open(name) as collection:
            collection.delete([chunk(5), chunk(1), chunk(6)])
            assert collection.count() == 0

    def test_deleting_no_ids_changes_nothing(self, store: VectorStore, named: Names) -> None:
        name = filled(store, named("a"), [point(1)])
        with store.open(name) as collection:
            collection.delete([])
            assert collection.count() == 1

    def test_deleting_an_id_that_is_no_uuid_is_refused(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(1)])
        with store.open(name) as collection:
            with pytest.raises(VectorStoreError, match="expected a UUID"):
                collection.delete([chunk(1), ChunkId("nope")])
            assert collection.count() == 1


class TestReading:
    def test_scroll_gives_every_point_once_across_pages(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(number) for number in range(2_300)])
        with store.open(name) as collection:
            rows = list(collection.scroll(["number"]))
        assert len(rows) == 2_300
        assert dict(rows) == {chunk(n): {"number": n} for n in range(2_300)}

    def test_scroll_gives_the_named_fields_only(self, store: VectorStore, named: Names) -> None:
        name = filled(store, named("a"), [point(1, a=1, b=2, c=3), point(2, a=4)])
        with store.open(name) as collection:
            assert payloads(collection, "a", "c") == {
                chunk(1): {"a": 1, "c": 3},
                chunk(2): {"a": 4},
            }

    def test_scroll_without_fields_gives_empty_payloads(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(1, a=1)])
        with store.open(name) as collection:
            assert payloads(collection) == {chunk(1): {}}

    def test_scroll_refuses_a_field_that_reads_as_a_path(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(1)])
        with store.open(name) as collection, pytest.raises(VectorStoreError, match=r"a\.b"):
            list(collection.scroll(["a.b"]))

    def test_vectors_are_those_that_were_written_scaled_to_unit_length(
        self, store: VectorStore, named: Names
    ) -> None:
        rng = np.random.default_rng(1)
        written = rng.normal(size=(40, 8)).astype(np.float32)
        points = [point(n, written[n].tolist()) for n in range(40)]
        name = filled(store, named("a"), points, dimension=8)
        with store.open(name) as collection:
            found = collection.vectors([chunk(n) for n in range(40)])
        units = written / np.linalg.norm(written, axis=1, keepdims=True)
        assert found[chunk(0)].dtype == np.float32
        np.testing.assert_allclose(np.stack([found[chunk(n)] for n in range(40)]), units, atol=1e-6)

    def test_vectors_leave_out_points_that_do_not_exist(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(1)])
        with store.open(name) as collection:
            assert list(collection.vectors([chunk(2), chunk(1)])) == [chunk(1)]


class TestSearchDense:
    def test_scores_are_the_cosines_that_numpy_computes_best_first(
        self, store: VectorStore, named: Names
    ) -> None:
        rng = np.random.default_rng(2)
        written = rng.normal(size=(200, 16)).astype(np.float32)
        written /= np.linalg.norm(written, axis=1, keepdims=True)
        name = filled(
            store, named("a"), [point(n, written[n].tolist()) for n in range(200)], dimension=16
        )
        query = written[3] + 0.5 * written[4]
        cosines = written @ query / np.linalg.norm(query)
        with store.open(name) as collection:
            hits = collection.search_dense(query, 25)
        assert ids(hits) == [chunk(int(n)) for n in np.argsort(-cosines)[:25]]
        np.testing.assert_allclose([h.score for h in hits], np.sort(cosines)[::-1][:25], atol=1e-6)

    def test_a_limit_above_the_number_of_points_gives_all_points(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(n, [1, n, 0]) for n in range(3)])
        with store.open(name) as collection:
            assert len(collection.search_dense(vector(1, 0, 0), 1_000)) == 3

    def test_a_search_in_an_empty_collection_finds_nothing(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [])
        with store.open(name) as collection:
            assert collection.search_dense(vector(1, 0, 0), 5) == []
            assert collection.search_sparse(terms(t1=1.0), 5) == []

    def test_equal_scores_are_ordered_by_id_also_where_the_limit_cuts_among_them(
        self, store: VectorStore, named: Names
    ) -> None:
        numbers = list(range(1, 61))
        random.Random(3).shuffle(numbers)
        points = [point(n, [0, 1, 0]) for n in numbers] + [point(99, [1, 0, 0])]
        name = filled(store, named("a"), points)
        with store.open(name) as collection:
            hits = collection.search_dense(vector(1, 0.5, 0), 5)
        assert ids(hits) == [chunk(n) for n in (99, 1, 2, 3, 4)]
        assert hits[1].payload == {"number": 1}

    def test_where_demands_equal_payload_fields(self, store: VectorStore, named: Names) -> None:
        points = [point(n, uri=f"u{n % 2}", corpus=f"c{n % 3}") for n in range(12)]
        name = filled(store, named("a"), points)
        with store.open(name) as collection:
            hits = collection.search_dense(vector(1, 0, 0), 50, {"uri": "u1", "corpus": "c2"})
        assert ids(hits) == [chunk(5), chunk(11)]

    def test_where_on_a_list_demands_one_equal_element(
        self, store: VectorStore, named: Names
    ) -> None:
        points = [point(1, heading_path=["Guide", "Start"]), point(2, heading_path=["Guide"])]
        name = filled(store, named("a"), points)
        with store.open(name) as collection:
            hits = collection.search_dense(vector(1, 0, 0), 5, {"heading_path": "Start"})
        assert ids(hits) == [chunk(1)]

    def test_where_on_a_field_without_an_index_works_too(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(1, colour="red"), point(2, colour="blue")])
        with store.open(name) as collection:
            hits = collection.search_dense(vector(1, 0, 0), 5, {"colour": "blue"})
        assert ids(hits) == [chunk(2)]

    def test_where_that_no_point_meets_finds_nothing(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(1, uri="a")])
        with store.open(name) as collection:
            assert collection.search_dense(vector(1, 0, 0), 5, {"uri": "b"}) == []
            assert collection.search_dense(vector(1, 0, 0), 5, {"unknown": "b"}) == []

    @pytest.mark.parametrize(
        ("query", "message"), [((1, 0), "dimension 3"), ((1, math.nan, 0), "NaN")]
    )
    def test_a_bad_query_vector_is_refused(
        self, store: VectorStore, named: Names, query: tuple[float, ...], message: str
    ) -> None:
        name = filled(store, named("a"), [point(1)])
        with store.open(name) as collection, pytest.raises(VectorStoreError, match=message):
            collection.search_dense(vector(*query), 5)

    def test_a_limit_below_one_is_refused(self, store: VectorStore, named: Names) -> None:
        name = filled(store, named("a"), [point(1)])
        with store.open(name) as collection:
            with pytest.raises(VectorStoreError, match="limit"):
                collection.search_dense(vector(1, 0, 0), 0)
            with pytest.raises(VectorStoreError, match="limit"):
                collection.search_sparse(terms(t1=1.0), 0)


def idf(points: int, with_term: int) -> float:
    return math.log(1 + (points - with_term + 0.5) / (with_term + 0.5))


class TestSearchSparse:
    def test_scores_are_the_sums_of_weights_times_idf(
        self, store: VectorStore, named: Names
    ) -> None:
        points = [
            point(1, sparse=terms(t1=1.5, t2=0.5)),
            point(2, sparse=terms(t1=0.75)),
            point(3, sparse=terms(t2=2.0, t3=1.0)),
            point(4, sparse=terms(t4=1.0)),
        ]
        name = filled(store, named("a"), points)
        with store.open(name) as collection:
            hits = collection.search_sparse(terms(t1=1.0, t2=2.0), 5)
        expected = {
            chunk(1): (1.5 + 2 * 0.5) * idf(4, 2),
            chunk(2): 0.75 * idf(4, 2),
            chunk(3): 2 * 2.0 * idf(4, 2),
        }
        assert {hit.id: hit.score for hit in hits} == pytest.approx(expected, rel=1e-5)
        assert ids(hits) == [chunk(3), chunk(1), chunk(2)]

    def test_points_that_share_no_term_are_not_found(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(1, sparse=terms(t1=1.0)), point(2)])
        with store.open(name) as collection:
            assert collection.search_sparse(terms(t7=1.0), 5) == []
            assert ids(collection.search_sparse(terms(t1=1.0), 5)) == [chunk(1)]

    def test_an_empty_query_finds_nothing(self, store: VectorStore, named: Names) -> None:
        name = filled(store, named("a"), [point(1, sparse=terms(t1=1.0))])
        with store.open(name) as collection:
            assert collection.search_sparse(NOTHING, 5) == []

    def test_a_point_without_terms_is_found_by_its_dense_vector(
        self, store: VectorStore, named: Names
    ) -> None:
        name = filled(store, named("a"), [point(1, sparse=NOTHING)])
        with store.open(name) as collection:
            assert ids(collection.search_dense(vector(1, 0, 0), 5)) == [chunk(1)]

    def test_terms_may_come_in_any_order(self, store: VectorStore, named: Names) -> None:
        unsorted = SparseVector((900, 3, 50), (1.0, 2.0, 3.0))
        name = filled(
            store, named("a"), [point(1, sparse=unsorted), point(2, sparse=terms(t4=1.0))]
        )
        with store.open(name) as collection:
            [hit] = collection.search_sparse(SparseVector((50, 3), (1.0, 1.0)), 5)
        assert hit.score == pytest.approx(5.0 * idf(2, 1), rel=1e-5)

    def test_equal_scores_are_ordered_by_id_also_where_the_limit_cuts_among_them(
        self, store: VectorStore, named: Names
    ) -> None:
        numbers = list(range(1, 61))
        random.Random(4).shuffle(numbers)
        name = filled(store, named("a"), [point(n, sparse=terms(t1=1.0)) for n in numbers])
        with store.open(name) as collection:
            hits = collection.search_sparse(terms(t1=1.0), 4)
        assert ids(hits) == [chunk(n) for n in (1, 2, 3, 4)]
        assert hits[0].payload == {"number": 1}

    def test_where_demands_equal_payload_fields(self, store: VectorStore, named: Names) -> None:
        points = [point(n, sparse=terms(t1=1.0), uri=f"u{n % 2}") for n in range(4)]
        name = filled(store, named("a"), points)
        with store.open(name) as collection:
            hits = collection.search_sparse(terms(t1=1.0), 5, {"uri": "u1"})
        assert ids(hits) == [chunk(1), chunk(3)]

    def test_a_bad_query_vector_is_refused(self, store: VectorStore, named: Names) -> None:
        name = filled(store, named("a"), [point(1)])
        with store.open(name) as collection, pytest.raises(VectorStoreError, match="twice"):
            collection.search_sparse(SparseVector((1, 1), (1.0, 1.0)), 5)

    def test_after_deletions_a_reopened_collection_scores_like_one_that_never_had_the_points(
        self, store: VectorStore, named: Names
    ) -> None:
        kept = [point(n, sparse=terms(t1=1.0, **{f"t{n}": 1.0})) for n in range(2, 8)]
        gone = [point(n, sparse=terms(t1=1.0, t99=1.0)) for n in range(100, 120)]
        fresh = filled(store, named("fresh"), kept)
        edited = filled(store, named("edited"), [*gone, *kept])
        with store.open(edited) as collection:
            collection.delete([p.id for p in gone])
            collection.finish()
        query = terms(t1=1.0, t3=1.0, t99=1.0)
        with store.open(fresh) as collection:
            expected = collection.search_sparse(query, 5)
        with store.open(edited) as collection:
            assert collection.search_sparse(query, 5) == expected


class TestFinish:
    def test_finishing_changes_no_result(self, store: VectorStore, named: Names) -> None:
        rng = np.random.default_rng(5)
        written = rng.normal(size=(300, 8)).astype(np.float32)
        points = [
            point(n, written[n].tolist(), terms(**{f"t{n % 7}": 1.0 + n / 300})) for n in range(300)
        ]
        name = filled(store, named("a"), points, dimension=8)
        with store.open(name) as collection:
            dense = collection.search_dense(written[0], 20)
            sparse = collection.search_sparse(terms(t3=1.0), 20)
            collection.finish()
            assert ids(collection.search_dense(written[0], 20)) == ids(dense)
            assert ids(collection.search_sparse(terms(t3=1.0), 20)) == ids(sparse)
        with store.open(name) as collection:
            assert ids(collection.search_dense(written[0], 20)) == ids(dense)
            assert ids(collection.search_sparse(terms(t3=1.0), 20)) == ids(sparse)

    def test_finishing_an_empty_collection_is_fine(self, store: VectorStore, named: Names) -> None:
        store.create(named("a"), 3)
        with store.open(named("a")) as collection:
            collection.finish()
            assert collection.count() == 0

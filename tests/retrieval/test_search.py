"""The search that serves and that is evaluated, on both stores."""

import hashlib
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from qdrant_client import QdrantClient

from chunk_assets.embedding.embedder import Vectors
from chunk_assets.embedding.tokenizer import Tokenizer
from chunk_assets.errors import ChunkAssetsError, VectorStoreError
from chunk_assets.lineage.identity import ChunkId, Fingerprint, Json
from chunk_assets.retrieval.bm25 import Bm25Encoder
from chunk_assets.retrieval.config import RetrievalConfig
from chunk_assets.retrieval.search import SearchHit, search
from chunk_assets.retrieval.vector_store import Collection, Point, VectorStore
from resources.qdrant_edge import QdrantEdgeStore
from resources.qdrant_server import QdrantServerStore

DIMENSION = 64
HYBRID = RetrievalConfig()
DENSE = RetrievalConfig(mode="dense")
SPARSE = RetrievalConfig(mode="sparse")
TEXTS = [
    "Cats sleep most of the day.",
    "Dogs bark at the postman.",
    "The postman delivers letters and parcels.",
    "Letters need stamps; parcels need string.",
    "Cats chase string and mice.",
    "Mice fear cats but not dogs.",
]


class TrigramEmbedder:
    """Hashed character trigrams: a real, if modest, embedding, and a count of its calls."""

    name = "trigrams"
    fingerprint = Fingerprint("trigrams")
    dimension = DIMENSION
    max_tokens = 512

    def __init__(self) -> None:
        self.calls = 0

    @property
    def tokenizer(self) -> Tokenizer:
        raise NotImplementedError

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), DIMENSION), np.float32)
        for row, text in enumerate(texts):
            for start in range(max(1, len(text) - 2)):
                digest = hashlib.blake2b(text[start : start + 3].lower().encode(), digest_size=4)
                vectors[row, int.from_bytes(digest.digest(), "big") % DIMENSION] += 1
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self.calls += 1
        return self.embed_passages(texts)


def chunk(number: int) -> ChunkId:
    return ChunkId(str(uuid.UUID(int=number)))


def points_of(texts: Sequence[str]) -> list[Point]:
    dense = TrigramEmbedder().embed_passages(texts)
    sparse = Bm25Encoder(HYBRID.bm25).passages(texts)
    return [
        Point(
            chunk(n),
            dense[n],
            sparse[n],
            {
                "document_id": str(uuid.UUID(int=n // 2)),
                "uri": f"{n // 2}.md",
                "ordinal": n % 2,
                "start": 10 * n,
                "end": 10 * n + len(text),
                "heading_path": ["Animals", f"Part {n // 2}"],
                "text": text,
                "tokens": len(text.split()),
                "level": 0,
                "run_id": "r1",
            },
        )
        for n, text in enumerate(texts)
    ]


def store_at(kind: str, folder: Path) -> VectorStore:
    if kind == "embedded":
        return QdrantEdgeStore(folder / "store")
    return QdrantServerStore(QdrantClient(":memory:"))


@pytest.fixture(scope="module", params=["embedded", "memory"])
def collection(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Collection]:
    """The six texts; the tests only read it."""
    store = store_at(request.param, tmp_path_factory.mktemp("store"))
    store.create("animals", DIMENSION)
    with store.open("animals") as collection:
        collection.upsert(points_of(TEXTS))
        yield collection


def ids(hits: Sequence[SearchHit]) -> list[ChunkId]:
    return [hit.chunk_id for hit in hits]


def test_a_hit_carries_what_it_takes_to_show_the_chunk(collection: Collection) -> None:
    [[hit]] = search(collection, TrigramEmbedder(), ["parcels and stamps"], k=1, config=HYBRID)
    assert hit.chunk_id == chunk(3)
    assert hit.text == TEXTS[3]
    assert (hit.document_id, hit.uri, hit.ordinal) == (str(uuid.UUID(int=1)), "1.md", 1)
    assert (hit.start, hit.end) == (30, 30 + len(TEXTS[3]))
    assert hit.heading_path == ("Animals", "Part 1")
    assert hit.tokens == 6
    assert hit.payload == {"level": 0, "run_id": "r1"}


def test_ranks_count_from_one_and_scores_never_rise(collection: Collection) -> None:
    for config in (HYBRID, DENSE, SPARSE):
        [hits] = search(collection, TrigramEmbedder(), ["cats and mice"], k=6, config=config)
        assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True)


def test_dense_search_ranks_as_the_collection_does(collection: Collection) -> None:
    embedder = TrigramEmbedder()
    [hits] = search(collection, embedder, ["chasing cats"], k=4, config=DENSE)
    expected = collection.search_dense(embedder.embed_queries(["chasing cats"])[0], 4)
    assert ids(hits) == [hit.id for hit in expected]
    assert [hit.dense_rank for hit in hits] == [1, 2, 3, 4]
    assert {hit.sparse_rank for hit in hits} == {None}


def test_sparse_search_finds_only_chunks_that_share_a_term(collection: Collection) -> None:
    [hits] = search(collection, TrigramEmbedder(), ["barking dogs"], k=6, config=SPARSE)
    assert set(ids(hits)) == {chunk(1), chunk(5)}
    assert ids(hits)[0] == chunk(1)
    assert [hit.sparse_rank for hit in hits] == [1, 2]
    assert {hit.dense_rank for hit in hits} == {None}


def test_hybrid_search_fuses_both_rankings_and_shows_both_ranks(collection: Collection) -> None:
    [dense] = search(collection, TrigramEmbedder(), ["cat string"], k=6, config=DENSE)
    [sparse] = search(collection, TrigramEmbedder(), ["cat string"], k=6, config=SPARSE)
    [hybrid] = search(collection, TrigramEmbedder(), ["cat string"], k=6, config=HYBRID)
    dense_rank = {hit.chunk_id: hit.rank for hit in dense}
    sparse_rank = {hit.chunk_id: hit.rank for hit in sparse}
    assert len(sparse) < len(hybrid) == 6
    for hit in hybrid:
        assert hit.dense_rank == dense_rank.get(hit.chunk_id)
        assert hit.sparse_rank == sparse_rank.get(hit.chunk_id)
        ranks = [rank for rank in (hit.dense_rank, hit.sparse_rank) if rank is not None]
        assert hit.score == pytest.approx(sum(1 / (60 + rank) for rank in ranks))


def test_candidates_bound_what_each_ranking_contributes(collection: Collection) -> None:
    narrow = RetrievalConfig(candidates=1)
    [hits] = search(collection, TrigramEmbedder(), ["cat string"], k=1, config=narrow)
    assert {hits[0].dense_rank, hits[0].sparse_rank} <= {1, None}


def test_more_chunks_can_be_asked_for_than_candidates(collection: Collection) -> None:
    narrow = RetrievalConfig(candidates=1)
    [hits] = search(collection, TrigramEmbedder(), ["cat string"], k=5, config=narrow)
    assert len(hits) == 5


def test_asking_for_more_chunks_than_there_are_gives_all(collection: Collection) -> None:
    [hits] = search(collection, TrigramEmbedder(), ["cats"], k=1_000, config=HYBRID)
    assert len(hits) == len(TEXTS)


def test_each_query_has_its_own_list_and_all_are_embedded_in_one_call(
    collection: Collection,
) -> None:
    embedder = TrigramEmbedder()
    queries = ["barking dogs", "parcels and stamps", "barking dogs"]
    results = search(collection, embedder, queries, k=3, config=HYBRID)
    assert embedder.calls == 1
    assert [hits[0].chunk_id for hits in results] == [chunk(1), chunk(3), chunk(1)]
    assert results[0] == results[2]


def test_a_sparse_search_embeds_nothing(collection: Collection) -> None:
    embedder = TrigramEmbedder()
    search(collection, embedder, ["dogs"], k=3, config=SPARSE)
    assert embedder.calls == 0


def test_a_query_of_stop_words_finds_nothing_by_terms_and_something_by_meaning(
    collection: Collection,
) -> None:
    [sparse] = search(collection, TrigramEmbedder(), ["of the"], k=3, config=SPARSE)
    [hybrid] = search(collection, TrigramEmbedder(), ["of the"], k=3, config=HYBRID)
    assert sparse == []
    assert len(hybrid) == 3
    assert {hit.sparse_rank for hit in hybrid} == {None}


def test_where_restricts_every_mode(collection: Collection) -> None:
    for config in (HYBRID, DENSE, SPARSE):
        [hits] = search(
            collection, TrigramEmbedder(), ["cats"], k=6, config=config, where={"uri": "2.md"}
        )
        assert hits
        assert {hit.uri for hit in hits} == {"2.md"}


def test_no_queries_give_no_results(collection: Collection) -> None:
    assert search(collection, TrigramEmbedder(), [], k=3, config=HYBRID) == []


@pytest.mark.parametrize("blank", ["", "  \n\t"])
def test_a_blank_query_is_refused_with_its_position(collection: Collection, blank: str) -> None:
    with pytest.raises(ChunkAssetsError, match="query 2 of 2 is blank"):
        search(collection, TrigramEmbedder(), ["cats", blank], k=3, config=HYBRID)


@pytest.mark.parametrize("k", [0, -1])
def test_asking_for_fewer_than_one_chunk_is_refused(collection: Collection, k: int) -> None:
    with pytest.raises(ChunkAssetsError, match="k must be at least 1"):
        search(collection, TrigramEmbedder(), ["cats"], k=k, config=HYBRID)


@pytest.mark.parametrize(("field", "value"), [("uri", None), ("start", "10"), ("text", 5)])
def test_a_payload_that_no_chunk_has_names_point_and_field(
    tmp_path: Path, field: str, value: Json
) -> None:
    store = store_at("memory", tmp_path)
    store.create("animals", DIMENSION)
    [point] = points_of(TEXTS[:1])
    with store.open("animals") as collection:
        collection.upsert([replace(point, payload={**point.payload, field: value})])
        with pytest.raises(VectorStoreError, match=rf"{chunk(0)}: payload field `{field}`"):
            search(collection, TrigramEmbedder(), ["cats"], k=6, config=HYBRID)


@pytest.mark.parametrize("config", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_both_stores_give_the_same_scores_rank_by_rank(
    tmp_path: Path, config: RetrievalConfig
) -> None:
    rng = np.random.default_rng(11)
    words = [f"word{n}" for n in range(300)]
    texts = [" ".join(rng.choice(words, size=rng.integers(3, 30))) for _ in range(400)]
    queries = [" ".join(rng.choice(words, size=3)) for _ in range(25)]
    scores = []
    for kind in ("embedded", "memory"):
        store = store_at(kind, tmp_path)
        store.create("words", DIMENSION)
        with store.open("words") as collection:
            collection.upsert(points_of(texts))
            found = search(collection, TrigramEmbedder(), queries, k=10, config=config)
        scores.append([[hit.score for hit in hits] for hits in found])
    for embedded, memory in zip(*scores, strict=True):
        assert embedded == pytest.approx(memory, rel=1e-5)


def test_the_order_of_writing_changes_no_result(tmp_path: Path) -> None:
    texts = [TEXTS[n % len(TEXTS)] for n in range(60)]  # ten copies of each: ties everywhere
    points = points_of(texts)
    results = []
    for name, order in (("forward", points), ("backward", points[::-1])):
        store = store_at("embedded", tmp_path / name)
        store.create("copies", DIMENSION)
        with store.open("copies") as collection:
            collection.upsert(order)
            [hits] = search(collection, TrigramEmbedder(), ["cats"], k=15, config=HYBRID)
        results.append(ids(hits))
    assert results[0] == results[1]

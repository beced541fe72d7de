"""Search in an opened collection: the one code that serves and that is evaluated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from chunk_assets.embedding.embedder import Embedder
from chunk_assets.errors import ChunkAssetsError, VectorStoreError
from chunk_assets.lineage.identity import ChunkId, DocumentId, Json
from chunk_assets.retrieval.bm25 import Bm25Encoder
from chunk_assets.retrieval.config import RetrievalConfig
from chunk_assets.retrieval.fusion import reciprocal_rank_fusion
from chunk_assets.retrieval.vector_store import Collection, Hit, Payload

_NAMED = ("document_id", "uri", "start", "end", "text", "heading_path", "ordinal", "tokens")
"""The payload fields that `SearchHit` has as attributes; the others stay in its `payload`."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One retrieved chunk, with what it takes to show it and to explain its rank."""

    rank: int
    """From 1."""
    score: float
    """Cosine (dense), BM25 (sparse) or the sum of reciprocal ranks (hybrid); higher is better."""
    chunk_id: ChunkId
    document_id: DocumentId
    uri: str
    start: int
    """First code point in the document's normalized text."""
    end: int
    """One past the last code point."""
    text: str
    heading_path: tuple[str, ...]
    ordinal: int
    """0-based position of the chunk in its document."""
    tokens: int | None
    """Size of what was embedded, where the payload has it."""
    dense_rank: int | None
    """Rank among the dense candidates; None if it is not one."""
    sparse_rank: int | None
    """Rank among the sparse candidates; None if it is not one."""
    payload: Payload
    """The remaining fields of the payload."""


def search(
    collection: Collection,
    embedder: Embedder,
    queries: Sequence[str],
    *,
    k: int,
    config: RetrievalConfig,
    where: Mapping[str, str] | None = None,
) -> list[list[SearchHit]]:
    """The best `k` chunks for each query, best first (fewer where the collection has fewer).

    The order is deterministic: equal scores are ordered by chunk id. A sparse search finds only
    chunks that share a term with the query, so it may return fewer than `k`.

    Args:
        collection: the opened collection.
        embedder: embeds the queries, in one call; unused in sparse mode.
        queries: questions or key words.
        k: how many chunks to return per query.
        config: the mode and its parameters.
        where: payload fields that must equal a value (in a list field: one of its elements).

    Raises:
        ChunkAssetsError: if `k` is below 1 or a query is blank.
        VectorStoreError: if the collection lacks a payload field that every chunk has.
    """
    if k < 1:
        raise ChunkAssetsError(f"cannot return the best {k} chunks: k must be at least 1")
    for position, query in enumerate(queries, start=1):
        if not query.strip():
            raise ChunkAssetsError(
                f"query {position} of {len(queries)} is blank: {query!r}; ask for at least a word"
            )
    if not queries:
        return []
    depth = k if config.mode != "hybrid" else max(k, config.candidates)
    dense: list[list[Hit]] | None = None
    sparse: list[list[Hit]] | None = None
    if config.mode != "sparse":
        vectors = embedder.embed_queries(queries)
        dense = [collection.search_dense(vector, depth, where) for vector in vectors]
    if config.mode != "dense":
        terms = Bm25Encoder(config.bm25).queries(queries)
        sparse = [collection.search_sparse(vector, depth, where) for vector in terms]
    return [
        _ranked(
            dense[position] if dense is not None else None,
            sparse[position] if sparse is not None else None,
            k=k,
            rrf_k=config.rrf_k,
        )
        for position in range(len(queries))
    ]


def _ranked(
    dense: list[Hit] | None, sparse: list[Hit] | None, *, k: int, rrf_k: int
) -> list[SearchHit]:
    payloads = {hit.id: hit.payload for hits in (dense, sparse) for hit in hits or ()}
    dense_ranks = _ranks(dense)
    sparse_ranks = _ranks(sparse)
    if dense is not None and sparse is not None:
        scored = reciprocal_rank_fusion([list(dense_ranks), list(sparse_ranks)], k=rrf_k)
    else:
        scored = [(hit.id, hit.score) for hit in dense or sparse or ()]
    return [
        _search_hit(
            rank, score, chunk, payloads[chunk], dense_ranks.get(chunk), sparse_ranks.get(chunk)
        )
        for rank, (chunk, score) in enumerate(scored[:k], start=1)
    ]


def _ranks(hits: list[Hit] | None) -> dict[ChunkId, int]:
    return {hit.id: rank for rank, hit in enumerate(hits or (), start=1)}


def _search_hit(
    rank: int,
    score: float,
    chunk: ChunkId,
    payload: Payload,
    dense_rank: int | None,
    sparse_rank: int | None,
) -> SearchHit:
    tokens = payload.get("tokens")
    return SearchHit(
        rank=rank,
        score=score,
        chunk_id=chunk,
        document_id=DocumentId(_text(chunk, payload, "document_id")),
        uri=_text(chunk, payload, "uri"),
        start=_integer(chunk, payload, "start"),
        end=_integer(chunk, payload, "end"),
        text=_text(chunk, payload, "text"),
        heading_path=tuple(
            str(heading) for heading in cast(Sequence[Json], payload.get("heading_path") or ())
        ),
        ordinal=_integer(chunk, payload, "ordinal"),
        tokens=tokens if isinstance(tokens, int) else None,
        dense_rank=dense_rank,
        sparse_rank=sparse_rank,
        payload={field: value for field, value in payload.items() if field not in _NAMED},
    )


def _text(chunk: ChunkId, payload: Payload, field: str) -> str:
    value = payload.get(field)
    if not isinstance(value, str):
        raise _unusable(chunk, field, value, "text")
    return value


def _integer(chunk: ChunkId, payload: Payload, field: str) -> int:
    value = payload.get(field)
    if not isinstance(value, int):
        raise _unusable(chunk, field, value, "an integer")
    return value


def _unusable(chunk: ChunkId, field: str, value: Json, expected: str) -> VectorStoreError:
    return VectorStoreError(
        f"point {chunk}: payload field `{field}` is {value!r}, expected {expected}; the collection "
        "was not written by chunk-assets or by an older version: materialize `collections` again"
    )

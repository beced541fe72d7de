"""The points of an index, from the tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from chunk_assets.corpus import Corpus, Index
from chunk_assets.errors import VectorStoreError
from chunk_assets.lineage.identity import ChunkId, Fingerprint, VectorKey
from chunk_assets.retrieval.bm25 import Bm25Encoder
from chunk_assets.retrieval.payload import payload_hash, payload_of
from chunk_assets.retrieval.publish import Wanted
from chunk_assets.retrieval.vector_store import Payload, Point
from resources.platform import Platform
from resources.vectors import Vectors


@dataclass(frozen=True)
class IndexPoints:
    """Every point an index should have; vectors are fetched only for those that are written."""

    corpus: str
    chunks: dict[ChunkId, dict[str, Any]]
    embeddings: dict[ChunkId, dict[str, Any]]
    embedder: Fingerprint
    vectors: Vectors
    sparse: Bm25Encoder
    provenance: dict[str, str | int]
    """`generation` and `run_id` of what is written now."""

    @property
    def wanted(self) -> dict[ChunkId, Wanted]:
        """What each point should be."""
        return {
            identity: Wanted(row["vector_key"], row["payload_hash"])
            for identity, row in self.embeddings.items()
        }

    def points(self, ids: Sequence[ChunkId]) -> list[Point]:
        """Whole points."""
        keys = [VectorKey(self.embeddings[identity]["vector_key"]) for identity in ids]
        vectors = self.vectors.vectors(self.embedder, sorted(set(keys)))
        missing = [key for key in keys if key not in vectors]
        if missing:
            raise VectorStoreError(
                f"{len(missing)} vectors that `embeddings` refers to are not in the table "
                f"`vectors` (first: {missing[0]}). Materialize `{self.corpus}/embeddings` again."
            )
        sparse = self.sparse.passages([self.chunks[identity]["embed_text"] for identity in ids])
        payloads = self.payloads(ids)
        return [
            Point(identity, vectors[key], terms, payloads[identity])
            for identity, key, terms in zip(ids, keys, sparse, strict=True)
        ]

    def payloads(self, ids: Sequence[ChunkId]) -> dict[ChunkId, Payload]:
        """Payloads with their provenance."""
        return {identity: self._payload(identity) for identity in ids}

    def _payload(self, identity: ChunkId) -> Payload:
        embedding = self.embeddings[identity]
        payload = payload_of(
            self.corpus,
            self.chunks[identity],
            vector_key=embedding["vector_key"],
            embedder_fingerprint=self.embedder,
            tokens=embedding["tokens"],
        )
        return {**payload, "payload_hash": payload_hash(payload), **self.provenance}


def index_points(
    platform: Platform,
    corpus: Corpus,
    index: Index,
    *,
    embeddings: pa.Table,
    provenance: dict[str, str | int],
) -> IndexPoints:
    """The points that rows of `embeddings` ask for.

    Raises:
        VectorStoreError: if a row refers to a chunk that is not in `chunks`.
    """
    chunks = {
        ChunkId(row["chunk_id"]): row
        for row in platform.read(corpus, "chunks", where={"strategy": index.strategy}).to_pylist()
    }
    rows = {ChunkId(row["chunk_id"]): row for row in embeddings.to_pylist()}
    unknown = rows.keys() - chunks.keys()
    if unknown:
        raise VectorStoreError(
            f"`{corpus.name}/embeddings` of index {index.name!r} refers to {len(unknown)} chunks "
            f"that are not in `{corpus.name}/chunks` (first: {min(unknown)}). Run "
            "`chunk-assets apply`: the chunks changed since and are embedded first."
        )
    return IndexPoints(
        corpus=corpus.name,
        chunks=chunks,
        embeddings=rows,
        embedder=platform.embedder(index.embedder).fingerprint,
        vectors=Vectors(platform.tables),
        sparse=Bm25Encoder(corpus.config.retrieval.bm25),
        provenance=provenance,
    )

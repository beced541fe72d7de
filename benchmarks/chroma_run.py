"""Chroma's evaluation through this project's own code: chunk, embed, search, score."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.chroma_data import ChromaData
from benchmarks.chroma_scores import Scorer, Span, Spread, first_occurrence, spread
from chunk_assets.chunking.chunk import Chunk
from chunk_assets.chunking.identified import identify
from chunk_assets.chunking.pipeline import chunk_document
from chunk_assets.chunking.strategy import parse_strategy
from chunk_assets.embedding.embedder import Embedder
from chunk_assets.embedding.tokenizer import Tokenizer
from chunk_assets.embedding.work import Block, Progress, embed_missing
from chunk_assets.errors import EmbeddingError
from chunk_assets.lineage.identity import ChunkId, document_id, vector_key
from chunk_assets.parsing.document import Document
from chunk_assets.parsing.markdown import parse_markdown
from chunk_assets.retrieval.bm25 import Bm25Encoder
from chunk_assets.retrieval.config import RetrievalConfig
from chunk_assets.retrieval.search import SearchHit, search
from chunk_assets.retrieval.vector_store import Point
from resources.qdrant_edge import QdrantEdgeStore
from resources.tables import Tables
from resources.vectors import Embedded, Vectors

STRATEGIES: Mapping[str, Mapping[str, object]] = {
    "fixed_overlap 250/125": {"chunker": "fixed_overlap", "max_tokens": 250, "overlap": 125},
    "fixed_overlap 250/0": {"chunker": "fixed_overlap", "max_tokens": 250, "overlap": 0},
    "fixed_overlap 200/0": {"chunker": "fixed_overlap", "max_tokens": 200, "overlap": 0},
    "sentence_aware 250/0": {"chunker": "sentence_aware", "max_tokens": 250},
    "sentence_aware 200/0": {"chunker": "sentence_aware", "max_tokens": 200},
    "hierarchy 250/0": {"chunker": "hierarchy", "max_tokens": 250},
    "hierarchy 200/0": {"chunker": "hierarchy", "max_tokens": 200},
}
"""Sizes are in tokens of the embedder, its special tokens apart."""

RETRIEVED = 5
BUDGETS = (500, 1000, 2000)
DEPTH = 100
"""Chunks retrieved per question: enough to fill 2,000 tokens with chunks of 20."""

Tell = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True)
class Row:
    """One chunk of the benchmark's corpora."""

    chunk_id: ChunkId
    document: Document
    chunk: Chunk
    tokens: int
    """Of its text, by the embedder's tokenizer."""

    @property
    def span(self) -> Span:
        """Where it stands."""
        return self.document.uri, self.chunk.start, self.chunk.end

    @property
    def span_found(self) -> Span:
        """Where Chroma's code believes it to stand."""
        return (
            self.document.uri,
            *first_occurrence(self.document.text, self.chunk.start, self.chunk.end),
        )


@dataclass(frozen=True, slots=True)
class Result:
    """What one strategy scores, in per cent."""

    strategy: str
    chunks: int
    mean_tokens: float
    recall: Spread
    precision: Spread
    precision_omega: Spread
    iou: Spread
    exact_recall: Spread
    """Recall with chunks where they really stand."""
    exact_precision_omega: Spread
    """PrecisionΩ with chunks where they really stand."""
    recall_at_tokens: Mapping[int, Spread]
    """Recall at equal budgets of retrieved tokens, with chunks where they really stand."""


def run_strategy(
    name: str,
    data: ChromaData,
    embedder: Embedder,
    retrieval: RetrievalConfig,
    cache: Path,
    tell: Tell,
) -> Result:
    """Chunk, embed, search and score all questions with one of `STRATEGIES`.

    Args:
        name: which strategy.
        data: corpora and questions.
        embedder: the model.
        retrieval: how chunks are searched.
        cache: folder where vectors are kept by `vector_key`, so that none is made twice.
        tell: told the progress.
    """
    rows = cut(name, data, embedder.tokenizer, tell)
    points = embed(name, rows, embedder, retrieval, cache, tell)
    with tempfile.TemporaryDirectory() as folder:
        store = QdrantEdgeStore(Path(folder))
        store.create("chroma", embedder.dimension)
        with store.open("chroma") as collection:
            tell(f"{name}: searching", 0, len(data.queries))
            collection.upsert(points)
            collection.finish()
            hits = search(
                collection,
                embedder,
                [query.query for query in data.queries],
                k=DEPTH,
                config=retrieval,
            )
    tell(f"{name}: searching", len(data.queries), len(data.queries))
    return score(name, data, rows, hits)


def cut(name: str, data: ChromaData, tokenizer: Tokenizer, tell: Tell) -> list[Row]:
    """Chunks of all corpora, which are files of Markdown by their names."""
    strategy = parse_strategy(STRATEGIES[name])
    rows: list[Row] = []
    for done, (uri, text) in enumerate(data.texts.items()):
        tell(f"{name}: chunking", done, len(data.texts))
        document = Document(
            document_id("chroma", uri), uri, text, parse_markdown(text).blocks, format="markdown"
        )
        chunks = chunk_document(document, strategy, tokenizer)
        tokens = tokenizer.count([chunk.text for chunk in chunks])
        identified = identify(document.document_id, chunks)
        rows.extend(
            Row(chunk_id, document, chunk, count)
            for (chunk_id, chunk), count in zip(identified, tokens, strict=True)
        )
    tell(f"{name}: chunking", len(data.texts), len(data.texts))
    return rows


def embed(
    name: str,
    rows: Sequence[Row],
    embedder: Embedder,
    retrieval: RetrievalConfig,
    cache: Path,
    tell: Tell,
) -> list[Point]:
    """Points of all chunks; only texts whose vectors are not cached go through the model."""
    keys = [vector_key(embedder.fingerprint, row.chunk.embed_text) for row in rows]
    texts = {key: row.chunk.embed_text for key, row in zip(keys, rows, strict=True)}
    vectors = Vectors(Tables(cache))
    stored = vectors.embedded(embedder.fingerprint, sorted(texts))

    def store(block: Block) -> None:
        made = zip(block.keys, block.vectors, _embedded(block), strict=True)
        vectors.append(embedder.fingerprint, list(made), "benchmark")

    def on_progress(progress: Progress) -> None:
        tell(f"{name}: embedding tokens", progress.done_tokens, progress.total_tokens)

    report = embed_missing(
        [(key, text) for key, text in sorted(texts.items()) if key not in stored],
        embedder,
        overflow="pool",
        store=store,
        on_progress=on_progress,
    )
    if report.failed:
        raise EmbeddingError(f"{name}: {len(report.failed)} texts: {report.failed[0].reason}")
    found = vectors.vectors(embedder.fingerprint, sorted(texts))
    terms = Bm25Encoder(retrieval.bm25).passages([row.chunk.embed_text for row in rows])
    return [
        Point(
            row.chunk_id,
            found[key],
            sparse,
            {
                "document_id": row.document.document_id,
                "uri": row.document.uri,
                "start": row.chunk.start,
                "end": row.chunk.end,
                "text": row.chunk.text,
                "heading_path": list(row.chunk.heading_path),
                "ordinal": row.chunk.ordinal,
                "tokens": row.tokens,
            },
        )
        for row, key, sparse in zip(rows, keys, terms, strict=True)
    ]


def _embedded(block: Block) -> list[Embedded]:
    made = zip(block.tokens, block.tokens_embedded, block.flags, strict=True)
    return [Embedded(tokens, embedded, flags) for tokens, embedded, flags in made]


def score(
    name: str, data: ChromaData, rows: Sequence[Row], hits: Sequence[Sequence[SearchHit]]
) -> Result:
    """Scores by Chroma's definitions, and at equal budgets."""
    scorer = Scorer(data)
    by_id = {row.chunk_id: row for row in rows}
    ranked = [[by_id[hit.chunk_id] for hit in of_query] for of_query in hits]
    first = [of_query[:RETRIEVED] for of_query in ranked]
    scores = scorer.scores([[row.span_found for row in of_query] for of_query in first])
    exact = scorer.scores([[row.span for row in of_query] for of_query in first])
    return Result(
        strategy=name,
        chunks=len(rows),
        mean_tokens=float(np.mean([row.tokens for row in rows])),
        recall=spread(scores["recall"]),
        precision=spread(scores["precision"]),
        precision_omega=spread(scorer.precision_omega([row.span_found for row in rows])),
        iou=spread(scores["iou"]),
        exact_recall=spread(exact["recall"]),
        exact_precision_omega=spread(scorer.precision_omega([row.span for row in rows])),
        recall_at_tokens={
            budget: spread(
                scorer.recall_within(
                    [[(row.span, row.tokens) for row in of_query] for of_query in ranked], budget
                )
            )
            for budget in BUDGETS
        },
    )

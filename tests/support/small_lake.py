"""A corpus of a few rows in real Delta tables, for tests that count by hand."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from resources.schemas import CORPUS_TABLES, PARTITIONED_BY, SHARED_TABLES
from resources.tables import Tables
from resources.warehouse import Warehouse

CORPUS = "handbook"
START = datetime(2024, 5, 1, 12, tzinfo=UTC)


def at(minute: int) -> datetime:
    """A moment, for the columns that hold one."""
    return START + timedelta(minutes=minute)


class SmallLake:
    """Collects rows, then writes them. What a test does not name is a plausible default."""

    def __init__(self, folder: Path, corpus: str = CORPUS) -> None:
        self.tables = Tables(folder)
        self.warehouse = Warehouse(self.tables)
        self.corpus = corpus
        self.rows: dict[str, list[dict[str, Any]]] = defaultdict(list)

    def add(self, table: str, **values: object) -> dict[str, Any]:
        """One row of any table; columns that are not named are null."""
        self.rows[table].append(values)
        return values

    def document(
        self,
        document_id: str,
        text: str,
        *,
        bucket: str = "b00",
        version: str = "v1",
    ) -> None:
        """A document, and the bytes it was parsed from."""
        shared = {
            "bucket": bucket,
            "document_id": document_id,
            "uri": f"{document_id}.md",
            "content_hash": f"bytes of {document_id}",
        }
        self.add("raw_documents", **shared, size_bytes=len(text.encode()), content=text.encode())
        self.add(
            "documents",
            **shared,
            title=document_id.title(),
            format="markdown",
            state="ok",
            parser_fingerprint="parser-1",
            text_hash=f"text of {document_id}",
            document_version=version,
            text=text,
            text_length=len(text),
        )

    def strategy(self, name: str) -> None:
        """A configured strategy."""
        self.add(
            "strategy_config",
            strategy=name,
            strategy_fingerprint=f"{name}-1",
            tokenizer="minilm",
            configuration="{}",
        )

    def chunk(
        self, strategy: str, document_id: str, start: int, end: int, **more: object
    ) -> dict[str, Any]:
        """A chunk of a document added before: its exact slice."""
        document = next(row for row in self.rows["documents"] if row["document_id"] == document_id)
        ordinal = sum(
            row["strategy"] == strategy and row["document_id"] == document_id
            for row in self.rows["chunks"]
        )
        text = document["text"][start:end]
        defaults = {
            "bucket": document["bucket"],
            "strategy": strategy,
            "chunk_id": f"{document_id}-{start}-{end}",
            "document_id": document_id,
            "uri": document["uri"],
            "document_version": document["document_version"],
            "strategy_fingerprint": f"{strategy}-1",
            "ordinal": ordinal,
            "level": 0,
            "span_start": start,
            "span_end": end,
            "heading_path": [],
            "text": text,
            "embed_text": text,
            "size": end - start,
            "flags": [],
        }
        return self.add("chunks", **(defaults | more))

    def index(self, strategy: str, embedder: str, tokens: Sequence[int]) -> str:
        """An index of all chunks of a strategy: embeddings, vectors and points.

        Args:
            strategy: its strategy, whose chunks were added before.
            embedder: its embedder.
            tokens: the tokens of each chunk, in the order they were added.
        """
        name = f"{strategy}__{embedder}"
        self.add(
            "embedder_config",
            index=name,
            strategy=strategy,
            embedder=embedder,
            embedder_fingerprint=f"{embedder}-1",
            dimension=2,
            max_tokens=256,
            configuration="{}",
        )
        chunks = [row for row in self.rows["chunks"] if row["strategy"] == strategy]
        for chunk, count in zip(chunks, tokens, strict=True):
            key = f"{embedder}-1 of {chunk['embed_text']}"
            link = {
                "index": name,
                "chunk_id": chunk["chunk_id"],
                "document_id": chunk["document_id"],
                "vector_key": key,
                "payload_hash": f"payload of {chunk['chunk_id']}",
            }
            self.add(
                "embeddings",
                **link,
                bucket=chunk["bucket"],
                embedder_fingerprint=f"{embedder}-1",
                tokens=count,
                tokens_embedded=count,
                flags=[],
            )
            self.add(
                "collections",
                **link,
                collection=f"{self.corpus}__{name}",
                generation=1,
                run_id="run-collections",
            )
            if all(row["vector_key"] != key for row in self.rows["vectors"]):
                self.add(
                    "vectors",
                    embedder_fingerprint=f"{embedder}-1",
                    vector_key=key,
                    vector=[1.0, 0.0],
                    tokens=count,
                    tokens_embedded=count,
                    flags=[],
                    run_id="run-embeddings",
                    created_at=at(0),
                )
        return name

    def run(self, stage: str, partition: str, minute: int, **more: object) -> None:
        """A materialization."""
        defaults = {
            "corpus": self.corpus,
            "stage": stage,
            "partition": partition,
            "run_id": f"run-{stage}",
            "status": "ok",
            "data_version": f"{stage} {partition}",
            "code_version": "1",
            "git_commit": "abc123",
            "counts": "{}",
            "tokens": 0,
            "seconds": 1.0,
            "finished_at": at(minute),
        }
        self.add("runs", **(defaults | more))

    def quarantine(self, stage: str, partition: str, document_id: str, **more: object) -> None:
        """Something that a stage could not process."""
        defaults = {
            "corpus": self.corpus,
            "stage": stage,
            "partition": partition,
            "document_id": document_id,
            "uri": f"{document_id}.md",
            "input_version": "v1",
            "error": "ChunkingError",
            "message": "it cannot be cut",
            "first_seen": at(0),
            "last_seen": at(1),
            "run_id": f"run-{stage}",
        }
        self.add("quarantine", **(defaults | more))

    def score(
        self,
        index: str,
        metric: str,
        cutoff: int | None,
        mean: float | None,
        *,
        kind: str | None = "chunks",
        gold_set: str = "gold",
        half_width: float = 0.1,
        queries: int = 20,
    ) -> None:
        """A metric's mean over the gold queries, with a symmetric interval."""
        self.add(
            "evaluation_summaries",
            gold_set=gold_set,
            index=index,
            metric=metric,
            cutoff_unit=kind,
            cutoff=cutoff,
            mean=mean,
            low=None if mean is None else mean - half_width,
            high=None if mean is None else mean + half_width,
            confidence=0.95,
            queries=queries,
            clusters=5,
        )

    def write(self) -> "SmallLake":
        """Store the rows, each partition of each table in one commit."""
        for table, rows in self.rows.items():
            schema = {**CORPUS_TABLES, **SHARED_TABLES}[table]
            name = table if table in SHARED_TABLES else f"{self.corpus}/{table}"
            if table in ("runs", "vectors"):
                self.tables.append(name, pa.Table.from_pylist(rows, schema=schema))
                continue
            partitions: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
            for row in rows:
                partitions[tuple(row[column] for column in PARTITIONED_BY[table])].append(row)
            for key, part in partitions.items():
                self.tables.replace(
                    name,
                    pa.Table.from_pylist(part, schema=schema),
                    dict(zip(PARTITIONED_BY[table], key, strict=True)),
                )
        return self

    def mart(self, model: str) -> list[dict[str, Any]]:
        """The rows of a model, computed from what is stored."""
        rows: list[dict[str, Any]] = self.warehouse.run_model(self.corpus, model).to_pylist()
        return rows

    def materialize(self, *marts: str) -> "SmallLake":
        """Compute and store marts; all of them where none is named."""
        for mart in marts or self.warehouse.models:
            self.tables.overwrite(
                f"{self.corpus}/{mart}", self.warehouse.run_model(self.corpus, mart)
            )
        return self


def whole_lake(folder: Path) -> SmallLake:
    """A corpus that went through every stage without a fault: two documents, two strategies."""
    lake = SmallLake(folder)
    lake.document("guide", "# Guide\n\nOne two three.\n\nFour five.", bucket="b00")
    lake.document("notes", "Six seven eight nine.", bucket="b01")
    lake.strategy("sections")
    lake.chunk("sections", "guide", 0, 23, heading_path=["Guide"])
    lake.chunk("sections", "guide", 25, 35, heading_path=["Guide"], flags=["oversize"])
    lake.chunk("sections", "notes", 0, 21)
    lake.strategy("windows")
    lake.chunk("windows", "guide", 0, 35)
    lake.chunk("windows", "notes", 0, 10)
    lake.chunk("windows", "notes", 4, 21, overlap_start=10)
    for index, recall in (
        (lake.index("sections", "minilm", [6, 3, 5]), 0.8),
        (lake.index("windows", "minilm", [9, 3, 4]), 0.7),
    ):
        for metric in ("evidence_recall", "recall", "precision", "hit", "span_recall", "span_iou"):
            lake.score(index, metric, 5, recall)
        lake.score(index, "ndcg", 10, recall - 0.1)
        lake.score(index, "recip_rank", None, recall - 0.2, kind=None)
        lake.score(index, "span_recall", 1000, recall, kind="tokens")
    for minute, (stage, partitions) in enumerate(
        {
            "raw_documents": ["b00", "b01"],
            "documents": ["b00", "b01"],
            "chunks": ["b00|sections", "b01|sections", "b00|windows", "b01|windows"],
            "embeddings": [
                "b00|sections__minilm",
                "b01|sections__minilm",
                "b00|windows__minilm",
                "b01|windows__minilm",
            ],
            "collections": ["sections__minilm", "windows__minilm"],
        }.items()
    ):
        for partition in partitions:
            lake.run(stage, partition, minute)
    lake.quarantine("documents", "b00", "broken", error="ParseError", message="no such format")
    return lake.write().materialize()

"""What the checks of each stage look at: tables in, findings out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chunk_assets.chunking.verify import violations
from chunk_assets.corpus import Corpus
from chunk_assets.embedding.embedder import Embedder
from chunk_assets.embedding.unit_vectors import defect
from chunk_assets.lineage.identity import VectorKey
from partitions.stages import StagePartition, split
from resources.platform import Platform
from resources.vectors import Vectors

SHOWN = 10


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found in one partition: nothing in `offenders` means that it passed."""

    offenders: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)


Findings = dict[str, Finding]
Inspect = Callable[[Platform, Corpus, StagePartition], Findings]


@dataclass(frozen=True, slots=True)
class Promise:
    """What must hold of every partition of a stage."""

    description: str
    blocking: bool


def inspect_raw_documents(platform: Platform, corpus: Corpus, work: StagePartition) -> Findings:
    """Nothing is left out in silence."""
    return {"nothing_quarantined": _quarantined(platform, corpus, work)}


def _quarantined(platform: Platform, corpus: Corpus, work: StagePartition) -> Finding:
    failures = platform.quarantine.failures(corpus.name, work)
    return Finding(
        [f"{failure.uri}: {failure.message}" for failure in failures],
        {"quarantined": len(failures)},
    )


def inspect_documents(platform: Platform, corpus: Corpus, work: StagePartition) -> Findings:
    """Nothing is left out in silence, and blocks lie in their text."""
    rows = platform.tables.read(
        corpus.table("documents"),
        ["uri", "blocks", "text_length"],
        where={"bucket": work.partition},
    )
    misplaced = [row["uri"] for row in rows.to_pylist() if not _are_ordered(row)]
    return {
        "nothing_quarantined": _quarantined(platform, corpus, work),
        "blocks_lie_in_text": Finding(misplaced, {"documents": rows.num_rows}),
    }


def _are_ordered(row: dict[str, list[dict[str, int]]]) -> bool:
    edges = [0, *(edge for b in row["blocks"] for edge in (b["start"], b["end"]))]
    edges.append(row["text_length"])  # type: ignore[arg-type]  # the one column that is a number
    return bool(np.all(np.diff(edges) >= 0))


def inspect_chunks(platform: Platform, corpus: Corpus, work: StagePartition) -> Findings:
    """Every chunk is its slice, every character is in a chunk, every id is there once."""
    bucket, strategy = split(work.partition)
    documents = platform.tables.read(
        corpus.table("documents"), ["document_id", "uri", "text"], where={"bucket": bucket}
    )
    chunks = platform.tables.read(
        corpus.table("chunks"),
        [
            "chunk_id",
            "document_id",
            "ordinal",
            "span_start",
            "span_end",
            "overlap_start",
            "text",
            "size",
            "flags",
        ],
        where={"bucket": bucket, "strategy": strategy},
        filter=pc.field("level") == 0,
    ).sort_by("ordinal")
    maximum = corpus.strategy_configs[strategy].maximum
    explained = {failure.document_id for failure in platform.quarantine.failures(corpus.name, work)}
    wrong: list[str] = []
    lost: list[str] = []
    by_document = _grouped(chunks)
    for row in documents.to_pylist():
        own = by_document.pop(row["document_id"], [])
        if not own and row["document_id"] in explained:
            continue
        for violation in violations(
            row["text"],
            [chunk["span_start"] for chunk in own],
            [chunk["span_end"] for chunk in own],
            [chunk["text"] for chunk in own],
            overlap_starts=[chunk["overlap_start"] for chunk in own],
            sizes=[chunk["size"] for chunk in own],
            maximum=maximum,
            flags=[chunk["flags"] for chunk in own],
        ):
            place = f"{row['uri']} [{violation.start}, {violation.end})"
            (lost if violation.promise == "coverage" else wrong).append(
                f"{place}: {violation.detail}"
            )
    wrong += [f"document {identity} is not in `documents`" for identity in by_document]
    counts = pc.value_counts(chunks["chunk_id"]).to_pylist()
    repeated = [item["values"] for item in counts if item["counts"] > 1]
    return {
        "spans_exact": Finding(wrong, {"chunks": chunks.num_rows}),
        "coverage_complete": Finding(lost, {"explained_documents": len(explained)}),
        "ids_unique": Finding(repeated, {"chunks": chunks.num_rows}),
    }


def _grouped(rows: pa.Table) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows.to_pylist():
        groups.setdefault(row["document_id"], []).append(row)
    return groups


def inspect_embeddings(platform: Platform, corpus: Corpus, work: StagePartition) -> Findings:
    """Every vector is there, finite, of length one and of the model's dimension."""
    bucket, index_name = split(work.partition)
    index = corpus.indexes[index_name]
    embedder = platform.embedder(index.embedder)
    rows = platform.tables.read(
        corpus.table("embeddings"), ["vector_key"], where={"bucket": bucket, "index": index_name}
    )
    keys = sorted({VectorKey(key) for key in rows["vector_key"].to_pylist()})
    faults = faulty_vectors(platform, embedder, keys)
    return {
        "vectors_valid": Finding(
            [f"{key}: {fault}" for key, fault in faults.items()], {"vectors": len(keys)}
        ),
        "every_chunk_embedded": _quarantined(platform, corpus, work),
    }


def faulty_vectors(
    platform: Platform, embedder: Embedder, keys: Sequence[VectorKey]
) -> dict[VectorKey, str]:
    """Keys that have no good vector, with what is wrong."""
    vectors = Vectors(platform.tables).vectors(embedder.fingerprint, keys)
    faults = {key: _fault(vectors.get(key), embedder.dimension) for key in keys}
    return {key: fault for key, fault in faults.items() if fault is not None}


def _fault(vector: npt.NDArray[np.float32] | None, dimension: int) -> str | None:
    if vector is None:
        return "not in the table `vectors`"
    if vector.shape != (dimension,):
        return f"{vector.shape[0]} components, expected {dimension}"
    return defect(vector)


def inspect_collection(platform: Platform, corpus: Corpus, work: StagePartition) -> Findings:
    """The collection holds as many points as its table."""
    name = platform.collection_name(corpus, corpus.indexes[work.partition])
    rows = platform.tables.read(
        corpus.table("collections"), ["chunk_id"], where={"index": work.partition}
    )
    with platform.vector_store.open(name) as collection:
        held = collection.count()
    offenders = [] if held == rows.num_rows else [f"{name}: {held} points, table: {rows.num_rows}"]
    return {"count_matches_table": Finding(offenders, {"points": held, "rows": rows.num_rows})}

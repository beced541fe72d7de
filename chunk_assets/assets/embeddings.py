"""`embeddings`: which vector every chunk of an index has."""

from collections.abc import Mapping
from typing import Any

import dagster as dg
import pyarrow as pa

from chunk_assets.assets.findings import faulty_vectors
from chunk_assets.assets.recording import Recorder
from chunk_assets.corpus import Corpus
from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.embedder import Embedder
from chunk_assets.embedding.usage import Usage, computed_by
from chunk_assets.embedding.work import Block, Progress, embed_missing
from chunk_assets.lineage.identity import Fingerprint, VectorKey, data_version, vector_key
from chunk_assets.retrieval.payload import payload_hash, payload_of
from partitions.definitions import CorpusPartitions
from partitions.mappings import by_dimension, chunks_to_embeddings
from partitions.stages import split
from resources.platform import Platform
from resources.quarantine import Failure
from resources.schemas import CORPUS_TABLES
from resources.vectors import Embedded, Vectors

STAGE = "embeddings"


def build_embeddings(corpus: Corpus, partitions: CorpusPartitions) -> dg.AssetsDefinition:
    """The asset of one corpus."""

    @dg.asset(
        key=[corpus.name, STAGE],
        partitions_def=partitions.bucket_index,
        deps=[
            dg.AssetDep([corpus.name, "chunks"], partition_mapping=chunks_to_embeddings(corpus)),
            dg.AssetDep([corpus.name, "embedder_config"], partition_mapping=by_dimension("index")),
        ],
        group_name=corpus.name,
        kinds={"pytorch", "deltalake"},
        code_version="1",
    )
    def embeddings(
        context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform]
    ) -> dg.MaterializeResult[None]:
        """A row is one chunk of an index with the key of its vector; each text is embedded once."""
        recorder = Recorder(context, platform, corpus, STAGE)
        bucket, index_name = split(recorder.work.partition)
        index = corpus.indexes[index_name]
        embedder = platform.embedder(index.embedder)
        embedder_config = corpus.embedder_configs[index.embedder]
        chunks = platform.tables.read(
            corpus.table("chunks"), where={"bucket": bucket, "strategy": index.strategy}
        ).to_pylist()
        keys = {
            row["chunk_id"]: vector_key(embedder.fingerprint, row["embed_text"]) for row in chunks
        }
        texts = {keys[row["chunk_id"]]: row["embed_text"] for row in chunks}
        vectors = Vectors(platform.tables)
        stored = vectors.embedded(embedder.fingerprint, sorted(texts))
        if not recorder.may_reuse:
            for wrong in faulty_vectors(platform, embedder, sorted(stored)):
                del stored[wrong]
        reused = len(stored)

        def store(block: Block) -> None:
            how = map(Embedded, block.tokens, block.tokens_embedded, block.flags)
            items = list(zip(block.keys, block.vectors, how, strict=True))
            vectors.append(embedder.fingerprint, items, recorder.run_id)
            stored.update((key, embedded) for key, _, embedded in items)

        def on_progress(progress: Progress) -> None:
            platform.on_progress("tokens", progress.done_tokens, progress.total_tokens)

        report = embed_missing(
            [(key, text) for key, text in sorted(texts.items()) if key not in stored],
            embedder,
            overflow=embedder_config.overflow,
            store=store,
            on_progress=on_progress,
        )
        failed = {failure.key: failure.reason for failure in report.failed}
        rows = pa.Table.from_pylist(
            [
                _row(bucket, index_name, corpus.name, row, key, embedder.fingerprint, stored[key])
                for row in chunks
                if (key := keys[row["chunk_id"]]) in stored
            ],
            schema=CORPUS_TABLES[STAGE],
        )
        previous = platform.tables.read(
            corpus.table(STAGE), where={"bucket": bucket, "index": index_name}
        )
        if not rows.equals(previous) or not platform.tables.exists(corpus.table(STAGE)):
            platform.tables.replace(
                corpus.table(STAGE), rows, {"bucket": bucket, "index": index_name}
            )
        platform.quarantine.replace(
            corpus.name,
            recorder.work,
            [
                Failure(
                    row["document_id"],
                    row["uri"],
                    key,
                    "EmbeddingError",
                    f"chunk {row['ordinal']} [{row['span_start']}, {row['span_end']}): "
                    f"{failed[key]}",
                )
                for row in chunks
                if (key := keys[row["chunk_id"]]) in failed
            ],
            recorder.run_id,
        )
        flags = [flag for row in rows["flags"].to_pylist() for flag in row]
        return recorder.finish(
            data_version=data_version(
                STAGE,
                [
                    [row["chunk_id"], row["vector_key"], row["payload_hash"]]
                    for row in rows.to_pylist()
                ],
            ),
            counts={
                "chunks": len(chunks),
                "texts": len(texts),
                "embedded": report.texts_embedded,
                "reused": reused,
                "quarantined": len(failed),
                "tokens_embedded": report.tokens_embedded,
                "computed_tokens": report.usage.tokens,
                "padding_tokens": report.usage.padding_tokens,
                "requests": report.usage.requests,
                "retries": report.usage.retries,
                "pooled": flags.count("pooled"),
                "truncated": flags.count("truncated"),
            },
            table=corpus.table(STAGE),
            rows=rows,
            preview=["chunk_id", "vector_key", "tokens", "flags"],
            tokens=sum(rows["tokens"].to_pylist()),
            configuration={
                "embedder_fingerprint": embedder.fingerprint,
                "computed_by": computed_by(embedder) if report.texts_embedded else "",
            },
            metadata=_usage_metadata(report.usage, embedder, embedder_config),
        )

    return embeddings


def _usage_metadata(
    usage: Usage, embedder: Embedder, config: EmbedderConfig
) -> dict[str, dg.MetadataValue]:
    if not usage.tokens:
        return {}
    metadata: dict[str, dg.MetadataValue] = {
        "computed_by": dg.MetadataValue.text(computed_by(embedder)),
        "padding_share": dg.MetadataValue.float(round(usage.padding_share, 4)),
    }
    if config.price_per_million_tokens is not None:
        cost = usage.tokens * config.price_per_million_tokens / 1e6
        metadata["cost"] = dg.MetadataValue.float(round(cost, 6))
    return metadata


def _row(
    bucket: str,
    index: str,
    corpus: str,
    chunk: Mapping[str, Any],
    key: VectorKey,
    embedder: Fingerprint,
    how: Embedded,
) -> dict[str, object]:
    payload = payload_of(
        corpus, chunk, vector_key=key, embedder_fingerprint=embedder, tokens=how.tokens
    )
    return {
        "bucket": bucket,
        "index": index,
        "chunk_id": chunk["chunk_id"],
        "document_id": chunk["document_id"],
        "vector_key": key,
        "embedder_fingerprint": embedder,
        "payload_hash": payload_hash(payload),
        "tokens": how.tokens,
        "tokens_embedded": how.tokens_embedded,
        "flags": list(how.flags),
    }

"""`chunks`: exact slices of documents, and what the model is given for them."""

from collections.abc import Sequence

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from chunk_assets.assets.plots import histogram
from chunk_assets.assets.recording import Recorder
from chunk_assets.assets.tables_to_core import document_of
from chunk_assets.chunking.chunk import Chunk
from chunk_assets.chunking.identified import identify
from chunk_assets.chunking.pipeline import chunk_document
from chunk_assets.corpus import Corpus
from chunk_assets.errors import ChunkingError
from chunk_assets.lineage.identity import DocumentId, data_version, fingerprint
from chunk_assets.lineage.incremental import changes
from partitions.definitions import CorpusPartitions
from partitions.mappings import by_dimension
from partitions.stages import split
from resources.platform import Platform
from resources.quarantine import Failure
from resources.schemas import CORPUS_TABLES

STAGE = "chunks"


def build_chunks(corpus: Corpus, partitions: CorpusPartitions) -> dg.AssetsDefinition:
    """The asset of one corpus."""

    @dg.asset(
        key=[corpus.name, STAGE],
        partitions_def=partitions.bucket_strategy,
        deps=[
            dg.AssetDep([corpus.name, "documents"], partition_mapping=by_dimension("bucket")),
            dg.AssetDep(
                [corpus.name, "strategy_config"], partition_mapping=by_dimension("strategy")
            ),
        ],
        group_name=corpus.name,
        kinds={"deltalake"},
        code_version="1",
    )
    def chunks(
        context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform]
    ) -> dg.MaterializeResult[None]:
        """A row is one chunk: an exact slice of its document, and what the model is given."""
        recorder = Recorder(context, platform, corpus, STAGE)
        bucket, strategy = split(recorder.work.partition)
        partition = {"bucket": bucket, "strategy": strategy}
        table = corpus.table(STAGE)
        config = corpus.strategy_configs[strategy]
        tokenizer = platform.tokenizer(corpus, strategy)
        strategy_fingerprint = platform.strategy_fingerprint(corpus, strategy)
        documents = platform.tables.read(corpus.table("documents"), where={"bucket": bucket})
        previous = platform.tables.read(table, where=partition)
        wanted = {
            DocumentId(row["document_id"]): fingerprint(
                "cut", [row["document_version"], strategy_fingerprint]
            )
            for row in documents.select(["document_id", "document_version"]).to_pylist()
        }
        known = {
            DocumentId(row["document_id"]): fingerprint(
                "cut", [row["document_version"], row["strategy_fingerprint"]]
            )
            for row in previous.select(
                ["document_id", "document_version", "strategy_fingerprint"]
            ).to_pylist()
        }
        failed_before = {
            DocumentId(failure.document_id): failure
            for failure in platform.quarantine.failures(corpus.name, recorder.work)
        }
        difference = changes(known if recorder.may_reuse else {}, wanted)
        failures = []
        made: list[dict[str, object]] = []
        cut = 0
        for identity in difference.to_do:
            earlier = failed_before.get(identity)
            if earlier is not None and earlier.input_version == wanted[identity]:
                failures.append(earlier)
                continue
            row = documents.filter(pc.field("document_id") == identity).to_pylist()[0]
            if not row["text"].strip():
                continue  # nothing to cut, now or at the next run
            cut += 1
            try:
                pieces = chunk_document(document_of(row), config, tokenizer)
            except ChunkingError as error:
                failures.append(
                    Failure(
                        identity, row["uri"], wanted[identity], type(error).__name__, str(error)
                    )
                )
            else:
                made.extend(_rows(partition, row, strategy_fingerprint, pieces))
        kept = previous.filter(
            pc.is_in(previous["document_id"], pa.array(difference.unchanged, pa.string()))
        )
        rows = pa.concat_tables(
            [kept, pa.Table.from_pylist(made, schema=CORPUS_TABLES[STAGE])]
        ).sort_by([("uri", "ascending"), ("level", "ascending"), ("ordinal", "ascending")])
        if made or kept.num_rows < previous.num_rows or not platform.tables.exists(table):
            platform.tables.replace(table, rows, partition)
        platform.quarantine.replace(corpus.name, recorder.work, failures, recorder.run_id)
        moves = changes(_contents(previous), _contents(rows))
        sizes = rows["size"].to_pylist()
        return recorder.finish(
            data_version=data_version(STAGE, [list(item) for item in _contents(rows).items()]),
            counts={
                **{f"documents_{name}": n for name, n in difference.counts().items()},
                "documents_cut": cut,
                "documents_quarantined": len(failures),
                "chunks": rows.num_rows,
                "added": len(moves.new),
                "kept": len(moves.unchanged),
                "moved": len(moves.changed),
                "removed": len(moves.removed),
                "flagged": sum(1 for flags in rows["flags"].to_pylist() if flags),
            },
            table=table,
            rows=rows,
            preview=["uri", "ordinal", "heading_path", "size", "text"],
            tokens=sum(sizes) if config.unit == "tokens" else 0,
            configuration=config.resolved(),
            metadata={"sizes": histogram(sizes, f"{config.unit} per chunk", config.maximum)},
        )

    return chunks


def _rows(
    partition: dict[str, str],
    document: dict[str, str],
    strategy_fingerprint: str,
    chunks: Sequence[Chunk],
) -> list[dict[str, object]]:
    identified = list(identify(DocumentId(document["document_id"]), chunks))
    id_of = {chunk.ordinal: identity for identity, chunk in identified}
    return [
        {
            **partition,
            "chunk_id": identity,
            "document_id": document["document_id"],
            "uri": document["uri"],
            "title": document["title"],
            "document_version": document["document_version"],
            "text_hash": document["text_hash"],
            "strategy_fingerprint": strategy_fingerprint,
            "ordinal": chunk.ordinal,
            "level": chunk.level,
            "parent_id": None if chunk.parent is None else id_of[chunk.parent],
            "span_start": chunk.start,
            "span_end": chunk.end,
            "overlap_start": chunk.overlap_start,
            "page_start": chunk.page_start,
            "page_end": chunk.page_end,
            "heading_path": list(chunk.heading_path),
            "text": chunk.text,
            "embed_text": chunk.embed_text,
            "size": chunk.size,
            "flags": list(chunk.flags),
        }
        for identity, chunk in identified
    ]


def _contents(rows: pa.Table) -> dict[str, str]:
    """Per chunk the identity of what its id does not hold already, of the document's rest apart."""
    content = rows.drop_columns(
        ["bucket", "strategy", "text", "embed_text", "document_version", "text_hash"]
    )
    return {
        row["chunk_id"]: fingerprint("chunk_row", list(row.values())) for row in content.to_pylist()
    }

"""`raw_documents`: source items as found."""

from collections.abc import Mapping

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from chunk_assets.assets.recording import Recorder
from chunk_assets.corpus import Corpus
from chunk_assets.errors import SourceError
from chunk_assets.lineage.identity import (
    DocumentId,
    Json,
    canonical_json,
    content_hash,
    data_version,
    fingerprint,
)
from chunk_assets.lineage.incremental import changes
from chunk_assets.sources.source import SourceItem
from partitions.definitions import CorpusPartitions
from resources.listings import Listing
from resources.platform import Platform
from resources.quarantine import Failure
from resources.schemas import CORPUS_TABLES

STAGE = "raw_documents"


def build_raw_documents(corpus: Corpus, partitions: CorpusPartitions) -> dg.AssetsDefinition:
    """The asset of one corpus."""

    @dg.asset(
        key=[corpus.name, STAGE],
        partitions_def=partitions.bucket,
        group_name=corpus.name,
        kinds={"deltalake"},
        code_version="1",
    )
    def raw_documents(
        context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform]
    ) -> dg.MaterializeResult[None]:
        """A row is one item of the source: its bytes as found, with their hash."""
        recorder = Recorder(context, platform, corpus, STAGE)
        bucket = recorder.work.partition
        table = corpus.table(STAGE)
        listing = platform.listings.of(corpus.name)
        items = listing.by_bucket[bucket]
        previous = platform.tables.read(table, where={"bucket": bucket})
        _refuse_sudden_emptiness(corpus, listing, previous.num_rows)
        known = _versions(previous, ["signature", "source_format", "source_title", "metadata"])
        listed = {
            identity: fingerprint("item", [item.signature, *_described(item)])
            for identity, item in items.items()
            if item.problem is None
        }
        source = platform.source(corpus.name)
        failures = [
            _failure(identity, item, "SourceError", item.problem)
            for identity, item in items.items()
            if item.problem is not None
        ]
        read = []
        for identity in changes(known, listed).to_do:
            item = items[identity]
            try:
                read.append(_row(bucket, identity, item, source.read(item.uri)))
            except SourceError as error:
                failures.append(_failure(identity, item, type(error).__name__, str(error)))
        # An item that cannot be read now keeps the bytes it last had: a lost network share or a
        # changed permission must not delete documents. Only what is no longer listed goes.
        replaced = [row["document_id"] for row in read]
        unlisted = tuple(item.uri for item in listing.unlisted_folders)
        gone = [
            row["document_id"]
            for row in previous.select(["document_id", "uri"]).to_pylist()
            if row["document_id"] not in items and not row["uri"].startswith(unlisted)
        ]
        kept = previous.filter(
            pc.invert(pc.is_in(previous["document_id"], pa.array([*replaced, *gone], pa.string())))
        )
        rows = pa.concat_tables(
            [kept, pa.Table.from_pylist(read, schema=CORPUS_TABLES[STAGE])]
        ).sort_by("uri")
        if read or kept.num_rows < previous.num_rows or not platform.tables.exists(table):
            platform.tables.replace(table, rows, {"bucket": bucket})
        platform.quarantine.replace(corpus.name, recorder.work, failures, recorder.run_id)
        counted = changes(
            _versions(previous, ["content_hash"]), _versions(rows, ["content_hash"])
        ).counts()
        return recorder.finish(
            data_version=data_version(STAGE, _content(rows)),
            counts={**counted, "quarantined": len(failures), "read": len(read)},
            table=table,
            rows=rows,
            preview=["uri", "size_bytes", "content_hash"],
        )

    return raw_documents


def _refuse_sudden_emptiness(corpus: Corpus, listing: Listing, known: int) -> None:
    """An unmounted folder lists as empty; that must not delete a corpus."""
    if known and not listing.items and not corpus.config.source.may_be_empty:
        raise SourceError(
            f"The source of corpus {corpus.name!r} lists no document at all, but {known} of this "
            "bucket were there before. Nothing was removed. If the documents really are gone, set "
            f"corpora.{corpus.name}.source.may_be_empty: true."
        )


def _described(item: SourceItem) -> list[Json]:
    return [item.format or "", item.title or "", canonical_json(dict(item.metadata))]


def _row(bucket: str, identity: DocumentId, item: SourceItem, content: bytes) -> dict[str, object]:
    source_format, title, metadata = _described(item)
    return {
        "bucket": bucket,
        "document_id": identity,
        "uri": item.uri,
        "signature": item.signature,
        "content_hash": content_hash(content),
        "size_bytes": len(content),
        "content": content,
        "source_format": source_format,
        "source_title": title,
        "metadata": metadata,
    }


def _versions(rows: pa.Table, columns: list[str]) -> Mapping[DocumentId, str]:
    return {
        DocumentId(row["document_id"]): fingerprint("item", [row[column] for column in columns])
        for row in rows.select(["document_id", *columns]).to_pylist()
    }


def _failure(identity: DocumentId, item: SourceItem, error: str, message: str | None) -> Failure:
    return Failure(identity, item.uri, item.signature, error, message or "")


def _content(rows: pa.Table) -> list[list[Json]]:
    columns = ["document_id", "uri", "content_hash", "source_format", "source_title", "metadata"]
    return [list(row.values()) for row in rows.select(columns).to_pylist()]

"""`documents`: normalized text and its blocks."""

import json

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from chunk_assets.assets.plots import histogram
from chunk_assets.assets.recording import Recorder
from chunk_assets.corpus import Corpus
from chunk_assets.errors import ParseError
from chunk_assets.lineage.identity import (
    DocumentId,
    Json,
    canonical_json,
    data_version,
    fingerprint,
)
from chunk_assets.lineage.incremental import changes
from chunk_assets.parsing.parse import ParsedDocument, parse
from chunk_assets.sources.source import SourceItem
from partitions.definitions import CorpusPartitions
from partitions.mappings import same_partition
from resources.platform import Platform
from resources.quarantine import Failure
from resources.schemas import CORPUS_TABLES

STAGE = "documents"


def build_documents(corpus: Corpus, partitions: CorpusPartitions) -> dg.AssetsDefinition:
    """The asset of one corpus."""

    @dg.asset(
        key=[corpus.name, STAGE],
        partitions_def=partitions.bucket,
        deps=[
            dg.AssetDep([corpus.name, "raw_documents"], partition_mapping=same_partition()),
        ],
        group_name=corpus.name,
        kinds={"deltalake"},
        code_version="1",
    )
    def documents(
        context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform]
    ) -> dg.MaterializeResult[None]:
        """A row is one document: normalized text in code points, and the blocks that lie in it."""
        recorder = Recorder(context, platform, corpus, STAGE)
        bucket = recorder.work.partition
        table = corpus.table(STAGE)
        parser = platform.parser_fingerprint(corpus)
        raw = platform.tables.read(corpus.table("raw_documents"), where={"bucket": bucket})
        previous = platform.tables.read(table, where={"bucket": bucket})
        wanted = {
            DocumentId(row["document_id"]): _raw_version(row, parser)
            for row in raw.drop_columns(["content"]).to_pylist()
        }
        known = dict(
            zip(
                previous["document_id"].to_pylist(),
                previous["raw_version"].to_pylist(),
                strict=True,
            )
        )
        failed_before = {
            DocumentId(failure.document_id): failure
            for failure in platform.quarantine.failures(corpus.name, recorder.work)
        }
        difference = changes(known if recorder.may_reuse else {}, wanted)
        failures = []
        parsed = []
        attempts = 0
        for identity in difference.to_do:
            earlier = failed_before.get(identity)
            if earlier is not None and earlier.input_version == wanted[identity]:
                failures.append(earlier)
                continue
            attempts += 1
            row = raw.filter(pc.field("document_id") == identity).to_pylist()[0]
            try:
                document = parse(
                    row["content"],
                    corpus=corpus.name,
                    item=_item(row),
                    options=corpus.config.parsing,
                )
            except ParseError as error:
                failures.append(_failure(identity, row["uri"], wanted[identity], error))
            else:
                parsed.append(_row(bucket, row, wanted[identity], parser, document))
        kept = previous.filter(
            pc.is_in(previous["document_id"], pa.array(difference.unchanged, pa.string()))
        )
        rows = pa.concat_tables(
            [kept, pa.Table.from_pylist(parsed, schema=CORPUS_TABLES[STAGE])]
        ).sort_by("uri")
        if parsed or kept.num_rows < previous.num_rows or not platform.tables.exists(table):
            platform.tables.replace(table, rows, {"bucket": bucket})
        platform.quarantine.replace(corpus.name, recorder.work, failures, recorder.run_id)
        lengths = rows["text_length"].to_pylist()
        return recorder.finish(
            data_version=data_version(STAGE, _content(rows)),
            counts={
                **difference.counts(),
                "quarantined": len(failures),
                "parsed": attempts,
                "characters": sum(lengths),
                "warnings": sum(len(warnings) for warnings in rows["warnings"].to_pylist()),
            },
            table=table,
            rows=rows,
            preview=["uri", "title", "format", "text_length", "state"],
            configuration={"parser_fingerprint": parser},
            metadata={"lengths": histogram(lengths, "characters per document")},
        )

    return documents


def _raw_version(row: dict[str, str], parser: str) -> str:
    columns = ["uri", "content_hash", "source_format", "source_title", "metadata"]
    return fingerprint("raw", [parser, *(row[column] for column in columns)])


def _item(row: dict[str, str]) -> SourceItem:
    return SourceItem(
        uri=row["uri"],
        signature=row["signature"],
        format=row["source_format"] or None,
        title=row["source_title"] or None,
        metadata=json.loads(row["metadata"]),
    )


def _failure(identity: DocumentId, uri: str, version: str, error: ParseError) -> Failure:
    return Failure(identity, uri, version, type(error).__name__, str(error))


def _row(
    bucket: str, raw: dict[str, str], raw_version: str, parser: str, parsed: ParsedDocument
) -> dict[str, object]:
    document = parsed.document
    blocks: list[dict[str, Json]] = [
        {
            "kind": block.kind.value,
            "start": block.start,
            "end": block.end,
            "level": block.level,
            "heading_path": list(block.heading_path),
            "page": block.page,
            "attributes": canonical_json(dict(block.attributes)),
        }
        for block in document.blocks
    ]
    return {
        "bucket": bucket,
        "document_id": document.document_id,
        "uri": document.uri,
        "title": document.title,
        "format": parsed.format,
        "format_reason": parsed.format_reason,
        "encoding": parsed.encoding,
        "encoding_confidence": parsed.encoding_confidence,
        "state": parsed.state,
        "raw_version": raw_version,
        "content_hash": raw["content_hash"],
        "parser_fingerprint": parser,
        "text_hash": parsed.text_hash,
        "document_version": fingerprint(
            "document", [document.uri, document.title, parsed.text_hash, blocks]
        ),
        "text": document.text,
        "text_length": len(document.text),
        "blocks": blocks,
        "offset_map": parsed.offset_map.to_list(),
        "warnings": list(parsed.warnings),
        "metadata": canonical_json(dict(document.metadata)),
    }


def _content(rows: pa.Table) -> list[list[Json]]:
    columns = ["document_id", "document_version", "content_hash", "format", "state", "metadata"]
    return [list(row.values()) for row in rows.select(columns).to_pylist()]

"""Checks of the stages: partitioned, one step a stage, blocking where they protect downstream."""

from dataclasses import replace

import dagster as dg

from chunk_assets.assets.findings import (
    SHOWN,
    Finding,
    Inspect,
    Promise,
    inspect_chunks,
    inspect_collection,
    inspect_documents,
    inspect_embeddings,
    inspect_raw_documents,
)
from chunk_assets.assets.recording import accept
from chunk_assets.corpus import Corpus
from partitions.definitions import CorpusPartitions
from partitions.stages import StagePartition
from resources.platform import Platform
from resources.run_log import CHECK_FAILED

RAW_DOCUMENTS = {
    "nothing_quarantined": Promise("Every source item could be read.", blocking=False),
}
DOCUMENTS = {
    "nothing_quarantined": Promise("Every raw document could be parsed.", blocking=False),
    "blocks_lie_in_text": Promise("Blocks are ordered and lie in their text.", blocking=True),
}
CHUNKS = {
    "spans_exact": Promise("Every chunk's text is its slice of the document.", blocking=True),
    "coverage_complete": Promise(
        "Every non-blank character is in a chunk, or the quarantine says why not.", blocking=True
    ),
    "ids_unique": Promise("No chunk id stands twice.", blocking=True),
}
EMBEDDINGS = {
    "vectors_valid": Promise(
        "Every vector is stored, finite, of length one and of the model's dimension.",
        blocking=True,
    ),
    "every_chunk_embedded": Promise("No chunk was left without a vector.", blocking=False),
}
COLLECTIONS = {
    "count_matches_table": Promise(
        "The collection holds as many points as its table.", blocking=True
    ),
}


def build_checks(corpus: Corpus, partitions: CorpusPartitions) -> list[dg.AssetChecksDefinition]:
    """The checks of one corpus's stages."""
    return [
        _stage_checks(
            corpus, "raw_documents", partitions.bucket, RAW_DOCUMENTS, inspect_raw_documents
        ),
        _stage_checks(corpus, "documents", partitions.bucket, DOCUMENTS, inspect_documents),
        _stage_checks(corpus, "chunks", partitions.bucket_strategy, CHUNKS, inspect_chunks),
        _stage_checks(
            corpus, "embeddings", partitions.bucket_index, EMBEDDINGS, inspect_embeddings
        ),
        _stage_checks(corpus, "collections", partitions.index, COLLECTIONS, inspect_collection),
    ]


def _stage_checks(
    corpus: Corpus,
    stage: str,
    partitions_def: dg.PartitionsDefinition[str],
    promises: dict[str, Promise],
    inspect: Inspect,
) -> dg.AssetChecksDefinition:
    key = dg.AssetKey([corpus.name, stage])

    @dg.multi_asset_check(
        name=f"{corpus.name}__{stage}__checks",
        specs=[
            dg.AssetCheckSpec(
                name=name,
                asset=key,
                description=promise.description,
                blocking=promise.blocking,
                partitions_def=partitions_def,
            )
            for name, promise in promises.items()
        ],
    )
    def stage_checks(context: dg.AssetCheckExecutionContext, platform: dg.ResourceParam[Platform]):  # type: ignore[no-untyped-def]  # noqa: ANN202 - Dagster reads the annotation
        work = StagePartition(stage, str(context.partition_key))
        try:
            findings = inspect(platform, corpus, work)
        except Exception:
            _refuse(platform, corpus, work)  # what could not be checked did not pass
            raise
        if any(findings[name].offenders and promise.blocking for name, promise in promises.items()):
            _refuse(platform, corpus, work)
        for name, promise in promises.items():
            yield _result(key, name, promise, findings[name])
        accept(platform, corpus, work, context.run.run_id)

    return stage_checks


def _refuse(platform: Platform, corpus: Corpus, work: StagePartition) -> None:
    """Note that what was written must not be built upon, and must be made again whole."""
    last = platform.run_log.latest(corpus.name, work)
    if last is not None:
        platform.run_log.record(corpus.name, replace(last, status=CHECK_FAILED))


def _result(key: dg.AssetKey, name: str, promise: Promise, finding: Finding) -> dg.AssetCheckResult:
    shown = finding.offenders[:SHOWN]
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=name,
        passed=not finding.offenders,
        severity=dg.AssetCheckSeverity.ERROR if promise.blocking else dg.AssetCheckSeverity.WARN,
        description="; ".join(shown)[:1000] or None,
        metadata={
            **{number: dg.MetadataValue.int(count) for number, count in finding.numbers.items()},
            "offenders": dg.MetadataValue.json(shown),
        },
    )

"""`evaluations`: how well every index answers the gold questions."""

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from chunk_assets.assets.recording import Recorder
from chunk_assets.corpus import Corpus
from chunk_assets.evaluation.anchor import Anchoring, anchor
from chunk_assets.evaluation.evaluate import evaluate
from chunk_assets.evaluation.gold import load_gold
from chunk_assets.lineage.identity import data_version
from partitions.definitions import CorpusPartitions
from partitions.mappings import all_partitions, same_partition
from partitions.stages import split
from resources.platform import Platform
from resources.schemas import CORPUS_TABLES

STAGE = "evaluations"
SUMMARIES = "evaluation_summaries"


def build_evaluations(corpus: Corpus, partitions: CorpusPartitions) -> dg.AssetsDefinition:
    """The asset of one corpus."""

    @dg.asset(
        key=[corpus.name, STAGE],
        partitions_def=partitions.gold_set_index,
        deps=[
            dg.AssetDep([corpus.name, "retrieval_runs"], partition_mapping=same_partition()),
            dg.AssetDep([corpus.name, "documents"], partition_mapping=all_partitions()),
        ],
        group_name=corpus.name,
        kinds={"deltalake"},
        code_version="1",
    )
    def evaluations(
        context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform]
    ) -> dg.MaterializeResult[None]:
        """A row is one metric of one gold query; means with intervals are in their own table."""
        recorder = Recorder(context, platform, corpus, STAGE)
        gold_set, index_name = split(recorder.work.partition)
        config = corpus.config.gold[gold_set]
        gold = anchored_gold(platform, corpus, gold_set)
        gold.require_anchored()
        partition = {"gold_set": gold_set, "index": index_name}
        spans = {"span_start": "start", "span_end": "end"}
        run = platform.tables.read(
            corpus.table("retrieval_runs"),
            ["query_id", "rank", "chunk_id", "uri", *spans, "tokens"],
            where=partition,
        )
        chunks = platform.read(
            corpus,
            "chunks",
            ["chunk_id", "uri", *spans],
            where={"strategy": corpus.indexes[index_name].strategy},
        )
        result = evaluate(run.rename_columns(spans), gold, chunks.rename_columns(spans), config)
        rows = _partitioned(result.per_query, partition).select(CORPUS_TABLES[STAGE].names)
        platform.tables.replace(corpus.table(STAGE), rows, partition)
        summary = _partitioned(result.summary, partition).rename_columns(
            {"n_queries": "queries", "n_clusters": "clusters"}
        )
        summary = summary.append_column(
            "confidence", pa.array([config.confidence] * len(summary), pa.float64())
        )
        platform.tables.replace(
            corpus.table(SUMMARIES), summary.select(CORPUS_TABLES[SUMMARIES].names), partition
        )
        return recorder.finish(
            data_version=data_version(STAGE, [list(row.values()) for row in rows.to_pylist()]),
            counts={
                "queries": len(gold.queries),
                "remarks": len(gold.remarks),
                "unreachable": len(result.unreachable),
            },
            table=corpus.table(STAGE),
            rows=rows,
            preview=["query_id", "metric", "cutoff", "value"],
            configuration=config.model_dump(mode="json"),
            metadata={
                **_headline(summary),
                "unreachable_evidence": dg.MetadataValue.json(
                    [f"{item.query_id}: piece {item.piece}" for item in result.unreachable[:20]]
                ),
            },
        )

    return evaluations


def anchored_gold(platform: Platform, corpus: Corpus, gold_set: str) -> Anchoring:
    """The gold set, anchored in the present texts of the corpus."""
    config = corpus.config.gold[gold_set]
    queries = load_gold(platform.gold_path(corpus, gold_set), config.scope)
    documents = platform.read(corpus, "documents", ["uri", "text"])
    texts = dict(zip(documents["uri"].to_pylist(), documents["text"].to_pylist(), strict=True))
    return anchor(queries, texts, fold_typography=config.fold_typography)


def _partitioned(table: pa.Table, partition: dict[str, str]) -> pa.Table:
    for name, value in partition.items():
        table = table.append_column(name, pa.array([value] * len(table), pa.string()))
    return table


def _headline(summary: pa.Table) -> dict[str, dg.MetadataValue]:
    """Means by metric and cutoff, as numbers that the UI plots over time."""
    shown = summary.filter(pc.is_valid(summary["mean"])).to_pylist()
    return {
        row["metric"] + ("" if row["cutoff"] is None else f"@{row['cutoff']}"): (
            dg.MetadataValue.float(row["mean"])
        )
        for row in shown
        if row["cutoff"] in (None, 5, 1000)
    }

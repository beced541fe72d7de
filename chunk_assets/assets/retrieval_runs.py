"""`retrieval_runs`: what every index answers to the gold questions."""

from collections.abc import Sequence

import dagster as dg
import pyarrow as pa

from chunk_assets.assets.recording import Recorder
from chunk_assets.corpus import Corpus
from chunk_assets.embedding.tokenizer import Tokenizer
from chunk_assets.evaluation.config import GoldSetConfig
from chunk_assets.evaluation.gold import GoldQuery, load_gold
from chunk_assets.lineage.identity import ChunkId, data_version
from chunk_assets.retrieval.search import SearchHit, search
from partitions.definitions import CorpusPartitions
from partitions.mappings import by_dimension
from partitions.stages import split
from resources.platform import Platform
from resources.schemas import CORPUS_TABLES

STAGE = "retrieval_runs"
DEPTH = 100
"""Chunks kept per query: enough to fill a budget of 2,000 tokens with chunks of 20."""


def build_retrieval_runs(corpus: Corpus, partitions: CorpusPartitions) -> dg.AssetsDefinition:
    """The asset of one corpus."""

    @dg.asset(
        key=[corpus.name, STAGE],
        partitions_def=partitions.gold_set_index,
        deps=[dg.AssetDep([corpus.name, "collections"], partition_mapping=by_dimension("index"))],
        group_name=corpus.name,
        kinds={"qdrant"},
        code_version="1",
    )
    def retrieval_runs(
        context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform]
    ) -> dg.MaterializeResult[None]:
        """A row is one retrieved chunk: query, rank and score, by the code that serves searches."""
        recorder = Recorder(context, platform, corpus, STAGE)
        gold_set, index_name = split(recorder.work.partition)
        index = corpus.indexes[index_name]
        gold_config = corpus.config.gold[gold_set]
        gold = load_gold(platform.gold_path(corpus, gold_set), gold_config.scope)
        depth = max(DEPTH, *gold_config.ks)
        with platform.vector_store.open(
            platform.collection_name(corpus, index), on_wait=context.log.info
        ) as collection:
            ranked = [
                hits
                for queries, where in _searches(gold, gold_config)
                for hits in search(
                    collection,
                    platform.embedder(index.embedder),
                    [query.query for query in queries],
                    k=depth,
                    config=corpus.config.retrieval,
                    where=where,
                )
            ]
        asked = [query for queries, _ in _searches(gold, gold_config) for query in queries]
        tokens = _text_tokens(platform.reference_tokenizer(corpus), ranked)
        partition = {"gold_set": gold_set, "index": index_name}
        rows = pa.Table.from_pylist(
            [
                _row(partition, query, hit, tokens[hit.chunk_id])
                for query, hits in zip(asked, ranked, strict=True)
                for hit in hits
            ],
            schema=CORPUS_TABLES[STAGE],
        )
        platform.tables.replace(corpus.table(STAGE), rows, partition)
        content = rows.drop_columns(["score"]).to_pylist()
        return recorder.finish(
            data_version=data_version(STAGE, [list(row.values()) for row in content]),
            counts={
                "queries": len(gold),
                "hits": rows.num_rows,
                "without_hits": sum(1 for hits in ranked if not hits),
            },
            table=corpus.table(STAGE),
            rows=rows,
            preview=["query", "rank", "score", "uri"],
            configuration=corpus.config.retrieval.model_dump(mode="json"),
        )

    return retrieval_runs


def _searches(
    gold: Sequence[GoldQuery], config: GoldSetConfig
) -> list[tuple[list[GoldQuery], dict[str, str] | None]]:
    """Queries that can be asked together, with the filter they share."""
    if config.scope == "corpus":
        return [(list(gold), None)]
    return [([query], {"uri": str(query.doc_id)}) for query in gold]


def _text_tokens(tokenizer: Tokenizer, ranked: Sequence[Sequence[SearchHit]]) -> dict[ChunkId, int]:
    """Tokens of the text that a reader of the hit gets, counted alike for all indexes.

    What was embedded may be longer (its context) and counted in another model's tokens; budgets
    are compared between indexes, so they need one measure.
    """
    texts = {hit.chunk_id: hit.text for hits in ranked for hit in hits}
    return dict(zip(texts, tokenizer.count(list(texts.values())), strict=True))


def _row(
    partition: dict[str, str], query: GoldQuery, hit: SearchHit, tokens: int
) -> dict[str, object]:
    return {
        **partition,
        "query_id": query.query_id,
        "query": query.query,
        "rank": hit.rank,
        "score": hit.score,
        "dense_rank": hit.dense_rank,
        "sparse_rank": hit.sparse_rank,
        "chunk_id": hit.chunk_id,
        "document_id": hit.document_id,
        "uri": hit.uri,
        "span_start": hit.start,
        "span_end": hit.end,
        "tokens": tokens,
    }

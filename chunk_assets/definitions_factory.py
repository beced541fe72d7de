"""The Dagster definitions of a platform: one set of assets and checks per corpus."""

import warnings

import dagster as dg

from chunk_assets.assets.checks import build_checks
from chunk_assets.assets.chunks import build_chunks
from chunk_assets.assets.collections import build_collections
from chunk_assets.assets.documents import build_documents
from chunk_assets.assets.embedder_config import build_embedder_config
from chunk_assets.assets.embeddings import build_embeddings
from chunk_assets.assets.evaluations import build_evaluations
from chunk_assets.assets.raw_documents import build_raw_documents
from chunk_assets.assets.retrieval_runs import build_retrieval_runs
from chunk_assets.assets.sql_models import build_sql_assets
from chunk_assets.assets.strategy_config import build_strategy_config
from chunk_assets.corpus import Corpus
from partitions.definitions import corpus_partitions
from resources.platform import Platform

_BUILDERS = (
    build_raw_documents,
    build_documents,
    build_strategy_config,
    build_chunks,
    build_embedder_config,
    build_embeddings,
    build_collections,
)
_GOLD_BUILDERS = (build_retrieval_runs, build_evaluations)


def build_definitions(platform: Platform) -> dg.Definitions:
    """All assets, checks and resources of a configuration."""
    assets: list[dg.AssetsDefinition] = []
    checks: list[dg.AssetChecksDefinition] = []
    with warnings.catch_warnings():
        # Two-dimensional mappings are beta and partitioned checks preview in Dagster 1.13; we use
        # them knowingly, and a user can do nothing about it.
        warnings.simplefilter("ignore", dg.BetaWarning)
        warnings.simplefilter("ignore", dg.PreviewWarning)
        for corpus in platform.corpora.values():
            corpus_assets, corpus_checks = _corpus_definitions(platform, corpus)
            assets += corpus_assets
            checks += corpus_checks
    return dg.Definitions(
        assets=assets,
        asset_checks=checks,
        resources={"platform": platform},
        executor=dg.in_process_executor,
    )


def _corpus_definitions(
    platform: Platform, corpus: Corpus
) -> tuple[list[dg.AssetsDefinition], list[dg.AssetChecksDefinition]]:
    partitions = corpus_partitions(corpus)
    builders = (*_BUILDERS, *(_GOLD_BUILDERS if corpus.gold_sets else ()))
    sql_assets, sql_checks = build_sql_assets(platform, corpus)
    return (
        [*(build(corpus, partitions) for build in builders), *sql_assets],
        [*build_checks(corpus, partitions), *sql_checks],
    )

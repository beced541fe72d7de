"""The plain-Python stage graph and Dagster's own must say the same."""

from dataclasses import dataclass

import dagster as dg
import pytest

from partitions.buckets import bucket_names, bucket_of
from partitions.definitions import corpus_partitions
from partitions.mappings import all_partitions, by_dimension, chunks_to_embeddings, same_partition
from partitions.stages import STAGES, StagePartition, partitions_of, upstream_of
from chunk_assets.lineage.identity import document_id


@dataclass
class SomeAxes:
    buckets: list[str]
    strategies: list[str]
    index_strategies: dict[str, str]
    gold_sets: list[str]


AXES = SomeAxes(
    buckets=bucket_names(3),
    strategies=["long", "short"],
    index_strategies={"long__a": "long", "long__b": "long", "short__a": "short"},
    gold_sets=["easy", "hard"],
)


def asset_graph() -> dg.AssetGraph:
    partitions = corpus_partitions(AXES)
    definitions = {
        "raw_documents": (partitions.bucket, {}),
        "documents": (partitions.bucket, {"raw_documents": same_partition()}),
        "strategy_config": (partitions.strategy, {}),
        "chunks": (
            partitions.bucket_strategy,
            {
                "documents": by_dimension("bucket"),
                "strategy_config": by_dimension("strategy"),
            },
        ),
        "embedder_config": (partitions.index, {}),
        "embeddings": (
            partitions.bucket_index,
            {"chunks": chunks_to_embeddings(AXES), "embedder_config": by_dimension("index")},
        ),
        "collections": (partitions.index, {"embeddings": by_dimension("index")}),
        "retrieval_runs": (partitions.gold_set_index, {"collections": by_dimension("index")}),
        "evaluations": (
            partitions.gold_set_index,
            {"retrieval_runs": same_partition(), "documents": all_partitions()},
        ),
    }
    specs = [
        dg.AssetSpec(
            stage,
            partitions_def=partitions_def,
            deps=[dg.AssetDep(name, partition_mapping=m) for name, m in deps.items()],
        )
        for stage, (partitions_def, deps) in definitions.items()
    ]
    return dg.Definitions(assets=specs).resolve_asset_graph()


@pytest.fixture(scope="module")
def graph() -> dg.AssetGraph:
    return asset_graph()


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_has_the_partitions_that_dagster_has(stage: str, graph: dg.AssetGraph) -> None:
    definition = graph.get(dg.AssetKey(stage)).partitions_def
    assert definition is not None
    ours = {work.partition for work in partitions_of(AXES, stage)}
    assert ours == set(definition.get_partition_keys())


@pytest.mark.parametrize("stage", STAGES)
def test_every_partition_reads_what_dagster_says_it_reads(stage: str, graph: dg.AssetGraph) -> None:
    node = graph.get(dg.AssetKey(stage))
    with dg.DagsterInstance.ephemeral() as instance:
        for work in partitions_of(AXES, stage):
            theirs = set()
            for parent in node.parent_keys:
                mapping = node.partition_mappings.get(parent) or graph.get_partition_mapping(
                    node.key, parent
                )
                parent_definition = graph.get(parent).partitions_def
                assert parent_definition is not None
                assert node.partitions_def is not None
                mapped = mapping.get_upstream_mapped_partitions_result_for_partitions(
                    node.partitions_def.subset_with_partition_keys([work.partition]),
                    node.partitions_def,
                    parent_definition,
                    dynamic_partitions_store=instance,
                )
                theirs |= {
                    StagePartition(parent.to_user_string(), str(key))
                    for key in mapped.partitions_subset.get_partition_keys()
                }
            assert set(upstream_of(AXES, work)) == theirs


def test_no_edge_reaches_the_width_at_which_dagster_stops_looking() -> None:
    widest = SomeAxes(bucket_names(64), ["s"], {"s__e": "s"}, ["g"])
    work = StagePartition("collections", "s__e")
    assert len(list(upstream_of(widest, work))) < 100


def test_the_bucket_of_a_document_depends_on_its_identity_alone() -> None:
    identity = document_id("handbook", "guide/start.md")
    assert bucket_of(identity, 8) == bucket_of(identity, 8)
    assert bucket_of(identity, 8) in bucket_names(8)


def test_documents_spread_over_all_buckets() -> None:
    counts = dict.fromkeys(bucket_names(8), 0)
    for number in range(800):
        counts[bucket_of(document_id("c", f"{number}.md"), 8)] += 1
    assert min(counts.values()) > 50

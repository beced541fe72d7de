"""The plain-Python stage graph and Dagster's own must say the same."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from small_platform import SmallPlatform

from chunk_assets.corpus import Corpus
from chunk_assets.definitions_factory import build_definitions
from partitions.stages import STAGES, StagePartition, partitions_of, split, upstream_of

SEVERAL = {
    "embedders": {
        name: {
            "backend": "custom",
            "factory": "counting_embedder:build",
            "options": {"seed": seed},
        }
        for seed, name in enumerate(("counting", "other"))
    }
}
GOLD = {"gold": {"easy": {"path": "easy.jsonl"}, "hard": {"path": "hard.jsonl"}}}


def definitions(folder: Path, corpus: dict[str, Any]) -> tuple[Corpus, Any]:
    """A corpus of two strategies and two embedders, and the asset graph of its definitions."""
    with dg.DagsterInstance.ephemeral() as instance:
        small = SmallPlatform(folder, instance, corpus={"buckets": 3, **corpus}, extra=SEVERAL)
        platform = small.platform()
    return platform.corpora["guides"], build_definitions(platform).resolve_asset_graph()


@pytest.fixture(scope="module")
def corpus_and_graph(tmp_path_factory: pytest.TempPathFactory) -> tuple[Corpus, Any]:
    return definitions(tmp_path_factory.mktemp("mappings"), GOLD)


def upstream_in_dagster(
    graph: Any,  # noqa: ANN401 - Dagster's asset graph has no public type
    corpus: Corpus,
    work: StagePartition,
) -> set[StagePartition]:
    """What the partition mappings of the real assets say."""
    node = graph.get(dg.AssetKey([corpus.name, work.stage]))
    own = node.partitions_def
    found = set()
    for parent in node.parent_keys:
        mapped = graph.get_partition_mapping(
            node.key, parent
        ).get_upstream_mapped_partitions_result_for_partitions(
            own.subset_with_partition_keys([work.partition]), own, graph.get(parent).partitions_def
        )
        assert not mapped.required_but_nonexistent_subset.get_partition_keys()
        keys = mapped.partitions_subset.get_partition_keys()
        found |= {StagePartition(parent.path[-1], str(key)) for key in keys}
    return found


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_has_the_partitions_that_dagster_has(
    stage: str, corpus_and_graph: tuple[Corpus, Any]
) -> None:
    corpus, graph = corpus_and_graph
    definition = graph.get(dg.AssetKey([corpus.name, stage])).partitions_def
    ours = [work.partition for work in partitions_of(corpus, stage)]
    assert sorted(ours) == sorted(map(str, definition.get_partition_keys()))
    assert len(set(ours)) == len(ours)


@pytest.mark.parametrize("stage", STAGES)
def test_every_partition_reads_what_dagster_says_it_reads(
    stage: str, corpus_and_graph: tuple[Corpus, Any]
) -> None:
    corpus, graph = corpus_and_graph
    for work in partitions_of(corpus, stage):
        assert set(upstream_of(corpus, work)) == upstream_in_dagster(graph, corpus, work)


@pytest.mark.parametrize("stage", STAGES)
def test_the_stages_that_dagster_runs_before_one_come_before_it_in_the_list(
    stage: str, corpus_and_graph: tuple[Corpus, Any]
) -> None:
    corpus, graph = corpus_and_graph
    parents = graph.get(dg.AssetKey([corpus.name, stage])).parent_keys
    assert all(STAGES.index(parent.path[-1]) < STAGES.index(stage) for parent in parents)


def test_the_embeddings_of_an_index_read_the_chunks_of_its_strategy_alone(
    corpus_and_graph: tuple[Corpus, Any],
) -> None:
    corpus, graph = corpus_and_graph
    work = StagePartition("embeddings", "b01|sentences__other")
    assert upstream_in_dagster(graph, corpus, work) == {
        StagePartition("chunks", "b01|sentences"),
        StagePartition("embedder_config", "sentences__other"),
    }


def test_a_corpus_without_gold_has_neither_retrieval_runs_nor_evaluations(tmp_path: Path) -> None:
    corpus, graph = definitions(tmp_path, {})
    stages = {key.path[-1] for key in graph.get_all_asset_keys()}
    assert {"collections", "leaderboard"} <= stages
    assert not {"retrieval_runs", "evaluations"} & stages
    assert partitions_of(corpus, "retrieval_runs") == []


def test_no_edge_reaches_the_width_at_which_dagster_stops_looking(tmp_path: Path) -> None:
    corpus, _ = definitions(tmp_path, {"buckets": 64, **GOLD})
    for stage in STAGES:
        for work in partitions_of(corpus, stage):
            assert len(list(upstream_of(corpus, work))) < 100


def test_an_unknown_stage_is_refused_with_those_that_exist(
    corpus_and_graph: tuple[Corpus, Any],
) -> None:
    with pytest.raises(ValueError, match="'chunk' is no stage; stages: raw_documents"):
        partitions_of(corpus_and_graph[0], "chunk")


@pytest.mark.parametrize(
    ("partition", "parts"),
    [("b00|hierarchy", ("b00", "hierarchy")), ("b00", ("b00", "")), ("", ("", ""))],
)
def test_a_key_is_split_into_its_dimensions(partition: str, parts: tuple[str, str]) -> None:
    assert split(partition) == parts


def test_a_partition_is_shown_with_its_stage() -> None:
    assert str(StagePartition("chunks", "b00|hierarchy")) == "chunks/b00|hierarchy"
    assert str(StagePartition("leaderboard", "")) == "leaderboard"

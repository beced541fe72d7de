"""The stages of a corpus in dependency order: their partitions, and what each partition reads.

This is the plain-Python twin of the Dagster definitions and mappings beside it; a test holds the
two to each other.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

STAGES = (
    "raw_documents",
    "documents",
    "strategy_config",
    "chunks",
    "embedder_config",
    "embeddings",
    "collections",
    "retrieval_runs",
    "evaluations",
)


class StagePartition(NamedTuple):
    """One partition of one stage; `partition` is Dagster's key (dimensions joined by `|`)."""

    stage: str
    partition: str

    def __str__(self) -> str:
        """As it is shown: `chunks/b00|hierarchy`."""
        return f"{self.stage}/{self.partition}" if self.partition else self.stage


class Axes(Protocol):
    """What a corpus is partitioned by."""

    @property
    def buckets(self) -> list[str]:
        """Bucket names."""

    @property
    def strategies(self) -> list[str]:
        """Strategy names."""

    @property
    def index_strategies(self) -> dict[str, str]:
        """Index name → its strategy."""

    @property
    def gold_sets(self) -> list[str]:
        """Gold set names."""


def partitions_of(axes: Axes, stage: str) -> list[StagePartition]:
    """All partitions of a stage, in a fixed order."""
    indexes = list(axes.index_strategies)
    match stage:
        case "raw_documents" | "documents":
            keys = axes.buckets
        case "strategy_config":
            keys = axes.strategies
        case "chunks":
            keys = [
                join(bucket, strategy) for strategy in axes.strategies for bucket in axes.buckets
            ]
        case "embedder_config" | "collections":
            keys = indexes
        case "embeddings":
            keys = [join(bucket, index) for index in indexes for bucket in axes.buckets]
        case "retrieval_runs" | "evaluations":
            keys = [join(gold_set, index) for gold_set in axes.gold_sets for index in indexes]
        case _:
            raise ValueError(f"{stage!r} is no stage; stages: {', '.join(STAGES)}")
    return [StagePartition(stage, key) for key in keys]


def column_values(axes: Axes) -> dict[str, list[str]]:
    """Partition column of the tables → the values that there are now."""
    return {
        "bucket": axes.buckets,
        "strategy": axes.strategies,
        "index": list(axes.index_strategies),
        "gold_set": axes.gold_sets,
    }


def upstream_of(axes: Axes, work: StagePartition) -> Iterator[StagePartition]:
    """The partitions that a partition reads."""
    first, second = split(work.partition)
    match work.stage:
        case "documents":
            yield StagePartition("raw_documents", first)
        case "chunks":
            yield StagePartition("documents", first)
            yield StagePartition("strategy_config", second)
        case "embeddings":
            yield StagePartition("chunks", join(first, axes.index_strategies[second]))
            yield StagePartition("embedder_config", second)
        case "collections":
            for bucket in axes.buckets:
                yield StagePartition("embeddings", join(bucket, first))
        case "retrieval_runs":
            yield StagePartition("collections", second)
        case "evaluations":
            yield StagePartition("retrieval_runs", work.partition)
            for bucket in axes.buckets:
                yield StagePartition("documents", bucket)


def join(first: str, second: str) -> str:
    """A two-dimensional key as Dagster spells it (dimensions sorted by name)."""
    return f"{first}|{second}"


def split(partition: str) -> tuple[str, str]:
    """The two dimensions of a key; the second is empty for a one-dimensional key."""
    first, _, second = partition.partition("|")
    return first, second

"""Which partition reads which, spelled out: Dagster's inferred mappings can be silently wrong."""

import dagster as dg

from partitions.stages import Axes


def by_dimension(name: str) -> dg.PartitionMapping:
    """Between a one-dimensional asset and the same dimension of a two-dimensional one."""
    return dg.MultiToSingleDimensionPartitionMapping(partition_dimension_name=name)


def chunks_to_embeddings(axes: Axes) -> dg.PartitionMapping:
    """Same bucket; a strategy's chunks are read by every index of that strategy."""
    indexes_of: dict[str, set[str]] = {strategy: set() for strategy in axes.strategies}
    for index, strategy in axes.index_strategies.items():
        indexes_of[strategy].add(index)
    return dg.MultiPartitionMapping(
        {
            "bucket": dg.DimensionPartitionMapping("bucket", dg.IdentityPartitionMapping()),
            "strategy": dg.DimensionPartitionMapping(
                "index", dg.StaticPartitionMapping(indexes_of)
            ),
        }
    )


def all_partitions() -> dg.PartitionMapping:
    """Every partition of the upstream asset is read."""
    return dg.AllPartitionMapping()


def same_partition() -> dg.PartitionMapping:
    """The partition with the same key is read."""
    return dg.IdentityPartitionMapping()

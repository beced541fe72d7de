"""The Dagster partition definitions of a corpus."""

from dataclasses import dataclass

import dagster as dg

from partitions.stages import Axes


@dataclass(frozen=True)
class CorpusPartitions:
    """Every definition a corpus's assets use; Dagster sorts the two dimensions by name."""

    bucket: dg.StaticPartitionsDefinition
    strategy: dg.StaticPartitionsDefinition
    index: dg.StaticPartitionsDefinition
    bucket_strategy: dg.MultiPartitionsDefinition
    bucket_index: dg.MultiPartitionsDefinition
    gold_set_index: dg.MultiPartitionsDefinition | None
    """None while the corpus has no gold set."""


def corpus_partitions(axes: Axes) -> CorpusPartitions:
    """The definitions that follow from a corpus's axes."""
    bucket = dg.StaticPartitionsDefinition(axes.buckets)
    strategy = dg.StaticPartitionsDefinition(axes.strategies)
    index = dg.StaticPartitionsDefinition(list(axes.index_strategies))
    return CorpusPartitions(
        bucket=bucket,
        strategy=strategy,
        index=index,
        bucket_strategy=dg.MultiPartitionsDefinition({"bucket": bucket, "strategy": strategy}),
        bucket_index=dg.MultiPartitionsDefinition({"bucket": bucket, "index": index}),
        gold_set_index=dg.MultiPartitionsDefinition(
            {"gold_set": dg.StaticPartitionsDefinition(axes.gold_sets), "index": index}
        )
        if axes.gold_sets
        else None,
    )

"""The tables that an evaluation takes and makes."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from chunk_assets.evaluation.anchor import AnchoredQuery
from chunk_assets.evaluation.intervals import Values, mean_intervals
from chunk_assets.evaluation.measure import Measure

RUN_COLUMNS = ("query_id", "rank", "chunk_id", "uri", "start", "end", "tokens")
"""A row is one retrieved chunk: `rank` ascends without ties, `[start, end)` in the document `uri`,
`tokens` of its text by one tokenizer for all strategies that are compared."""

CHUNK_COLUMNS = ("chunk_id", "uri", "start", "end")
"""A row is one chunk that a search can return (of a strategy with levels: the level returned)."""

PER_QUERY_SCHEMA = pa.schema(
    [
        ("query_id", pa.string()),
        ("metric", pa.string()),
        ("cutoff_unit", pa.string()),
        ("cutoff", pa.int64()),
        ("value", pa.float64()),
        ("cluster", pa.string()),
    ]
)
"""A row is one metric of one query. `cutoff_unit` is `chunks`, `documents` or `tokens`; it and
`cutoff` are null for metrics of the whole ranking. `cluster` is the query's first gold document."""

SUMMARY_SCHEMA = pa.schema(
    [
        ("metric", pa.string()),
        ("cutoff_unit", pa.string()),
        ("cutoff", pa.int64()),
        ("mean", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("n_queries", pa.int64()),
        ("n_clusters", pa.int64()),
    ]
)
"""A row is the mean of one metric over queries with its interval (null with a single cluster)."""


def per_query_table(
    scores: Mapping[Measure, Values],
    queries: Sequence[AnchoredQuery],
    defined: npt.NDArray[np.bool_],
) -> pa.Table:
    """Long format: a row for every measure and every query it is defined for."""
    names = [query.query_id for query, is_in in zip(queries, defined, strict=True) if is_in]
    clusters = [query.cluster for query, is_in in zip(queries, defined, strict=True) if is_in]
    tables = [
        pa.table(
            {
                "query_id": names,
                "metric": [measure.metric] * len(names),
                "cutoff_unit": [measure.cutoff_unit] * len(names),
                "cutoff": [measure.cutoff] * len(names),
                "value": values[defined],
                "cluster": clusters,
            },
            schema=PER_QUERY_SCHEMA,
        )
        for measure, values in scores.items()
    ]
    return pa.concat_tables(tables)


def summary_table(
    scores: Mapping[Measure, Values],
    queries: Sequence[AnchoredQuery],
    defined: npt.NDArray[np.bool_],
    *,
    confidence: float,
    resamples: int,
    seed: int,
) -> pa.Table:
    """A row for every measure: its mean over the queries it is defined for, with its interval."""
    intervals = mean_intervals(
        np.stack([values[defined] for values in scores.values()], axis=1),
        [query.cluster for query, is_in in zip(queries, defined, strict=True) if is_in],
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    return pa.table(
        {
            "metric": [measure.metric for measure in scores],
            "cutoff_unit": [measure.cutoff_unit for measure in scores],
            "cutoff": [measure.cutoff for measure in scores],
            # NaN stands for what cannot be known; in a table that is null.
            "mean": pa.array(intervals.mean, from_pandas=True),
            "low": pa.array(intervals.low, from_pandas=True),
            "high": pa.array(intervals.high, from_pandas=True),
            "n_queries": [intervals.n_queries] * len(scores),
            "n_clusters": [intervals.n_clusters] * len(scores),
        },
        schema=SUMMARY_SCHEMA,
    )

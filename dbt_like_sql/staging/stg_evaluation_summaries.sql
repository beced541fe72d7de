-- A row is one metric at one cutoff: its mean over an index's gold queries, with an interval.
select
    gold_set,
    index,
    metric,
    cutoff_unit,
    cutoff,
    mean,
    low,
    high,
    confidence,
    queries,
    clusters
from lake.evaluation_summaries

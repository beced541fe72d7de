-- A row is one gold query's value of one metric at one cutoff, on one index.
select
    gold_set,
    index,
    gold_set || '|' || index as partition,
    query_id,
    metric,
    cutoff_unit,
    cutoff,
    value,
    cluster
from lake.evaluations

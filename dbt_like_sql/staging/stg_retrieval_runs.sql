-- A row is one rank of the answer that an index gave to a gold query.
select
    gold_set,
    index,
    gold_set || '|' || index as partition,
    query_id,
    query,
    rank,
    score,
    dense_rank,
    sparse_rank,
    chunk_id,
    document_id,
    uri,
    span_start,
    span_end,
    tokens
from lake.retrieval_runs

-- A flag stands at most once on a chunk.
select
    strategy,
    level,
    flag,
    flagged_chunks,
    chunks
from chunk_flags
where flagged_chunks > chunks
order by strategy, level, flag

-- Shares lie between 0 and 1, and parts do not exceed their whole.
select
    strategy,
    overlap_share,
    tiny_share,
    heading_share,
    oversize_chunks,
    flagged_chunks,
    chunks
from strategy_statistics
where
    overlap_share not between 0 and 1
    or tiny_share not between 0 and 1
    or heading_share not between 0 and 1
    or oversize_chunks > flagged_chunks
    or flagged_chunks > chunks
order by strategy

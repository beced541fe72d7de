-- A row is one flag that chunks of a strategy carry: how many of them do.
with flagged_chunks as (
    select
        strategy,
        level,
        unnest(flags) as flag
    from stg_chunks
),

strategy_chunks as (
    select
        strategy,
        level,
        count(*) as chunks
    from stg_chunks
    group by strategy, level
),

flag_counts as (
    select
        strategy,
        level,
        flag,
        count(*) as flagged_chunks
    from flagged_chunks
    group by strategy, level, flag
)

select
    flag_counts.strategy,
    flag_counts.level,
    flag_counts.flag,
    flag_counts.flagged_chunks,
    strategy_chunks.chunks,
    flag_counts.flagged_chunks / strategy_chunks.chunks as share
from flag_counts
inner join strategy_chunks
    on flag_counts.strategy = strategy_chunks.strategy
    and flag_counts.level = strategy_chunks.level
order by flag_counts.strategy, flag_counts.level, flag_counts.flag

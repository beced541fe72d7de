-- A row is one strategy: how many chunks it makes, of which sizes, and how much they repeat.
-- Sizes are those of what is embedded, in the strategy's unit; characters are those of the text.
-- All but `parent_chunks` and `documents` is about chunks of level 0, which are what is searched.
with reaches as (
    select
        strategy,
        document_id,
        span_start,
        span_end,
        size,
        len(heading_path) > 0 as has_heading,
        list_contains(flags, 'oversize') as is_oversize,
        len(flags) > 0 as is_flagged,
        -- How far the chunks before it reach: what lies before that is there already.
        coalesce(
            max(span_end) over (
                partition by strategy, document_id
                order by span_start, span_end, ordinal
                rows between unbounded preceding and 1 preceding
            ),
            0
        ) as reach
    from stg_chunks
    where level = 0
),

sizes as (
    select
        strategy,
        count(*) as chunks,
        count(distinct document_id) as documents,
        sum(span_end - span_start)::bigint as characters_total,
        avg(span_end - span_start) as characters_mean,
        min(span_end - span_start) as characters_min,
        quantile_cont(span_end - span_start, 0.5) as characters_p50,
        quantile_cont(span_end - span_start, 0.95) as characters_p95,
        max(span_end - span_start) as characters_max,
        sum(size)::bigint as size_total,
        avg(size) as size_mean,
        min(size) as size_min,
        quantile_cont(size, 0.5) as size_p50,
        quantile_cont(size, 0.95) as size_p95,
        max(size) as size_max,
        sum(greatest(least(span_end, reach) - span_start, 0))::bigint as duplicated_characters,
        count(*) filter (where has_heading) as headed_chunks,
        count(*) filter (where is_oversize) as oversize_chunks,
        count(*) filter (where is_flagged) as flagged_chunks
    from reaches
    group by strategy
),

-- Under a tenth of the 95th percentile, which is near the limit where a strategy has one.
tiny_chunks as (
    select
        reaches.strategy,
        count(*) filter (where reaches.size * 10 < sizes.size_p95) as tiny_chunks
    from reaches
    inner join sizes on reaches.strategy = sizes.strategy
    group by reaches.strategy
),

parents as (
    select
        strategy,
        count(*) as parent_chunks
    from stg_chunks
    where level > 0
    group by strategy
)

select
    strategies.strategy,
    strategies.strategy_fingerprint,
    strategies.tokenizer,
    coalesce(sizes.documents, 0) as documents,
    coalesce(sizes.chunks, 0) as chunks,
    coalesce(parents.parent_chunks, 0) as parent_chunks,
    sizes.chunks / sizes.documents as chunks_per_document,
    coalesce(sizes.characters_total, 0) as characters_total,
    sizes.characters_mean,
    sizes.characters_min,
    sizes.characters_p50,
    sizes.characters_p95,
    sizes.characters_max,
    coalesce(sizes.size_total, 0) as size_total,
    sizes.size_mean,
    sizes.size_min,
    sizes.size_p50,
    sizes.size_p95,
    sizes.size_max,
    coalesce(sizes.duplicated_characters, 0) as duplicated_characters,
    -- Of 100 characters stored, how many are stored elsewhere already.
    sizes.duplicated_characters / nullif(sizes.characters_total, 0) as overlap_share,
    coalesce(tiny_chunks.tiny_chunks, 0) as tiny_chunks,
    tiny_chunks.tiny_chunks / sizes.chunks as tiny_share,
    coalesce(sizes.oversize_chunks, 0) as oversize_chunks,
    coalesce(sizes.flagged_chunks, 0) as flagged_chunks,
    sizes.headed_chunks / sizes.chunks as heading_share
from stg_strategy_config as strategies
left join sizes on strategies.strategy = sizes.strategy
left join tiny_chunks on strategies.strategy = tiny_chunks.strategy
left join parents on strategies.strategy = parents.strategy
order by strategies.strategy

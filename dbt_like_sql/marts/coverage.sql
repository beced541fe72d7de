-- A row is one document under one strategy: how many of its non-blank characters lie in chunks.
-- `state` is covered (all do), explained (what does not is in quarantine), pending (this version
-- of the document is not cut yet) or lost (it is cut, and something is missing).
with documents as (
    select
        bucket,
        document_id,
        uri,
        document_version,
        text_length
    from stg_documents
),

-- White space as Unicode has it: the characters that Python's str.isspace() accepts.
document_characters as (
    select
        document_id,
        sum(
            length(regexp_replace(text, '[\pZ\x09-\x0d\x1c-\x1f\x85]', '', 'g'))
        )::bigint as nonblank_characters
    from stg_text_blocks
    group by document_id
),

-- Chunks of an older version of the document say nothing about this one.
current_chunks as (
    select
        stg_chunks.strategy,
        stg_chunks.document_id,
        stg_chunks.ordinal,
        stg_chunks.span_start,
        stg_chunks.span_end
    from stg_chunks
    inner join documents
        on stg_chunks.document_id = documents.document_id
        and stg_chunks.document_version = documents.document_version
    where stg_chunks.level = 0
),

chunk_counts as (
    select
        strategy,
        document_id,
        count(*) as chunks,
        max(span_end) as last_end
    from current_chunks
    group by strategy, document_id
),

document_runs as (
    select
        partition as bucket,
        finished_at,
        data_version,
        lag(data_version) over (
            partition by partition
            order by finished_at, run_id
        ) as previous_version
    from stg_runs
    where stage = 'documents'
),

bucket_changes as (
    select
        bucket,
        max(finished_at) as changed_at
    from document_runs
    where data_version is distinct from previous_version
    group by bucket
),

-- Of any status: a run whose check found a loss has cut all the same.
cuts as (
    select
        split_part(partition, '|', 1) as bucket,
        split_part(partition, '|', 2) as strategy,
        max(finished_at) as cut_at
    from stg_runs
    where stage = 'chunks'
    group by split_part(partition, '|', 1), split_part(partition, '|', 2)
),

pairs as (
    select
        strategies.strategy,
        documents.bucket,
        documents.document_id,
        documents.uri,
        documents.document_version,
        documents.text_length,
        coalesce(chunk_counts.chunks, 0) as chunks,
        coalesce(chunk_counts.last_end, 0) as last_end,
        coalesce(chunk_counts.chunks, 0) > 0
        or coalesce(cuts.cut_at >= bucket_changes.changed_at, cuts.cut_at is not null) as is_cut
    from documents
    cross join stg_strategy_config as strategies
    left join chunk_counts
        on strategies.strategy = chunk_counts.strategy
        and documents.document_id = chunk_counts.document_id
    left join cuts
        on strategies.strategy = cuts.strategy and documents.bucket = cuts.bucket
    left join bucket_changes on documents.bucket = bucket_changes.bucket
),

reaches as (
    select
        strategy,
        document_id,
        span_start,
        coalesce(
            max(span_end) over (
                partition by strategy, document_id
                order by span_start, span_end, ordinal
                rows between unbounded preceding and 1 preceding
            ),
            0
        ) as reach
    from current_chunks
),

gaps as (
    select
        strategy,
        document_id,
        reach as gap_start,
        span_start as gap_end
    from reaches
    where span_start > reach
    union all
    select
        strategy,
        document_id,
        last_end as gap_start,
        text_length as gap_end
    from pairs
    where text_length > last_end
),

gap_pieces as (
    select
        gaps.strategy,
        gaps.document_id,
        greatest(gaps.gap_start, blocks.block_start) as piece_start,
        length(
            regexp_replace(
                substring(
                    blocks.text,
                    greatest(gaps.gap_start - blocks.block_start, 0) + 1,
                    least(gaps.gap_end, blocks.block_end)
                    - greatest(gaps.gap_start, blocks.block_start)
                ),
                '[\pZ\x09-\x0d\x1c-\x1f\x85]',
                '',
                'g'
            )
        ) as nonblank_characters
    from gaps
    inner join stg_text_blocks as blocks
        on gaps.document_id = blocks.document_id
        and blocks.block_start < gaps.gap_end
        and blocks.block_end > gaps.gap_start
),

losses as (
    select
        strategy,
        document_id,
        sum(nonblank_characters)::bigint as uncovered_characters,
        min(piece_start) as first_uncovered_at
    from gap_pieces
    where nonblank_characters > 0
    group by strategy, document_id
),

explanations as (
    select
        split_part(partition, '|', 2) as strategy,
        document_id,
        max_by(error, last_seen) as error,
        max_by(message, last_seen) as message
    from stg_quarantine
    where stage = 'chunks'
    group by split_part(partition, '|', 2), document_id
)

select
    pairs.strategy,
    pairs.bucket,
    pairs.document_id,
    pairs.uri,
    pairs.document_version,
    case
        when losses.uncovered_characters is null then 'covered'
        when explanations.document_id is not null then 'explained'
        when not pairs.is_cut then 'pending'
        else 'lost'
    end as state,
    pairs.chunks,
    pairs.text_length as characters,
    coalesce(document_characters.nonblank_characters, 0) as nonblank_characters,
    coalesce(document_characters.nonblank_characters, 0)
    - coalesce(losses.uncovered_characters, 0) as covered_characters,
    coalesce(losses.uncovered_characters, 0) as uncovered_characters,
    losses.first_uncovered_at,
    explanations.error as quarantine_error,
    explanations.message as quarantine_message
from pairs
left join document_characters on pairs.document_id = document_characters.document_id
left join losses
    on pairs.strategy = losses.strategy and pairs.document_id = losses.document_id
left join explanations
    on pairs.strategy = explanations.strategy and pairs.document_id = explanations.document_id
order by pairs.strategy, pairs.uri, pairs.document_id

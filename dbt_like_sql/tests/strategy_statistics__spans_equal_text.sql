-- The text of every chunk is exactly the slice of its document that its span names.
with current_chunks as (
    select
        stg_chunks.strategy,
        stg_chunks.document_id,
        stg_chunks.chunk_id,
        stg_chunks.span_start,
        stg_chunks.span_end,
        stg_chunks.text
    from stg_chunks
    inner join stg_documents
        on stg_chunks.document_id = stg_documents.document_id
        and stg_chunks.document_version = stg_documents.document_version
),

slices as (
    select
        current_chunks.strategy,
        current_chunks.chunk_id,
        string_agg(
            substring(
                blocks.text,
                greatest(current_chunks.span_start - blocks.block_start, 0) + 1,
                least(current_chunks.span_end, blocks.block_end)
                - greatest(current_chunks.span_start, blocks.block_start)
            ),
            ''
            order by blocks.block_start
        ) as text
    from current_chunks
    inner join stg_text_blocks as blocks
        on current_chunks.document_id = blocks.document_id
        and blocks.block_start < current_chunks.span_end
        and blocks.block_end > current_chunks.span_start
    group by current_chunks.strategy, current_chunks.chunk_id
)

select
    current_chunks.strategy,
    current_chunks.document_id,
    current_chunks.chunk_id,
    current_chunks.span_start,
    current_chunks.span_end,
    current_chunks.text,
    slices.text as slice
from current_chunks
left join slices
    on current_chunks.strategy = slices.strategy and current_chunks.chunk_id = slices.chunk_id
where
    current_chunks.text is distinct from slices.text
    or length(current_chunks.text) <> current_chunks.span_end - current_chunks.span_start
order by current_chunks.strategy, current_chunks.document_id, current_chunks.span_start

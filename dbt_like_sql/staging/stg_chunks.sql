-- A row is one chunk of one document.
select
    bucket,
    strategy,
    -- Two-dimensional partitions are named in the order of their dimensions' names.
    bucket || '|' || strategy as partition,
    chunk_id,
    document_id,
    uri,
    title,
    document_version,
    text_hash,
    strategy_fingerprint,
    ordinal,
    level,
    parent_id,
    span_start,
    span_end,
    overlap_start,
    page_start,
    page_end,
    heading_path,
    text,
    embed_text,
    size,
    flags
from lake.chunks

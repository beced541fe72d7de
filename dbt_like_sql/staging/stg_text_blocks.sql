-- A row is up to 32,768 code points of a document's text: [block_start, block_end).
-- Reaching the n-th code point of a UTF-8 text means walking all before it. Models that look at
-- many spans of a document read them from these blocks, so that their cost stays linear in its
-- length (5 MB with 10,000 chunks: 0.8 s instead of 52 s).
select
    document_id,
    block_number * 32768 as block_start,
    least((block_number + 1) * 32768, text_length) as block_end,
    substring(text, block_number * 32768 + 1, 32768) as text
from (
    select
        document_id,
        text,
        length(text) as text_length,
        unnest(range(0, (length(text) + 32767) // 32768)) as block_number
    from lake.documents
)

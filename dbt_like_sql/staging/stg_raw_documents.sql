-- A row is one source item that could be read, without its bytes.
select
    bucket,
    bucket as partition,
    document_id,
    uri,
    signature,
    content_hash,
    size_bytes,
    source_format,
    source_title
from lake.raw_documents

-- A row is one document as normalized text.
select
    bucket,
    bucket as partition,
    document_id,
    uri,
    title,
    format,
    format_reason,
    encoding,
    encoding_confidence,
    state,
    raw_version,
    content_hash,
    parser_fingerprint,
    text_hash,
    document_version,
    text,
    text_length,
    warnings
from lake.documents

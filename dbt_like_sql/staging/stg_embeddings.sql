-- A row is one chunk of one index, with the key of its vector.
select
    bucket,
    index,
    bucket || '|' || index as partition,
    chunk_id,
    document_id,
    vector_key,
    embedder_fingerprint,
    payload_hash,
    tokens,
    tokens_embedded,
    flags
from lake.embeddings

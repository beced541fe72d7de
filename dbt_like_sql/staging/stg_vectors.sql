-- A row is one stored vector, without its components.
select
    embedder_fingerprint,
    vector_key,
    tokens,
    tokens_embedded,
    flags,
    run_id,
    created_at
from lake.vectors

-- A row is one point of an index's collection.
select
    index,
    index as partition,
    collection,
    chunk_id,
    document_id,
    vector_key,
    payload_hash,
    generation,
    run_id
from lake.collections

-- A point has the vector and the payload of its chunk, made by the embedder of its index.
select
    index,
    point_id,
    vector_key,
    embedding_vector_key,
    payload_hash,
    embedding_payload_hash,
    embedder_fingerprint,
    vector_embedder_fingerprint
from vector_lineage
where
    vector_key is distinct from embedding_vector_key
    or payload_hash is distinct from embedding_payload_hash
    or embedder_fingerprint is distinct from vector_embedder_fingerprint
order by index, point_id

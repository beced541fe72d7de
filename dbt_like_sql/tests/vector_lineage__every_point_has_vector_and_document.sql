-- Every point leads to a stored vector, a chunk, a document and the bytes it was read from.
select
    index,
    point_id,
    vector_created_at is null as lacks_vector,
    chunk_id is null as lacks_chunk,
    document_id is null as lacks_document,
    source_content_hash is null as lacks_source
from vector_lineage
where
    vector_created_at is null
    or chunk_id is null
    or document_id is null
    or source_content_hash is null
order by index, point_id

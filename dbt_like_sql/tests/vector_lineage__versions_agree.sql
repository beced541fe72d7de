-- A point's chunk is cut from the document as it is now, and that was parsed from the bytes of now.
select
    index,
    point_id,
    uri,
    chunk_document_version,
    document_version,
    content_hash,
    source_content_hash
from vector_lineage
where
    chunk_document_version <> document_version
    or content_hash <> source_content_hash
    or point_document_id <> document_id
order by index, point_id

-- A row is one point: its vector, its chunk, its document and its source bytes, and what made each.
-- Where a link is missing the columns behind it are null: the point is served, but out of date.
with indexed_vectors as (
    -- A key that two runs stored stands twice; the latest row is the one that is read.
    select
        stg_vectors.vector_key,
        max_by(stg_vectors.embedder_fingerprint, stg_vectors.created_at) as embedder_fingerprint,
        max_by(stg_vectors.run_id, stg_vectors.created_at) as run_id,
        max(stg_vectors.created_at) as created_at
    from stg_vectors
    where stg_vectors.vector_key in (select stg_collections.vector_key from stg_collections)
    group by stg_vectors.vector_key
),

-- Runs by id: those of another corpus that shares the vector are not seen here.
stage_runs as (
    select
        stage,
        run_id,
        max(code_version) as code_version,
        max(git_commit) as git_commit
    from stg_runs
    group by stage, run_id
)

select
    points.index,
    points.collection,
    points.chunk_id as point_id,
    points.generation,
    points.payload_hash,
    points.vector_key,
    vectors.embedder_fingerprint as vector_embedder_fingerprint,
    vectors.created_at as vector_created_at,
    indexes.embedder,
    embeddings.embedder_fingerprint,
    embeddings.vector_key as embedding_vector_key,
    embeddings.payload_hash as embedding_payload_hash,
    embeddings.tokens,
    embeddings.tokens_embedded,
    embeddings.flags as embedding_flags,
    indexes.strategy,
    chunks.strategy_fingerprint,
    chunks.chunk_id,
    chunks.ordinal,
    chunks.level,
    chunks.parent_id,
    chunks.span_start,
    chunks.span_end,
    chunks.heading_path,
    chunks.page_start,
    chunks.page_end,
    chunks.document_version as chunk_document_version,
    points.document_id as point_document_id,
    documents.document_id,
    documents.bucket,
    documents.uri,
    documents.title,
    documents.format,
    documents.document_version,
    documents.text_hash,
    documents.parser_fingerprint,
    documents.content_hash,
    raw_documents.content_hash as source_content_hash,
    raw_documents.size_bytes as source_size_bytes,
    raw_documents_runs.run_id as raw_documents_run_id,
    raw_documents_runs.code_version as raw_documents_code_version,
    raw_documents_runs.git_commit as raw_documents_git_commit,
    documents_runs.run_id as documents_run_id,
    documents_runs.code_version as documents_code_version,
    documents_runs.git_commit as documents_git_commit,
    chunks_runs.run_id as chunks_run_id,
    chunks_runs.code_version as chunks_code_version,
    chunks_runs.git_commit as chunks_git_commit,
    embeddings_runs.run_id as embeddings_run_id,
    embeddings_runs.code_version as embeddings_code_version,
    embeddings_runs.git_commit as embeddings_git_commit,
    vectors.run_id as vector_run_id,
    vector_runs.code_version as vector_code_version,
    vector_runs.git_commit as vector_git_commit,
    points.run_id as point_run_id,
    point_runs.code_version as point_code_version,
    point_runs.git_commit as point_git_commit
from stg_collections as points
left join stg_embedder_config as indexes on points.index = indexes.index
left join indexed_vectors as vectors on points.vector_key = vectors.vector_key
left join stg_embeddings as embeddings
    on points.index = embeddings.index and points.chunk_id = embeddings.chunk_id
left join stg_chunks as chunks
    on indexes.strategy = chunks.strategy and points.chunk_id = chunks.chunk_id
left join stg_documents as documents on chunks.document_id = documents.document_id
left join stg_raw_documents as raw_documents
    on documents.document_id = raw_documents.document_id
left join stg_latest_runs as raw_documents_runs
    on raw_documents_runs.stage = 'raw_documents'
    and raw_documents.partition = raw_documents_runs.partition
left join stg_latest_runs as documents_runs
    on documents_runs.stage = 'documents'
    and documents.partition = documents_runs.partition
left join stg_latest_runs as chunks_runs
    on chunks_runs.stage = 'chunks'
    and chunks.partition = chunks_runs.partition
left join stg_latest_runs as embeddings_runs
    on embeddings_runs.stage = 'embeddings'
    and embeddings.partition = embeddings_runs.partition
left join stage_runs as vector_runs
    on vector_runs.stage = 'embeddings' and vectors.run_id = vector_runs.run_id
left join stage_runs as point_runs
    on point_runs.stage = 'collections' and points.run_id = point_runs.run_id
order by points.index, documents.uri, chunks.ordinal, points.chunk_id

"""The columns of every table; the first ones named in PARTITIONED_BY are its partition columns.

Tables of a corpus are named after their asset (`chunks`); shared ones hold all corpora.
"""

import pyarrow as pa

_STRINGS = pa.list_(pa.string())

BLOCK = pa.struct(
    [
        ("kind", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("level", pa.int32()),
        ("heading_path", _STRINGS),
        ("page", pa.int32()),
        ("attributes", pa.string()),  # JSON
    ]
)

CORPUS_TABLES: dict[str, pa.Schema] = {
    # One row per source item that could be read: its bytes as found.
    "raw_documents": pa.schema(
        [
            ("bucket", pa.string()),
            ("document_id", pa.string()),
            ("uri", pa.string()),
            ("signature", pa.string()),  # what the listing said; never an identity
            ("content_hash", pa.string()),
            ("size_bytes", pa.int64()),
            ("content", pa.binary()),
            ("source_format", pa.string()),
            ("source_title", pa.string()),
            ("metadata", pa.string()),  # JSON
        ]
    ),
    # One row per document: normalized text and its blocks.
    "documents": pa.schema(
        [
            ("bucket", pa.string()),
            ("document_id", pa.string()),
            ("uri", pa.string()),
            ("title", pa.string()),
            ("format", pa.string()),
            ("format_reason", pa.string()),
            ("encoding", pa.string()),
            ("encoding_confidence", pa.float64()),
            ("state", pa.string()),  # ok | partial | no_text
            ("raw_version", pa.string()),  # what it was parsed from: bytes, name and metadata
            ("content_hash", pa.string()),
            ("parser_fingerprint", pa.string()),
            ("text_hash", pa.string()),
            ("document_version", pa.string()),  # all that chunkers see: text, blocks, title
            ("text", pa.string()),
            ("text_length", pa.int64()),  # code points
            ("blocks", pa.list_(BLOCK)),
            ("offset_map", pa.list_(pa.int64())),
            ("warnings", _STRINGS),
            ("metadata", pa.string()),  # JSON
        ]
    ),
    # One row per strategy: what it resolves to.
    "strategy_config": pa.schema(
        [
            ("strategy", pa.string()),
            ("strategy_fingerprint", pa.string()),
            ("configuration", pa.string()),  # JSON
            ("tokenizer", pa.string()),
            ("tokenizer_fingerprint", pa.string()),
        ]
    ),
    # One row per chunk: an exact slice of its document, and what the model is given for it.
    "chunks": pa.schema(
        [
            ("bucket", pa.string()),
            ("strategy", pa.string()),
            ("chunk_id", pa.string()),
            ("document_id", pa.string()),
            ("uri", pa.string()),
            ("title", pa.string()),
            ("document_version", pa.string()),
            ("text_hash", pa.string()),
            ("strategy_fingerprint", pa.string()),
            ("ordinal", pa.int32()),
            ("level", pa.int32()),
            ("parent_id", pa.string()),
            ("span_start", pa.int64()),
            ("span_end", pa.int64()),
            ("overlap_start", pa.int64()),
            ("page_start", pa.int32()),
            ("page_end", pa.int32()),
            ("heading_path", _STRINGS),
            ("text", pa.string()),
            ("embed_text", pa.string()),
            ("size", pa.int64()),  # of embed_text, in the strategy's unit
            ("flags", _STRINGS),
        ]
    ),
    # One row per index: the embedder it uses and the names that follow.
    "embedder_config": pa.schema(
        [
            ("index", pa.string()),
            ("strategy", pa.string()),
            ("embedder", pa.string()),
            ("embedder_fingerprint", pa.string()),
            ("dimension", pa.int32()),
            ("max_tokens", pa.int32()),
            ("configuration", pa.string()),  # JSON
        ]
    ),
    # One row per chunk of an index: which vector it has.
    "embeddings": pa.schema(
        [
            ("bucket", pa.string()),
            ("index", pa.string()),
            ("chunk_id", pa.string()),
            ("document_id", pa.string()),
            ("vector_key", pa.string()),
            ("embedder_fingerprint", pa.string()),
            ("payload_hash", pa.string()),  # of what its point will carry
            ("tokens", pa.int64()),  # of embed_text, by the embedder's tokenizer
            ("tokens_embedded", pa.int64()),
            ("flags", _STRINGS),  # pooled | truncated
        ]
    ),
    # One row per point of the index's collection.
    "collections": pa.schema(
        [
            ("index", pa.string()),
            ("collection", pa.string()),
            ("chunk_id", pa.string()),
            ("document_id", pa.string()),
            ("vector_key", pa.string()),
            ("payload_hash", pa.string()),
            ("generation", pa.int64()),  # the commit that last wrote this point
            ("run_id", pa.string()),  # the run that last wrote this point
        ]
    ),
    # One row per gold query and rank: what the index's collection answered.
    "retrieval_runs": pa.schema(
        [
            ("gold_set", pa.string()),
            ("index", pa.string()),
            ("query_id", pa.string()),
            ("query", pa.string()),
            ("rank", pa.int32()),
            ("score", pa.float64()),
            ("dense_rank", pa.int32()),
            ("sparse_rank", pa.int32()),
            ("chunk_id", pa.string()),
            ("document_id", pa.string()),
            ("uri", pa.string()),
            ("span_start", pa.int64()),
            ("span_end", pa.int64()),
            ("tokens", pa.int64()),
        ]
    ),
    # One row per gold query, metric and cutoff.
    "evaluations": pa.schema(
        [
            ("gold_set", pa.string()),
            ("index", pa.string()),
            ("query_id", pa.string()),
            ("metric", pa.string()),  # recall, precision, ndcg, mrr, span_recall, …
            ("cutoff_unit", pa.string()),  # chunks | documents | tokens; null: of the whole ranking
            ("cutoff", pa.int32()),
            ("value", pa.float64()),
            ("cluster", pa.string()),  # the document whose questions are resampled together
        ]
    ),
    # One row per metric and cutoff: the mean over queries with its interval.
    "evaluation_summaries": pa.schema(
        [
            ("gold_set", pa.string()),
            ("index", pa.string()),
            ("metric", pa.string()),
            ("cutoff_unit", pa.string()),
            ("cutoff", pa.int32()),
            ("mean", pa.float64()),
            ("low", pa.float64()),
            ("high", pa.float64()),
            ("confidence", pa.float64()),
            ("queries", pa.int32()),
            ("clusters", pa.int32()),
        ]
    ),
}

SHARED_TABLES: dict[str, pa.Schema] = {
    # One row per vector key, whatever corpora, strategies and indexes use it. Append-only.
    "vectors": pa.schema(
        [
            ("embedder_fingerprint", pa.string()),
            ("vector_key", pa.string()),
            ("vector", pa.list_(pa.float32())),
            ("tokens", pa.int64()),
            ("tokens_embedded", pa.int64()),
            ("flags", _STRINGS),
            ("run_id", pa.string()),
            ("created_at", pa.timestamp("us", tz="UTC")),
        ]
    ),
    # One row per document (or chunk) that a stage could not process.
    "quarantine": pa.schema(
        [
            ("corpus", pa.string()),
            ("stage", pa.string()),
            ("partition", pa.string()),
            ("document_id", pa.string()),
            ("uri", pa.string()),
            ("input_version", pa.string()),  # of what failed: the same input is not tried again
            ("error", pa.string()),
            ("message", pa.string()),
            ("first_seen", pa.timestamp("us", tz="UTC")),
            ("last_seen", pa.timestamp("us", tz="UTC")),
            ("run_id", pa.string()),
        ]
    ),
    # One row per materialization; the latest per partition is its state. Append-only.
    "runs": pa.schema(
        [
            ("corpus", pa.string()),
            ("stage", pa.string()),
            ("partition", pa.string()),  # "" for an unpartitioned asset
            ("run_id", pa.string()),
            ("status", pa.string()),  # unchecked | ok | check_failed
            ("data_version", pa.string()),
            ("inputs", pa.string()),  # JSON: name of the input → its version
            ("code_version", pa.string()),
            ("git_commit", pa.string()),
            ("configuration", pa.string()),  # JSON
            ("counts", pa.string()),  # JSON
            ("tokens", pa.int64()),
            ("seconds", pa.float64()),
            ("finished_at", pa.timestamp("us", tz="UTC")),
        ]
    ),
}

PARTITIONED_BY: dict[str, tuple[str, ...]] = {
    "raw_documents": ("bucket",),
    "documents": ("bucket",),
    "strategy_config": ("strategy",),
    "chunks": ("bucket", "strategy"),
    "embedder_config": ("index",),
    "embeddings": ("bucket", "index"),
    "collections": ("index",),
    "retrieval_runs": ("gold_set", "index"),
    "evaluations": ("gold_set", "index"),
    "evaluation_summaries": ("gold_set", "index"),
    "vectors": ("embedder_fingerprint",),
    "quarantine": ("corpus", "stage", "partition"),
    "runs": ("corpus",),
}

"""What a point carries beside its vectors."""

from collections.abc import Mapping
from typing import Any

from chunk_assets.lineage.identity import Fingerprint, Json, fingerprint

PROVENANCE = ("generation", "run_id", "payload_hash")
"""Fields that say when a point was written; never part of what it is."""


def payload_of(
    corpus: str,
    chunk: Mapping[str, Any],
    *,
    vector_key: str,
    embedder_fingerprint: str,
    tokens: int,
) -> dict[str, Json]:
    """The payload of a chunk's point, without its provenance.

    Args:
        corpus: name of the corpus.
        chunk: a row of the `chunks` table.
        vector_key: identity of its dense vector.
        embedder_fingerprint: identity of the model that made it.
        tokens: what the model was given, in its own tokens.
    """
    return {
        "corpus": corpus,
        "document_id": chunk["document_id"],
        "uri": chunk["uri"],
        "title": chunk["title"],
        "ordinal": chunk["ordinal"],
        "level": chunk["level"],
        "parent_id": chunk["parent_id"],
        "start": chunk["span_start"],
        "end": chunk["span_end"],
        "overlap_start": chunk["overlap_start"],
        "page_start": chunk["page_start"],
        "page_end": chunk["page_end"],
        "heading_path": list(chunk["heading_path"]),
        "text": chunk["text"],
        "tokens": tokens,
        "strategy_fingerprint": chunk["strategy_fingerprint"],
        "embedder_fingerprint": embedder_fingerprint,
        "vector_key": vector_key,
    }


def payload_hash(payload: Mapping[str, Json]) -> Fingerprint:
    """The identity of a payload; its provenance is left out."""
    return fingerprint(
        "payload", {key: value for key, value in payload.items() if key not in PROVENANCE}
    )

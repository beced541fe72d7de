"""A corpus is split into buckets by a hash of the document id; partitions are buckets."""

import uuid

from chunk_assets.lineage.identity import DocumentId

MAX_BUCKETS = 64
"""Dagster's staleness stops looking at edges of 100 and more upstream partitions."""


def bucket_names(count: int) -> list[str]:
    """`b00`, `b01`, …: the letter keeps `00` from being read as a number."""
    return [f"b{number:02d}" for number in range(count)]


def bucket_of(document: DocumentId, count: int) -> str:
    """The bucket of a document: its UUID as a number, modulo the number of buckets."""
    return f"b{uuid.UUID(document).int % count:02d}"

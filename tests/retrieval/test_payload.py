"""What a point carries, and when that counts as changed."""

from typing import Any

import pytest

from chunk_assets.lineage.identity import Json
from chunk_assets.retrieval.payload import PROVENANCE, payload_hash, payload_of
from resources.schemas import CORPUS_TABLES

CHUNK: dict[str, Any] = {
    "bucket": "b00",
    "strategy": "hierarchy",
    "chunk_id": "00000000-0000-0000-0000-000000000001",
    "document_id": "00000000-0000-0000-0000-000000000002",
    "uri": "guide.md",
    "title": "Guide",
    "document_version": "d" * 32,
    "text_hash": "t" * 32,
    "strategy_fingerprint": "s" * 32,
    "ordinal": 3,
    "level": 0,
    "parent_id": None,
    "span_start": 10,
    "span_end": 20,
    "overlap_start": None,
    "page_start": 1,
    "page_end": 2,
    "heading_path": ["Guide", "Start"],
    "text": "ten chars.",
    "embed_text": "Start: ten chars.",
    "size": 4,
    "flags": [],
}


def payload(
    chunk: dict[str, Any] | None = None,
    *,
    vector_key: str = "v" * 32,
    embedder_fingerprint: str = "e" * 32,
    tokens: int = 5,
) -> dict[str, Json]:
    return payload_of(
        "handbook",
        chunk or CHUNK,
        vector_key=vector_key,
        embedder_fingerprint=embedder_fingerprint,
        tokens=tokens,
    )


def test_the_chunk_here_has_the_columns_of_the_table() -> None:
    assert list(CHUNK) == CORPUS_TABLES["chunks"].names


def test_a_point_carries_what_shows_and_proves_where_it_came_from() -> None:
    assert payload() == {
        "corpus": "handbook",
        "document_id": CHUNK["document_id"],
        "uri": "guide.md",
        "title": "Guide",
        "ordinal": 3,
        "level": 0,
        "parent_id": None,
        "start": 10,
        "end": 20,
        "overlap_start": None,
        "page_start": 1,
        "page_end": 2,
        "heading_path": ["Guide", "Start"],
        "text": "ten chars.",
        "tokens": 5,
        "strategy_fingerprint": "s" * 32,
        "embedder_fingerprint": "e" * 32,
        "vector_key": "v" * 32,
    }


@pytest.mark.parametrize(
    "column",
    [
        "document_id",
        "uri",
        "title",
        "strategy_fingerprint",
        "ordinal",
        "level",
        "parent_id",
        "span_start",
        "span_end",
        "overlap_start",
        "page_start",
        "page_end",
        "heading_path",
        "text",
    ],
)
def test_a_change_of_what_a_point_carries_is_a_change_of_its_payload(column: str) -> None:
    other = ["x"] if column == "heading_path" else 99 if "_" not in column else "99"
    assert payload_hash(payload(CHUNK | {column: other})) != payload_hash(payload())


@pytest.mark.parametrize("column", ["bucket", "strategy", "document_version", "text_hash", "size"])
def test_what_a_point_does_not_carry_changes_nothing(column: str) -> None:
    # Neither an edit elsewhere in the document nor another number of buckets rewrites a point.
    assert payload_hash(payload(CHUNK | {column: "other"})) == payload_hash(payload())


@pytest.mark.parametrize(
    "change", [{"vector_key": "w" * 32}, {"embedder_fingerprint": "f" * 32}, {"tokens": 6}]
)
def test_what_the_embedding_adds_is_part_of_the_payload(change: dict[str, Any]) -> None:
    assert payload_hash(payload(**change)) != payload_hash(payload())


@pytest.mark.parametrize("name", PROVENANCE)
def test_when_and_by_which_run_a_point_was_written_is_not(name: str) -> None:
    assert payload_hash({**payload(), name: "anything"}) == payload_hash(payload())

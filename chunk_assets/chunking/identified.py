"""Chunks with their identity."""

from collections import Counter
from collections.abc import Iterator, Sequence

from chunk_assets.chunking.chunk import Chunk
from chunk_assets.lineage.identity import ChunkId, DocumentId, chunk_id


def identify(document: DocumentId, chunks: Sequence[Chunk]) -> Iterator[tuple[ChunkId, Chunk]]:
    """Each chunk with its id; equal chunks of a document are told apart by their occurrence."""
    seen: Counter[tuple[int, str, str]] = Counter()
    for chunk in chunks:
        content = (chunk.level, chunk.text, chunk.embed_text)
        yield (
            chunk_id(
                document,
                level=chunk.level,
                text=chunk.text,
                embed_text=chunk.embed_text,
                occurrence=seen[content],
            ),
            chunk,
        )
        seen[content] += 1

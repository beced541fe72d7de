"""Cutting in one line."""

from chunking_documents import document

from chunk_assets.chunking.chunk import Chunk
from chunk_assets.chunking.pipeline import chunk_document
from chunk_assets.chunking.strategy import parse_strategy
from chunk_assets.chunking.verify import violations
from chunk_assets.embedding.tokenizer import Tokenizer
from chunk_assets.parsing.document import Document


def cut(
    given: str | Document, tokenizer: Tokenizer | None = None, /, **values: object
) -> list[Chunk]:
    """The chunks of a text, after a check that they are exact, lose nothing and keep the limit."""
    whole = document(given) if isinstance(given, str) else given
    strategy = parse_strategy({"overlap": 0, **values})
    chunks = chunk_document(whole, strategy, tokenizer)
    assert not violations(
        whole.text,
        [chunk.start for chunk in chunks],
        [chunk.end for chunk in chunks],
        [chunk.text for chunk in chunks],
        overlap_starts=[chunk.overlap_start for chunk in chunks],
        sizes=[chunk.size for chunk in chunks],
        maximum=strategy.maximum,
        flags=[chunk.flags for chunk in chunks],
    )
    return chunks


def texts(chunks: list[Chunk]) -> list[str]:
    """Their texts."""
    return [chunk.text for chunk in chunks]

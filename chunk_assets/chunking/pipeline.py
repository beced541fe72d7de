"""From a document to its chunks."""

from chunk_assets.chunking.chunk import Chunk
from chunk_assets.chunking.context import Context
from chunk_assets.chunking.finish import finish
from chunk_assets.chunking.minimum import merge_small
from chunk_assets.chunking.pack import pack
from chunk_assets.chunking.ruler import Unit
from chunk_assets.chunking.settings import StrategySettings
from chunk_assets.chunking.view import DocumentView
from chunk_assets.embedding.tokenizer import Tokenizer
from chunk_assets.errors import ChunkingError
from chunk_assets.parsing.document import Document

STAGES_VERSION = 1
"""Of the stages all chunkers share (words, sentences, pack, limit, overlap, minimum, context):
part of every fingerprint, raised with every change of what they make, be it through an upgrade of
ICU or regex (a test holds chunks of many scripts to it)."""


def chunk_document(
    document: Document, strategy: StrategySettings, tokenizer: Tokenizer | None = None
) -> list[Chunk]:
    """Cut a document: its chunks in reading order, none for a blank document. Pure.

    Args:
        document: what is cut.
        strategy: how.
        tokenizer: counts the sizes of a strategy in tokens; others need none.

    Raises:
        ChunkingError: if the document cannot be cut: its blocks are no ordered spans of its text,
            or its text is one that no tokenizer takes.
    """
    if strategy.unit is Unit.TOKENS and tokenizer is None:
        raise ChunkingError(
            f"{document.uri}: chunker {strategy.chunker!r} counts tokens (max_tokens is "
            f"{strategy.maximum}) but was given no tokenizer. Give one, or set max_words or "
            "max_characters."
        )
    view = DocumentView(document, strategy.unit, tokenizer)
    if view.is_blank:
        return []
    cut = strategy.cut(view)
    context = Context(view, strategy)
    pieces = merge_small(pack(view, cut, strategy, context), view, strategy, context)
    return finish(pieces, view, cut, context, strategy.maximum)

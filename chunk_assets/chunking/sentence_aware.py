"""Whole paragraphs as far as they fit, then whole sentences, then words."""

from typing import ClassVar, Literal

from chunk_assets.chunking.cut import Cut
from chunk_assets.chunking.ruler import Unit
from chunk_assets.chunking.settings import StrategySettings
from chunk_assets.chunking.spans import positions
from chunk_assets.chunking.view import DocumentView


class SentenceAware(StrategySettings):
    """Chunks that begin and end with sentences, and with paragraphs where they can."""

    VERSION: ClassVar[int] = 1
    DEFAULT_UNIT: ClassVar[Unit] = Unit.TOKENS
    DEFAULT_MAXIMUM: ClassVar[int] = 200

    chunker: Literal["sentence_aware"] = "sentence_aware"

    def cut(self, view: DocumentView) -> Cut:
        """One region, divided into blocks, paragraphs, sentences and words."""
        return Cut(
            boundaries=positions([]),
            levels=(view.blocks, view.paragraphs, view.sentences, view.words),
            overlap_levels=(view.sentences, view.words),
        )

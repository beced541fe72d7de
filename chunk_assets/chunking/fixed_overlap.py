"""A window of fixed size that moves on by its size less the overlap."""

from typing import ClassVar, Literal

from chunk_assets.chunking.cut import Cut
from chunk_assets.chunking.ruler import Unit
from chunk_assets.chunking.settings import SizeOrFraction, StrategySettings
from chunk_assets.chunking.spans import positions
from chunk_assets.chunking.view import DocumentView


class FixedOverlap(StrategySettings):
    """Windows of whole words over the text, whatever its structure."""

    VERSION: ClassVar[int] = 1
    DEFAULT_UNIT: ClassVar[Unit] = Unit.WORDS
    DEFAULT_MAXIMUM: ClassVar[int] = 300

    chunker: Literal["fixed_overlap"] = "fixed_overlap"
    overlap: SizeOrFraction = 0.5
    """How much of the window before is repeated: a size, or a fraction of the maximum below 1."""

    def cut(self, view: DocumentView) -> Cut:
        """Words are the only units."""
        return Cut(
            boundaries=positions([]),
            levels=(view.words,),
            overlap_levels=(view.words,),
        )

"""What every chunker's settings have in common: unit, limit, overlap, minimum, context."""

import math
from abc import abstractmethod
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from chunk_assets.chunking.cut import Cut
from chunk_assets.chunking.ruler import Unit
from chunk_assets.chunking.view import DocumentView
from chunk_assets.lineage.identity import Json
from chunk_assets.strict_model import StrictModel, Written

ContextPart = Literal["title", "heading_path"]
Context = Annotated[tuple[ContextPart, ...], Written]

Size = Annotated[int, Field(strict=True, gt=0)]
SizeOrFraction = (
    Annotated[int, Field(strict=True, ge=0)]
    | Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
)


class StrategySettings(StrictModel):
    """The base of every chunker's settings. Sizes are in the strategy's one unit.

    A chunker derives from it, names itself in a `chunker` field, and implements `cut`.
    """

    VERSION: ClassVar[int]
    """Of the algorithm: part of the fingerprint, raised with every change of what `cut` returns."""
    DEFAULT_UNIT: ClassVar[Unit]
    DEFAULT_MAXIMUM: ClassVar[int]

    chunker: str
    """Which chunker cuts."""
    max_tokens: Size | None = None
    """The most tokens a chunk may have, its context and overlap included. Set at most one of
    `max_tokens`, `max_words` and `max_characters`: it decides the unit of all sizes."""
    max_words: Size | None = None
    """The same limit in words: what stands between blanks, or dictionary words in scripts
    without spaces; longer than 100 characters counts as several."""
    max_characters: Size | None = None
    """The same limit in characters (Unicode code points)."""
    overlap: SizeOrFraction = 0
    """How much of the chunk before is repeated: a size, or a fraction of the maximum below 1."""
    min_size: Annotated[int, Field(strict=True, ge=0)] = 0
    """Chunks with less text than this are merged with a neighbour, unless that would break the
    maximum. Nothing is dropped."""
    tokenizer: str | None = None
    """The embedder whose tokenizer counts `max_tokens`; default: that of the embedder it is
    indexed with."""
    context: Context = ()
    """What is put before the text for the embedding model only: `title`, `heading_path`."""
    description: str = ""
    """A note for readers. Changes nothing."""

    @model_validator(mode="after")
    def _sizes_agree(self) -> "StrategySettings":
        limits = {
            name: value
            for name in ("max_tokens", "max_words", "max_characters")
            if (value := getattr(self, name)) is not None
        }
        if len(limits) > 1:
            given = " and ".join(f"{name} ({value})" for name, value in limits.items())
            raise ValueError(f"{given} are set together, but a strategy has one unit: keep one")
        limit = f"max_{self.unit} ({self.maximum})"
        if self.overlap_size >= self.maximum:
            share = "a fraction of 1 or more, " if isinstance(self.overlap, float) else ""
            raise ValueError(
                f"overlap ({self.overlap}) is {share}not smaller than {limit}: "
                "chunks would never move forward"
            )
        if self.min_size > self.maximum:
            raise ValueError(f"min_size ({self.min_size}) must not be larger than {limit}")
        if self.tokenizer is not None and self.unit is not Unit.TOKENS:
            raise ValueError(
                f"tokenizer ({self.tokenizer!r}) counts nothing here, since the limit is {limit}: "
                "remove it or set max_tokens"
            )
        if len(set(self.context)) < len(self.context):
            raise ValueError(f"context names a part twice: {', '.join(self.context)}")
        return self

    @property
    def unit(self) -> Unit:
        """What sizes are counted in."""
        if self.max_tokens is not None:
            return Unit.TOKENS
        if self.max_words is not None:
            return Unit.WORDS
        if self.max_characters is not None:
            return Unit.CHARACTERS
        return self.DEFAULT_UNIT

    @property
    def maximum(self) -> int:
        """The limit of a chunk's `embed_text`."""
        return self.max_tokens or self.max_words or self.max_characters or self.DEFAULT_MAXIMUM

    @property
    def overlap_size(self) -> int:
        """The overlap in the strategy's unit."""
        if isinstance(self.overlap, float):
            return math.floor(self.overlap * self.maximum)
        return self.overlap

    def resolved(self) -> dict[str, Json]:
        """Every setting that decides what the chunks are, with defaults filled in."""
        shared = StrategySettings.model_fields
        own = {name: getattr(self, name) for name in type(self).model_fields if name not in shared}
        return {
            "chunker": self.chunker,
            "unit": self.unit.value,
            "maximum": self.maximum,
            "overlap": self.overlap_size,
            "min_size": self.min_size,
            "context": list(self.context),
            **own,
        }

    @abstractmethod
    def cut(self, view: DocumentView) -> Cut:
        """Where this chunker cuts a document that is not blank. Pure."""

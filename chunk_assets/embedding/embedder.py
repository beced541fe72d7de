"""What every embedding backend offers."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from chunk_assets.embedding.tokenizer import Tokenizer
from chunk_assets.lineage.identity import Fingerprint

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """One model with its settings. Constructing one is cheap; the model loads on first use."""

    @property
    def name(self) -> str:
        """The key under `embedders:` in the configuration."""

    @property
    def fingerprint(self) -> Fingerprint:
        """Identity of everything that decides a vector; known without loading the model."""

    @property
    def dimension(self) -> int:
        """Components per vector; known without loading the model."""

    @property
    def max_tokens(self) -> int:
        """The most content tokens one passage may have (specials and prompt already deducted)."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's own tokenizer; usable without loading the model."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of texts that each fit the model: shape (texts, dimension), in order.

        A vector never depends on the other texts of the call.

        Raises:
            EmbeddingError: if a text exceeds `max_tokens` or the model fails.
        """

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of queries (with the query prompt; cut at `max_tokens`)."""

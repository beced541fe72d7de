"""What every tokenizer offers: counts and offsets in code points."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from chunk_assets.lineage.identity import Fingerprint


class Tokenizer(Protocol):
    """Content tokens of a text; special tokens ([CLS], [SEP], …) are never counted.

    Control tokens that stand in the text itself are ordinary text.
    """

    @property
    def name(self) -> str:
        """How a configuration names it."""

    @property
    def fingerprint(self) -> Fingerprint:
        """The identity of its vocabulary and rules."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """The number of content tokens of each text."""

    def offsets(self, text: str) -> npt.NDArray[np.int64]:
        """Content tokens as `[start, end)` in code points, in order: shape (tokens, 2)."""

"""What runs a local model."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from chunk_assets.embedding.config import Precision


@dataclass(frozen=True, slots=True)
class Batch:
    """Inputs for one forward pass."""

    token_ids: npt.NDArray[np.int64]
    """With special tokens, padded on the right with zeros: shape (rows, tokens)."""
    lengths: npt.NDArray[np.int64]
    """How many tokens of each row are its own: shape (rows,)."""
    prompt_tokens: int
    """How many tokens each input begins with belong to its prompt, for a model that pools without
    them; 0 without a prompt."""

    @property
    def is_padded(self) -> bool:
        """Whether the rows differ in length."""
        return bool((self.lengths < self.token_ids.shape[1]).any())

    @property
    def padding_tokens(self) -> int:
        """Positions that are no row's own."""
        return int(self.token_ids.size - self.lengths.sum())

    @property
    def mask(self) -> npt.NDArray[np.int64]:
        """1 where a token is its row's own, else 0: shape (rows, tokens)."""
        positions = np.arange(self.token_ids.shape[1])
        return (positions[np.newaxis, :] < self.lengths[:, np.newaxis]).astype(np.int64)

    def filled(self, fewest_tokens: int) -> "Batch":
        """The same with its rows repeated until there are so many positions."""
        repeats = -(-fewest_tokens // self.token_ids.size)
        if repeats <= 1:
            return self
        return Batch(
            np.tile(self.token_ids, (repeats, 1)),
            np.tile(self.lengths, repeats),
            self.prompt_tokens,
        )


class Engine(Protocol):
    """One model on one device. Constructing one is cheap; the model loads with `start`."""

    @property
    def name(self) -> str:
        """What it is called where it is said what computed a vector."""

    @property
    def precision(self) -> Precision:
        """What it computes in."""

    @property
    def uses_cores(self) -> bool:
        """Whether the work is done by the cores of this machine."""

    @property
    def batch_tokens(self) -> int:
        """How many positions of a batch run best; known after `start`."""

    @property
    def fewest_tokens(self) -> int:
        """How many positions a batch must have for a row to be the same as in any other batch."""

    @property
    def length_step(self) -> int:
        """Inputs are padded to a multiple of this, each by itself: 1 where none is padded."""

    @property
    def most_padding(self) -> float:
        """Which share of a batch may be padding because its inputs differ in length.

        With 0 only inputs go together that are equally long after each was padded by itself.
        """

    def start(self, threads: int) -> int:
        """Load the model if it is not, to use so many threads of the processor from now on.

        Returns:
            How many forward passes may run at once.

        Raises:
            EmbeddingError: if the model cannot be loaded.
        """

    def forward(self, batch: Batch) -> npt.NDArray[np.float32]:
        """Pooled vectors, not yet normalized: shape (rows, dimension).

        A row never depends on the others: bit for bit without padding, with it up to rounding.
        May be called from several threads.
        """

    def is_out_of_memory(self, error: Exception) -> bool:
        """Whether a smaller batch could have succeeded."""

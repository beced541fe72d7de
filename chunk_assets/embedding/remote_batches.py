"""Which texts go into one request."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from chunk_assets.embedding.remote_failure import Meaning


@dataclass(frozen=True, slots=True)
class Prepared:
    """A text as it is sent."""

    text: str
    """With its prompt, in characters that UTF-8 can carry."""
    tokens: int
    """Of the whole input, special tokens included, by the configured tokenizer."""


@dataclass(frozen=True, slots=True)
class TextBatch:
    """Texts of one request."""

    positions: tuple[int, ...]
    """Where each stands among the texts of the call."""
    inputs: tuple[Prepared, ...]

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def tokens(self) -> int:
        """Of all its inputs."""
        return sum(each.tokens for each in self.inputs)

    def halves(self) -> "tuple[TextBatch, TextBatch]":
        """Two batches, of a batch with two texts or more."""
        middle = len(self) // 2
        return (
            TextBatch(self.positions[:middle], self.inputs[:middle]),
            TextBatch(self.positions[middle:], self.inputs[middle:]),
        )


class BatchSizes:
    """How much goes into one request; learns from refusals, for as long as the embedder lives."""

    def __init__(self, items: int, tokens: int) -> None:
        self._items = items
        self._tokens = tokens
        self._lock = threading.Lock()

    def plan(self, inputs: Sequence[Prepared], positions: Sequence[int]) -> list[TextBatch]:
        """The positions in batches of neighbours, each with one text at least."""
        batches: list[TextBatch] = []
        batch: list[int] = []
        size = 0
        for position in positions:
            tokens = inputs[position].tokens
            if batch and (len(batch) == self._items or size + tokens > self._tokens):
                batches.append(_batch(inputs, batch))
                batch, size = [], 0
            batch.append(position)
            size += tokens
        if batch:
            batches.append(_batch(inputs, batch))
        return batches

    def is_too_large(self, batch: TextBatch) -> bool:
        """Whether a batch that was planned before a refusal should be halved."""
        return len(batch) > 1 and (len(batch) > self._items or batch.tokens > self._tokens)

    def learn(self, batch: TextBatch, meaning: Meaning) -> None:
        """A server has refused so much at once: half of it goes from now on."""
        with self._lock:
            if meaning is Meaning.TOO_MANY_TEXTS:
                self._items = max(1, min(self._items, len(batch) // 2))
            elif meaning is Meaning.TOO_MANY_TOKENS:
                self._tokens = max(1, min(self._tokens, batch.tokens // 2))


def _batch(inputs: Sequence[Prepared], positions: Sequence[int]) -> TextBatch:
    return TextBatch(tuple(positions), tuple(inputs[position] for position in positions))

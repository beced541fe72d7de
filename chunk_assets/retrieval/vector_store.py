"""What a vector store offers: collections of points, and aliases to them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from chunk_assets.lineage.identity import ChunkId, Json

Payload = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Weights of terms: parallel tuples of term ids (unique) and weights."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """What is written: `id` is the chunk id (a UUID)."""

    id: ChunkId
    dense: npt.NDArray[np.float32]
    sparse: SparseVector
    payload: Payload


@dataclass(frozen=True, slots=True)
class Hit:
    """What a search returns: higher scores are better; equal scores are ordered by id."""

    id: ChunkId
    score: float
    payload: Payload


class Collection(Protocol):
    """An opened collection. Everything is validated before anything is written."""

    def upsert(self, points: Sequence[Point]) -> None:
        """Write points whole; an existing id is replaced.

        Raises:
            VectorStoreError: on a wrong dimension, a non-finite value, a duplicate id inside the
                call or an id that is no UUID; then nothing of the call was written.
        """

    def replace_payloads(self, payloads: Mapping[ChunkId, Payload]) -> None:
        """Replace the whole payload of existing points, leaving their vectors alone."""

    def delete(self, ids: Sequence[ChunkId]) -> None:
        """Delete points; ids that do not exist are ignored."""

    def count(self) -> int:
        """The exact number of points."""

    def scroll(self, fields: Sequence[str]) -> Iterator[tuple[ChunkId, Payload]]:
        """Every point once, with the named payload fields only."""

    def vectors(self, ids: Sequence[ChunkId]) -> dict[ChunkId, npt.NDArray[np.float32]]:
        """The dense vectors of the points that exist."""

    def search_dense(
        self, vector: npt.NDArray[np.float32], limit: int, where: Mapping[str, str] | None = None
    ) -> list[Hit]:
        """The nearest points by cosine; `where` demands equal payload fields."""

    def search_sparse(
        self, vector: SparseVector, limit: int, where: Mapping[str, str] | None = None
    ) -> list[Hit]:
        """The best points by sparse score (BM25, with IDF of the collection)."""

    def finish(self) -> None:
        """Make writes durable and build what is needed for fast search."""


class VectorStore(Protocol):
    """Collections by name, aliases to them."""

    def create(self, name: str, dimension: int) -> None:
        """Create a collection; one that exists with the same dimension is left alone.

        Raises:
            VectorStoreError: if it exists with another dimension.
        """

    def open(
        self, name: str, *, on_wait: Callable[[str], None] | None = None
    ) -> AbstractContextManager[Collection]:
        """Open a collection or what an alias points to; waits its turn, telling `on_wait`.

        Raises:
            VectorStoreError: if neither a collection nor an alias has that name, or the wait
                exceeds the store's time limit.
        """

    def exists(self, name: str) -> bool:
        """Whether a collection (not an alias) has that name."""

    def names(self) -> list[str]:
        """All collections, sorted."""

    def drop(self, name: str) -> None:
        """Delete a collection and the aliases that point to it; a missing one is ignored."""

    def aliases(self) -> dict[str, str]:
        """Every alias with the collection it points to."""

    def set_alias(self, alias: str, name: str) -> None:
        """Point an alias at an existing collection, atomically.

        Raises:
            VectorStoreError: if the collection does not exist, or the alias is a collection's name.
        """

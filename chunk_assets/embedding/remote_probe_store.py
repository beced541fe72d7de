"""Where an embedder keeps the vectors by which it knows its model again."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from chunk_assets.embedding.embedder import Embedder, Vectors
from chunk_assets.lineage.identity import Fingerprint, VectorKey


class ProbeStore(Protocol):
    """Keeps vectors beside those they guard, so that all who share the store compare with them."""

    def load(self, embedder: Fingerprint, keys: Sequence[VectorKey]) -> Mapping[VectorKey, Vectors]:
        """Those of the keys that are kept, each of shape (dimension,)."""

    def save(
        self, embedder: Fingerprint, vectors: Mapping[VectorKey, Vectors], tokens: Sequence[int]
    ) -> None:
        """Keep vectors, parallel to the content tokens of their texts."""


def keep_probes(embedder: Embedder, store: ProbeStore) -> None:
    """Give an embedder that probes its model the place to keep what it finds; others need none."""
    keep = getattr(embedder, "keep_probes_in", None)
    if keep is not None:
        keep(store)

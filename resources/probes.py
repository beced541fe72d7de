"""The vectors of the probe texts, in the `vectors` table beside those they guard.

Whoever shares the store compares with the same ones, wherever it is.
"""

from collections.abc import Callable, Mapping, Sequence

from chunk_assets.embedding.embedder import Vectors as Array
from chunk_assets.lineage.identity import Fingerprint, VectorKey
from resources.tables import Tables
from resources.vectors import Embedded, Vectors

# No materialization makes them: the first use of a model does, be it a search.
_RUN_ID = "probe"


class Probes:
    """Keeps probe vectors of embedders, as vectors of the probe texts.

    Args:
        tables: opened on first use; most embedders keep no probes.
    """

    def __init__(self, tables: Callable[[], Tables]) -> None:
        self._tables = tables

    def load(self, embedder: Fingerprint, keys: Sequence[VectorKey]) -> Mapping[VectorKey, Array]:
        """Those of the keys that are kept."""
        return Vectors(self._tables()).vectors(embedder, keys)

    def save(
        self, embedder: Fingerprint, vectors: Mapping[VectorKey, Array], tokens: Sequence[int]
    ) -> None:
        """Keep vectors, parallel to the content tokens of their texts."""
        items = [
            (key, vector, Embedded(count, count, ()))
            for (key, vector), count in zip(vectors.items(), tokens, strict=True)
        ]
        Vectors(self._tables()).append(embedder, items, _RUN_ID)

"""The `vectors` table: each vector once, whatever corpora, strategies and indexes use it.

A key stands twice where two runs embedded it at the same moment, or where the first vector was
found to be none; the latest counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chunk_assets.lineage.identity import Fingerprint, VectorKey
from resources.schemas import SHARED_TABLES
from resources.tables import Tables


@dataclass(frozen=True, slots=True)
class Embedded:
    """How a stored vector came about."""

    tokens: int
    tokens_embedded: int
    flags: tuple[str, ...]


class Vectors:
    """Reads and appends vectors by key."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def embedded(
        self, embedder: Fingerprint, keys: Sequence[VectorKey]
    ) -> dict[VectorKey, Embedded]:
        """Those of the keys that are stored, without their vectors."""
        columns = ["vector_key", "tokens", "tokens_embedded", "flags"]
        return {
            VectorKey(row["vector_key"]): Embedded(
                row["tokens"], row["tokens_embedded"], tuple(row["flags"])
            )
            for row in self._rows(embedder, keys, columns).to_pylist()
        }

    def vectors(
        self, embedder: Fingerprint, keys: Sequence[VectorKey]
    ) -> dict[VectorKey, npt.NDArray[np.float32]]:
        """The stored vectors of the keys; what is not stored is left out."""
        rows = self._rows(embedder, keys, ["vector_key", "vector"])
        return {
            VectorKey(key): vector
            for key, vector in zip(
                rows["vector_key"].to_pylist(),
                rows["vector"].to_numpy(zero_copy_only=False),
                strict=True,
            )
        }

    def append(
        self,
        embedder: Fingerprint,
        items: Sequence[tuple[VectorKey, npt.NDArray[np.float32], Embedded]],
        run_id: str,
    ) -> None:
        """Store a block of vectors in one commit."""
        now = datetime.now(UTC)
        rows = [
            {
                "embedder_fingerprint": embedder,
                "vector_key": key,
                "vector": vector,
                "tokens": how.tokens,
                "tokens_embedded": how.tokens_embedded,
                "flags": list(how.flags),
                "run_id": run_id,
                "created_at": now,
            }
            for key, vector, how in items
        ]
        self._tables.append("vectors", pa.Table.from_pylist(rows, schema=SHARED_TABLES["vectors"]))

    def _rows(
        self, embedder: Fingerprint, keys: Sequence[VectorKey], columns: list[str]
    ) -> pa.Table:
        """The rows of the keys, the latest last."""
        wanted = pa.array(list(keys), pa.string())
        return self._tables.read(
            "vectors",
            [*columns, "created_at"],
            where={"embedder_fingerprint": embedder},
            filter=pc.field("vector_key").isin(wanted),
        ).sort_by("created_at")

"""How a corpus is searched."""

from typing import Literal

from pydantic import Field

from chunk_assets.lineage.identity import Fingerprint, fingerprint
from chunk_assets.retrieval.bm25 import Bm25Config
from chunk_assets.strict_model import StrictModel


class RetrievalConfig(StrictModel):
    """How a corpus is searched."""

    mode: Literal["hybrid", "dense", "sparse"] = "hybrid"
    """`dense` ranks by the model's vectors, `sparse` by BM25, `hybrid` merges both rankings by
    reciprocal rank fusion."""
    candidates: int = Field(default=100, ge=1, le=10_000)
    """How many points each ranking contributes to the fusion (never fewer than are asked for)."""
    rrf_k: int = Field(default=60, ge=1)
    """The constant of reciprocal rank fusion; higher values level the first ranks more."""
    bm25: Bm25Config = Bm25Config()
    """How text becomes sparse vectors, for passages and queries alike."""

    @property
    def fingerprint(self) -> Fingerprint:
        """Identity of everything that decides a ranking, given the points of a collection."""
        return fingerprint(
            "retrieval",
            {
                "mode": self.mode,
                "candidates": self.candidates,
                "rrf_k": self.rrf_k,
                "bm25": self.bm25.fingerprint,
            },
        )

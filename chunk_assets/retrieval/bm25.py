"""BM25 term weights as sparse vectors, made by Qdrant's own tokenizer and stemmer.

The store multiplies them with the IDF of the collection at search time, so weights never have to
be recomputed when documents come and go.
"""

from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from chunk_assets.lineage.identity import Fingerprint, fingerprint
from chunk_assets.retrieval.vector_store import SparseVector
from chunk_assets.strict_model import StrictModel

if TYPE_CHECKING:
    import qdrant_edge

Language = Literal[
    "arabic",
    "danish",
    "dutch",
    "english",
    "finnish",
    "french",
    "german",
    "greek",
    "hungarian",
    "italian",
    "norwegian",
    "portuguese",
    "romanian",
    "russian",
    "spanish",
    "swedish",
    "turkish",
]
"""The languages Qdrant has both stop words and a Snowball stemmer for."""


class Bm25Config(StrictModel):
    """How text becomes weighted terms; passages and queries must be made with the same one."""

    k: float = Field(default=1.2, ge=0, allow_inf_nan=False)
    """Saturation of term frequency: 0 counts a term once however often it occurs."""
    b: float = Field(default=0.75, ge=0, le=1)
    """Length normalization: 0 none, 1 full."""
    avg_len: float = Field(default=256.0, gt=0, allow_inf_nan=False)
    """The passage length in terms at which the normalization is neutral."""
    language: Language | None = "english"
    """The language of stop words and stemmer; null removes no word and stems none."""
    stemmer: bool = True
    """Whether words are reduced to their stem in `language`."""
    tokenizer: Literal["word", "multilingual", "whitespace"] = "word"
    """`word` cuts at what is neither letter nor digit; `multilingual` also segments scripts
    without spaces (Chinese, Japanese, Korean, Thai); `whitespace` cuts at white space alone."""
    ascii_folding: bool = False
    """Whether accents are removed (`café` = `cafe`)."""

    @property
    def fingerprint(self) -> Fingerprint:
        """Identity of everything that decides a sparse vector, the engine's version included."""
        return fingerprint(
            "bm25", {**self.model_dump(mode="json"), "engine": version("qdrant-edge-py")}
        )


class Bm25Encoder:
    """Texts to sparse vectors: term ids are hashes of stemmed terms, the same on every machine.

    Weights of passages follow Robertson and Zaragoza, "The Probabilistic Relevance Framework:
    BM25 and Beyond" (2009): tf·(k+1) / (tf + k·(1 - b + b·length/avg_len)). The IDF factor is the
    store's.
    """

    def __init__(self, config: Bm25Config) -> None:
        import qdrant_edge

        tokenizers = {
            "word": qdrant_edge.TokenizerType.Word,
            "multilingual": qdrant_edge.TokenizerType.Multilingual,
            "whitespace": qdrant_edge.TokenizerType.Whitespace,
        }
        stemmed = config.stemmer and config.language is not None
        self._model = qdrant_edge.Bm25(
            qdrant_edge.Bm25Config(
                k=config.k,
                b=config.b,
                avg_len=config.avg_len,
                tokenizer=tokenizers[config.tokenizer],
                language=config.language,
                ascii_folding=config.ascii_folding,
                # Left unset, both fall back to those of the language, and that to English.
                stopwords=None if config.language else qdrant_edge.StopwordsSet(),
                stemmer=None if stemmed else qdrant_edge.DisabledStemmer(),
            )
        )

    def passages(self, texts: Sequence[str]) -> list[SparseVector]:
        """Term weights of texts to be found; one without terms gives an empty vector."""
        return [_sparse(self._model.embed_document(_encodable(text))) for text in texts]

    def queries(self, texts: Sequence[str]) -> list[SparseVector]:
        """Weight 1 for each distinct term; a query without terms gives an empty vector."""
        return [_sparse(self._model.embed_query(_encodable(text))) for text in texts]


def _encodable(text: str) -> str:
    # A lone surrogate (a broken file name on a command line) is no term, and the engine refuses it.
    return text.encode("utf-8", "replace").decode("utf-8")


def _sparse(vector: "qdrant_edge.SparseVector") -> SparseVector:
    return SparseVector(tuple(vector.indices), tuple(vector.values))

"""Static models: no network runs, a text is the mean of its tokens' vectors."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.embedder import Embedder, Vectors
from chunk_assets.embedding.fingerprint import embedder_fingerprint, file_sha256
from chunk_assets.embedding.huggingface_tokenizer import HuggingFaceTokenizer
from chunk_assets.embedding.static_files import StaticFiles, locate_static_files
from chunk_assets.embedding.static_table import StaticTable, load_table
from chunk_assets.embedding.unit_vectors import defect, normalize
from chunk_assets.embedding.usage import Usage
from chunk_assets.errors import ConfigurationError, EmbeddingError
from chunk_assets.lineage.identity import Fingerprint

# A mean has no limit; model2vec writes this number (`seq_length`) where one is asked for.
NO_LIMIT = 1_000_000
# Raised when equal tables would give other vectors.
_PROCEDURE_VERSION = 1
# Bounds the memory that token ids take; the vectors do not depend on it.
_TEXTS_AT_ONCE = 512


def build_static_embedder(name: str, config: EmbedderConfig) -> Embedder:
    """An embedder of a static model. Reads the header of its table and nothing else.

    Raises:
        ConfigurationError: if a setting is given that a static model cannot follow.
        EmbeddingError: if the model cannot be found or is not static.
    """
    refused = {
        "passage_prompt": (config.passage_prompt, "every vector would move by the same"),
        "query_prompt": (config.query_prompt, "every vector would move by the same"),
    }
    if config.precision not in ("auto", "float32"):
        refused["precision"] = (config.precision, "its sums are made in float32 or better")
    if config.device not in ("auto", "cpu"):
        refused["device"] = (config.device, "it is looked up on the CPU")
    for field, (value, why) in refused.items():
        if value:
            raise ConfigurationError(
                f"embedders.{name}.{field} is {value!r}, but model {config.model!r} is a static "
                f"one, a table of tokens: {why}. Remove {field}."
            )
    return StaticEmbedder(name, config, locate_static_files(config.model, config.revision))


class StaticEmbedder:
    """Tokenizes, looks up, averages, and checks the vectors."""

    def __init__(self, name: str, config: EmbedderConfig, files: StaticFiles) -> None:
        self._name = name
        self._config = config
        self._files = files
        self._tokenizer = HuggingFaceTokenizer(files.tokenizer_file, files.source)
        self._usage = Usage()

    @property
    def name(self) -> str:
        """The key under `embedders:` in the configuration."""
        return self._name

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Identity of everything that decides a vector; reads the table once, to hash it."""
        sha256 = file_sha256(self._files.source, self._files.table_file)
        if self._files.sha256 not in (None, sha256):
            raise EmbeddingError(
                f"model {self._files.source!r}: {self._files.table_file} has sha256 {sha256}, "
                f"expected {self._files.sha256}: the installed file is damaged or was replaced. "
                "Reinstall it (`pip install --force-reinstall --no-cache-dir NAME`)."
            )
        return embedder_fingerprint(
            self._config,
            {
                "model": {"table": sha256, "is_model2vec": self._files.is_model2vec},
                "tokenizer": self._tokenizer.fingerprint,
                "max_tokens": self.max_tokens,
                "engine": "static",
                "procedure": _PROCEDURE_VERSION,
            },
        )

    @property
    def dimension(self) -> int:
        """Components per vector."""
        return self._files.dimension

    @property
    def max_tokens(self) -> int:
        """The most content tokens one passage may have: `max_tokens`, else practically no limit."""
        return self._config.max_tokens or NO_LIMIT

    @property
    def tokenizer(self) -> HuggingFaceTokenizer:
        """The model's own tokenizer."""
        return self._tokenizer

    @property
    def usage(self) -> Usage:
        """What it has computed so far."""
        return self._usage

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of texts that each fit the model: shape (texts, dimension), in order.

        Raises:
            EmbeddingError: if a text exceeds `max_tokens`, or the model knows none of its tokens.
        """
        return self._embed(texts, cut=False)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of queries, cut at `max_tokens`.

        Raises:
            EmbeddingError: if the model knows none of a query's tokens.
        """
        return self._embed(texts, cut=True)

    def _embed(self, texts: Sequence[str], *, cut: bool) -> Vectors:
        means = np.empty((len(texts), self.dimension))
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            tokens = 0
            part = self._tokenizer.content_ids(texts[start : start + _TEXTS_AT_ONCE])
            for position, ids in enumerate(part, start):
                if len(ids) > self.max_tokens and not cut:
                    raise self._error(
                        texts,
                        position,
                        f"it has {len(ids)} tokens, but max_tokens is {self.max_tokens}: split it, "
                        "or leave it to `overflow: pool`",
                    )
                taken = ids[: self.max_tokens]
                known = self._known(taken)
                if not known:
                    raise self._error(
                        texts, position, f"the model knows none of its {len(taken)} tokens"
                    )
                means[position] = self._table.mean(known)
                tokens += len(taken)
            self._usage += Usage(tokens=tokens)
        vectors = normalize(means)
        for position, vector in enumerate(vectors):
            wrong = defect(vector)
            if wrong is not None:
                raise self._error(texts, position, wrong)
        return vectors

    def _known(self, ids: list[int]) -> list[int]:
        """The tokens that have a meaning of their own."""
        if self._unknown_id is None or self._unknown_id not in ids:
            return ids
        return [token_id for token_id in ids if token_id != self._unknown_id]

    def _error(self, texts: Sequence[str], position: int, why: str) -> EmbeddingError:
        return EmbeddingError(
            f"embedder {self._name!r}: text {position + 1} of {len(texts)}: {why}. It begins "
            f"{texts[position][:60]!r}."
        )

    @cached_property
    def _unknown_id(self) -> int | None:
        return self._tokenizer.unknown_id if self._files.is_model2vec else None

    @cached_property
    def _table(self) -> StaticTable:
        return load_table(self._files, self._tokenizer.vocabulary_size)

"""An embedder that is fast, deterministic and tells what it embedded, across processes.

It is real: texts that share words and letter sequences have similar vectors, so searches find what
they should. Use it as a custom backend:

    backend: custom
    factory: counting_embedder:build
    options: {log: /tmp/embedded.log}
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from chunk_assets.embedding.config import DEFAULT_MODEL, EmbedderConfig
from chunk_assets.embedding.embedder import Vectors
from chunk_assets.embedding.fingerprint import embedder_fingerprint
from chunk_assets.embedding.huggingface_tokenizer import load_tokenizer
from chunk_assets.embedding.model_files import locate_model
from chunk_assets.embedding.tokenizer import Tokenizer
from chunk_assets.embedding.unit_vectors import normalize
from chunk_assets.errors import EmbeddingError
from chunk_assets.lineage.identity import Fingerprint
from chunk_assets.strict_model import StrictModel

_WORD = re.compile(r"\w+")
_SPECIAL_TOKENS = 2


class CountingOptions(StrictModel):
    """What the `options` of the configuration may say."""

    log: str | None = None
    """A file that gets one line, a JSON string, for every passage embedded."""
    query_log: str | None = None
    """The same for queries."""
    dimension: int = 64
    """Components per vector."""
    seed: int = 0
    """Another seed is another model: other vectors, another fingerprint."""
    fail_on: str | None = None
    """A call with a text that holds this fails as a whole, as a real backend does."""
    nan_on: str | None = None
    """A text that holds this gets a vector of NaN."""
    sleep_s: float = 0.0
    """How long every call takes."""


class CountingEmbedder:
    """Hashed words and letter trigrams, counted and scaled to length one."""

    def __init__(self, name: str, config: EmbedderConfig) -> None:
        self.name = name
        self.options = CountingOptions.model_validate(config.options)
        self._config = config
        self._passage_prompt = config.passage_prompt or ""
        self._query_prompt = config.query_prompt or ""

    @cached_property
    def fingerprint(self) -> Fingerprint:
        return embedder_fingerprint(
            self._config,
            {
                "engine": "counting",
                "dimension": self.dimension,
                "seed": self.options.seed,
                "max_tokens": self.max_tokens,
                "passage_prompt": self._passage_prompt,
                "query_prompt": self._query_prompt,
                "tokenizer": self.tokenizer.fingerprint,
            },
        )

    @property
    def dimension(self) -> int:
        return self.options.dimension

    @property
    def max_tokens(self) -> int:
        return (self._config.max_tokens or 256) - _SPECIAL_TOKENS

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return load_tokenizer(locate_model(DEFAULT_MODEL), DEFAULT_MODEL)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        for text, tokens in zip(texts, self.tokenizer.count(texts), strict=True):
            if tokens > self.max_tokens:
                raise EmbeddingError(
                    f"embedder {self.name!r}: a text of {tokens} tokens exceeds {self.max_tokens}: "
                    f"{text[:60]!r}"
                )
        vectors = self._embed([self._passage_prompt + text for text in texts])
        _append(self.options.log, texts)
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        vectors = self._embed([self._query_prompt + text for text in texts])
        _append(self.options.query_log, texts)
        return vectors

    def _embed(self, texts: Sequence[str]) -> Vectors:
        time.sleep(self.options.sleep_s)
        counts = np.zeros((len(texts), self.dimension))
        for row, text in zip(counts, texts, strict=True):
            if self.options.fail_on and self.options.fail_on in text:
                raise RuntimeError(f"this backend cannot stand {self.options.fail_on!r}")
            for feature in _features(text):
                place, sign = _place(feature, self.options.seed, self.dimension)
                row[place] += sign
            if not row.any():
                row[0] = 1.0  # a text without words
        vectors = normalize(counts)
        if self.options.nan_on:
            vectors[[self.options.nan_on in text for text in texts]] = np.nan
        return vectors


def build(name: str, config: EmbedderConfig) -> CountingEmbedder:
    """The factory that a configuration names."""
    return CountingEmbedder(name, config)


def embedded_texts(log: Path) -> list[str]:
    """What was embedded since the last reset, in order, by all processes."""
    if not log.exists():
        return []
    return [json.loads(line) for line in log.read_text(encoding="ascii").splitlines()]


def reset(log: Path) -> None:
    """Forget what was embedded."""
    log.unlink(missing_ok=True)


def _features(text: str) -> list[str]:
    words = _WORD.findall(text.lower())
    trigrams = [f"#{word}#"[i : i + 3] for word in words for i in range(len(word))]
    return [*words, *words, *trigrams]  # a shared word weighs more than shared letters


@cache
def _place(feature: str, seed: int, dimension: int) -> tuple[int, int]:
    digest = hashlib.blake2b(f"{seed}\n{feature}".encode(errors="replace"), digest_size=9).digest()
    return int.from_bytes(digest[:8]) % dimension, 1 if digest[8] & 1 else -1


def _append(log: str | None, texts: Sequence[str]) -> None:
    if log is None or not texts:
        return
    # One write with O_APPEND: lines of parallel processes never mix.
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, lines.encode("ascii"))
    finally:
        os.close(descriptor)

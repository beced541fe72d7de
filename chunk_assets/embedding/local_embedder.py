"""An embedder of a local model, whatever engine runs it."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from chunk_assets.embedding.batch_runner import BatchRunner
from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.cores import lease_cores
from chunk_assets.embedding.embedder import Vectors
from chunk_assets.embedding.engine import Engine
from chunk_assets.embedding.fingerprint import embedder_fingerprint, model_identity
from chunk_assets.embedding.hardware import resolve_workers
from chunk_assets.embedding.huggingface_tokenizer import HuggingFaceTokenizer, tokenizer_file
from chunk_assets.embedding.model_files import ModelFiles
from chunk_assets.embedding.prompt_room import prompt_room
from chunk_assets.embedding.unit_vectors import check_shape, defects, normalize
from chunk_assets.embedding.usage import Usage
from chunk_assets.errors import EmbeddingError
from chunk_assets.lineage.identity import Fingerprint

_DEVICE_BLOCK_TOKENS = 1_048_576


class LocalEmbedder:
    """Tokenizes, batches inputs of equal length, restores their order and checks the vectors."""

    def __init__(
        self,
        name: str,
        config: EmbedderConfig,
        files: ModelFiles,
        *engines: Engine,
    ) -> None:
        self._name = name
        self._config = config
        self._files = files
        self._tokenizer = HuggingFaceTokenizer(
            tokenizer_file(files.transformer.folder), files.source, lowercase=files.lowercase
        )
        self._passage_prompt = (
            files.passage_prompt if config.passage_prompt is None else config.passage_prompt
        )
        self._query_prompt = (
            files.query_prompt if config.query_prompt is None else config.query_prompt
        )
        self._input_limit = _input_limit(name, config, files)
        self._runner = BatchRunner(name, engines, config.batch_tokens, self._input_limit)

    @property
    def name(self) -> str:
        """The key under `embedders:` in the configuration."""
        return self._name

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Identity of everything that decides a vector; reads the weights once, to hash them."""
        return embedder_fingerprint(
            self._config,
            {
                "model": model_identity(self._files),
                "tokenizer": self._tokenizer.fingerprint,
                "passage_prompt": self._passage_prompt,
                "query_prompt": self._query_prompt,
                "max_tokens": self._input_limit,
                "precision": self._config.precision,
            },
        )

    @property
    def dimension(self) -> int:
        """Components per vector."""
        return self._files.dimension

    @cached_property
    def max_tokens(self) -> int:
        """The most content tokens one passage may have.

        Raises:
            EmbeddingError: if the prompt leaves no room for text.
        """
        return self._room(self._passage_prompt, "passage_prompt")

    @property
    def tokenizer(self) -> HuggingFaceTokenizer:
        """The model's own tokenizer."""
        return self._tokenizer

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of texts that each fit the model: shape (texts, dimension), in order.

        Raises:
            EmbeddingError: if a text exceeds `max_tokens` or the model fails.
        """
        inputs = self._tokenizer.model_inputs([self._passage_prompt + text for text in texts])
        for position, token_ids in enumerate(inputs):
            if len(token_ids) > self._input_limit:
                raise EmbeddingError(
                    f"embedder {self._name!r}: text {position + 1} of {len(texts)} makes an input "
                    f"of {len(token_ids)} tokens, but the model takes {self._input_limit}: split "
                    f"it, or leave it to `overflow: pool`. It begins {texts[position][:60]!r}."
                )
        if not self._runner.engine.uses_cores:
            return self._embed(inputs, self._passage_prompt, texts, 1)
        with lease_cores(self._config.threads) as threads:
            return self._embed(inputs, self._passage_prompt, texts, threads)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of queries (with the query prompt; cut where the model ends)."""
        most = self._input_limit - self._tokenizer.special_tokens
        self._room(self._query_prompt, "query_prompt")
        inputs = self._tokenizer.cut_model_inputs(
            [self._query_prompt + text for text in texts], most
        )
        # A query is short and somebody waits for it: it waits for no core.
        return self._embed(inputs, self._query_prompt, texts, 1)

    @property
    def block_tokens(self) -> int | None:
        """How many tokens a call is best given; None: the usual number.

        Devices are done with a million in a second or less, and only among many texts are there
        enough of like length to fill their batches.
        """
        if self._runner.engine.uses_cores:
            return None
        workers, _ = resolve_workers(self._config)
        return workers * _DEVICE_BLOCK_TOKENS

    @property
    def computed_by(self) -> str:
        """What runs the model, and what it computes in."""
        return f"{self._runner.engine.name} {self._runner.engine.precision}"

    @property
    def usage(self) -> Usage:
        """What was computed since this was built."""
        return self._runner.usage

    def _embed(
        self, inputs: Sequence[Sequence[int]], prompt: str, texts: Sequence[str], threads: int
    ) -> Vectors:
        vectors = np.empty((len(inputs), self.dimension), dtype=np.float32)
        for positions, rows in self._runner.run(inputs, self._prompt_tokens(prompt), threads):
            check_shape(rows, len(positions), self.dimension)
            vectors[positions] = normalize(rows)
        for position, wrong in enumerate(defects(vectors)):
            if wrong is not None:
                raise EmbeddingError(
                    f"embedder {self._name!r} ({self.computed_by}): text {position + 1} of "
                    f"{len(texts)}: {wrong}. It begins {texts[position][:60]!r}."
                )
        return vectors

    def _room(self, prompt: str, field: str) -> int:
        [taken] = self._tokenizer.count([prompt])
        special = self._tokenizer.special_tokens
        return prompt_room(self._name, field, limit=self._input_limit, special=special, taken=taken)

    def _prompt_tokens(self, prompt: str) -> int:
        """How many tokens of an input come before its text, special ones included."""
        if not prompt:
            return 0
        [count] = self._tokenizer.count([prompt])
        return self._tokenizer.leading_special_tokens + count


def _input_limit(name: str, config: EmbedderConfig, files: ModelFiles) -> int:
    if config.max_tokens is None:
        if files.sequence_limit is None:
            raise EmbeddingError(
                f"embedder {name!r}: the files of model {files.source!r} do not say how many "
                "tokens it takes: set max_tokens"
            )
        return files.sequence_limit
    if files.position_limit is not None and config.max_tokens > files.position_limit:
        raise EmbeddingError(
            f"embedder {name!r}: max_tokens is {config.max_tokens}, but model {files.source!r} has "
            f"positions for {files.position_limit} tokens: lower max_tokens to that or less"
        )
    return config.max_tokens

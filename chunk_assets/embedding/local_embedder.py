"""An embedder of a local model, whatever engine runs it."""

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from chunk_assets.embedding.batching import by_length, next_batch
from chunk_assets.embedding.config import EmbedderConfig, Precision
from chunk_assets.embedding.embedder import Vectors
from chunk_assets.embedding.fingerprint import embedder_fingerprint, model_identity
from chunk_assets.embedding.huggingface_tokenizer import HuggingFaceTokenizer, tokenizer_file
from chunk_assets.embedding.model_files import ModelFiles
from chunk_assets.embedding.unit_vectors import check_shape, defect, normalize
from chunk_assets.errors import EmbeddingError
from chunk_assets.lineage.identity import Fingerprint


class Engine(Protocol):
    """What runs a model. Constructing one is cheap; the model loads with the first batch."""

    @property
    def family(self) -> str:
        """What stands in the fingerprint: two engines of a family give the same vectors."""

    @property
    def precision(self) -> Precision:
        """What it computes in."""

    @property
    def batch_tokens(self) -> int:
        """How many tokens of a batch run best."""

    def forward(
        self, token_ids: npt.NDArray[np.int64], prompt_tokens: int
    ) -> npt.NDArray[np.float32]:
        """Pooled vectors of inputs of equal length, not yet normalized: shape (rows, dimension).

        A row never depends on the others, bit for bit.

        Args:
            token_ids: inputs with special tokens: shape (rows, tokens).
            prompt_tokens: how many tokens of each input end with its prompt, for a model that
                pools without them; 0 without a prompt.
        """

    def is_out_of_memory(self, error: Exception) -> bool:
        """Whether a smaller batch could have succeeded."""


class LocalEmbedder:
    """Tokenizes, batches inputs of equal length, restores their order and checks the vectors."""

    def __init__(
        self,
        name: str,
        config: EmbedderConfig,
        files: ModelFiles,
        engine: Engine,
    ) -> None:
        self._name = name
        self._config = config
        self._files = files
        self._engine = engine
        self._batch_tokens = config.batch_tokens or engine.batch_tokens
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
                "engine": self._engine.family,
                "precision": self._engine.precision,
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
        return self._embed(inputs, self._passage_prompt, texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of queries (with the query prompt; cut where the model ends)."""
        most = self._input_limit - self._tokenizer.special_tokens
        self._room(self._query_prompt, "query_prompt")
        inputs = self._tokenizer.cut_model_inputs(
            [self._query_prompt + text for text in texts], most
        )
        return self._embed(inputs, self._query_prompt, texts)

    def _embed(self, inputs: Sequence[Sequence[int]], prompt: str, texts: Sequence[str]) -> Vectors:
        prompt_tokens = self._prompt_tokens(prompt)
        lengths = [len(token_ids) for token_ids in inputs]
        order = by_length(lengths)
        vectors = np.empty((len(inputs), self.dimension), dtype=np.float32)
        done = 0
        while done < len(order):
            batch = next_batch(order, lengths, done, self._batch_tokens)
            token_ids = np.array([inputs[position] for position in batch], dtype=np.int64)
            rows = self._forward(token_ids, prompt_tokens)
            if rows is None:
                continue  # with half the budget
            check_shape(rows, len(batch), self.dimension)
            vectors[list(batch)] = normalize(rows)
            done += len(batch)
        for position, vector in enumerate(vectors):
            wrong = defect(vector)
            if wrong is not None:
                raise EmbeddingError(
                    f"embedder {self._name!r} ({self._engine.precision}): text {position + 1} of "
                    f"{len(texts)}: {wrong}. It begins {texts[position][:60]!r}."
                )
        return vectors

    def _forward(
        self, token_ids: npt.NDArray[np.int64], prompt_tokens: int
    ) -> npt.NDArray[np.float32] | None:
        """None if memory was short; the budget is halved then, for good."""
        rows, length = token_ids.shape
        try:
            return self._engine.forward(token_ids, prompt_tokens)
        except EmbeddingError:
            raise
        except Exception as error:
            if not self._engine.is_out_of_memory(error):
                raise EmbeddingError(
                    f"embedder {self._name!r}: the model failed on a batch of {rows} inputs of "
                    f"{length} tokens: {error}"
                ) from error
            if rows == 1:
                raise EmbeddingError(
                    f"embedder {self._name!r}: memory is too short for a single input of {length} "
                    "tokens: lower max_tokens, or run it on a device with more memory"
                ) from error
            self._batch_tokens = rows * length // 2
            return None

    def _room(self, prompt: str, field: str) -> int:
        [taken] = self._tokenizer.count([prompt])
        room = self._input_limit - self._tokenizer.special_tokens - taken
        if room < 1:
            raise EmbeddingError(
                f"embedder {self._name!r}: its {field} takes {taken} of the model's "
                f"{self._input_limit} tokens and leaves no room for text: shorten it"
            )
        return room

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

"""An embedder behind an API that speaks as OpenAI's does: vLLM, TEI, Ollama, Azure, gateways."""

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.embedder import Vectors
from chunk_assets.embedding.fingerprint import embedder_fingerprint
from chunk_assets.embedding.overflow import split_windows
from chunk_assets.embedding.prompt_room import prompt_room
from chunk_assets.embedding.remote_batches import BatchSizes, Prepared
from chunk_assets.embedding.remote_config import RemoteConfig
from chunk_assets.embedding.remote_endpoint import resolve_endpoint
from chunk_assets.embedding.remote_exchange import Call, Outcome, exchange
from chunk_assets.embedding.remote_pace import Clock, Pace
from chunk_assets.embedding.remote_probe import Probed, verify
from chunk_assets.embedding.remote_probe_store import ProbeStore
from chunk_assets.embedding.remote_service import Service, Tally
from chunk_assets.embedding.remote_tokenizer import ApiTokenizer, encodable, load_api_tokenizer
from chunk_assets.embedding.usage import Usage
from chunk_assets.errors import EmbeddingError
from chunk_assets.lineage.identity import Fingerprint

# A long text of today's models fits, and a block of work makes enough requests to go in parallel.
_BATCH_TOKENS = 8_192
_BACKOFF_S = 0.5
# The server's count of a text may differ from the tokenizer's by its language; less was cut.
_LEAST_SHARE = 0.8


class OpenAIEmbedder:
    """Sends texts in batches, some at once, and brings back unit vectors in their order.

    Args:
        name: the key under `embedders:`.
        config: with `remote`.
        tokenizer: that of the model.
        clock: of waits; for tests.
        backoff_s: the first wait after a failure; for tests.
    """

    def __init__(
        self,
        name: str,
        config: EmbedderConfig,
        tokenizer: ApiTokenizer,
        *,
        clock: Clock | None = None,
        backoff_s: float = _BACKOFF_S,
    ) -> None:
        self._name = name
        self._config = config
        self._remote = _remote_of(config)
        self._tokenizer = tokenizer
        clock = clock or Clock()
        self._service = Service(
            name=name,
            model=config.model,
            remote=self._remote,
            clock=clock,
            pace=Pace(clock, self._remote.requests_per_minute, self._remote.tokens_per_minute),
            sizes=BatchSizes(self._remote.batch_items, config.batch_tokens or _BATCH_TOKENS),
            tally=Tally(),
            backoff_s=backoff_s,
        )
        self._passage_prompt = config.passage_prompt or ""
        self._query_prompt = config.query_prompt or ""
        self._probes: ProbeStore | None = None
        self._verifying = threading.Lock()
        self._is_verified = False
        self._share: float | None = None
        self._finished: dict[str, Vectors] = {}
        self._finishing = threading.Lock()

    def __reduce__(self) -> tuple[Callable[..., "OpenAIEmbedder"], tuple[str, EmbedderConfig]]:
        """Its name and configuration, which hold no secret; the rest is made anew."""
        return build_openai_embedder, (self._name, self._config)

    @property
    def name(self) -> str:
        """The key under `embedders:` in the configuration."""
        return self._name

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Identity of all that is configured; asks the API nothing.

        That the API still answers with the same model is what its probes guard.
        """
        return embedder_fingerprint(
            self._config,
            {
                "engine": "openai",
                "model": self._config.model,
                "revision": self._config.revision,
                "dimension": self._remote.dimension,
                "tokenizer": self._tokenizer.fingerprint,
                "passage_prompt": self._passage_prompt,
                "query_prompt": self._query_prompt,
                "passage_parameters": self._remote.passage_parameters,
                "query_parameters": self._remote.query_parameters,
                "max_tokens": self._input_limit,
            },
        )

    @property
    def dimension(self) -> int:
        """Components per vector."""
        return self._remote.dimension

    @cached_property
    def max_tokens(self) -> int:
        """The most content tokens one passage may have.

        Raises:
            EmbeddingError: if the prompt leaves no room for text.
        """
        return self._room(self._passage_prompt, "passage_prompt")

    @property
    def tokenizer(self) -> ApiTokenizer:
        """What counts the model's tokens here."""
        return self._tokenizer

    @property
    def usage(self) -> Usage:
        """What the API has charged so far; where it does not say, what the tokenizer counts."""
        return self._service.tally.usage

    def keep_probes_in(self, store: ProbeStore) -> None:
        """Compare the model with the probes of a store when it first embeds."""
        self._probes = store

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of texts that each fit the model: shape (texts, dimension), in order.

        Vectors that came before a failure are kept, and not paid for again when the caller asks
        for parts of its texts.

        Raises:
            EmbeddingError: if a text exceeds `max_tokens`, the API refuses one or cannot be used,
                or another model answers than the one whose vectors are stored.
            ConfigurationError: if a variable that holds a key is not set.
        """
        inputs = self._prepare(self._passage_prompt, texts)
        for position, each in enumerate(inputs):
            if each.tokens > self._input_limit:
                raise EmbeddingError(
                    f"embedder {self._name!r}: text {position + 1} of {len(texts)} makes an input "
                    f"of {each.tokens} tokens, but the model takes {self._input_limit}: split it, "
                    f"or leave it to `overflow: pool`. It begins {texts[position][:60]!r}."
                )
        return self._embed(inputs, self._remote.passage_parameters)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of queries (with the query prompt; cut where the model ends)."""
        room = self._room(self._query_prompt, "query_prompt")
        counts = self._tokenizer.count(texts)
        cut = [
            text if tokens <= room else next(split_windows(text, self._tokenizer, room))[0]
            for text, tokens in zip(texts, counts, strict=True)
        ]
        return self._embed(
            self._prepare(self._query_prompt, cut), self._remote.query_parameters, keep=False
        )

    def _embed(
        self, inputs: Sequence[Prepared], parameters: Mapping[str, Any], *, keep: bool = True
    ) -> Vectors:
        rows = np.empty((len(inputs), self.dimension), dtype=np.float32)
        if not inputs:
            return rows
        share = self._verified_share()
        with self._finishing:
            done = {i: self._finished.get(each.text) for i, each in enumerate(inputs) if keep}
        vectors = {i: vector for i, vector in done.items() if vector is not None}
        missing = [position for position in range(len(inputs)) if position not in vectors]
        outcome = self._send(
            inputs, missing, parameters, None if share is None else _LEAST_SHARE * share
        )
        if outcome.error is not None:
            if keep:
                with self._finishing:
                    for position, vector in outcome.vectors.items():
                        self._finished[inputs[position].text] = vector
            raise outcome.error
        with self._finishing:
            for position in vectors:
                self._finished.pop(inputs[position].text, None)
        for position, vector in (vectors | outcome.vectors).items():
            rows[position] = vector
        return rows

    def _verified_share(self) -> float | None:
        """Probe the model once in the life of this embedder."""
        with self._verifying:
            if not self._is_verified:
                self._share = verify(self._probed(), self._probes)
                self._is_verified = True
            return self._share

    def _probed(self) -> Probed:
        def send(texts: Sequence[str]) -> Outcome:
            inputs = self._prepare(self._passage_prompt, texts)
            return self._send(inputs, range(len(inputs)), self._remote.passage_parameters, None)

        return Probed(
            name=self._name,
            where=f"{self._remote.base_url} (model {self._config.model!r})",
            fingerprint=self.fingerprint,
            tokenizer=self._tokenizer,
            max_tokens=self.max_tokens,
            input_limit=self._input_limit,
            min_cosine=self._remote.min_probe_cosine,
            send=send,
        )

    def _send(
        self,
        inputs: Sequence[Prepared],
        positions: Sequence[int],
        parameters: Mapping[str, Any],
        least_share: float | None,
    ) -> Outcome:
        if not positions:
            return Outcome()
        from anyio.from_thread import start_blocking_portal

        endpoint = resolve_endpoint(self._name, self._remote)
        call = Call(self._service, endpoint, parameters, least_share)
        batches = self._service.sizes.plan(inputs, positions)
        # In a thread of its own, so that an interrupt ends the wait here at once, whatever the
        # server does, and a caller may have an event loop itself.
        with start_blocking_portal() as portal:
            return portal.call(exchange, call, batches)

    def _prepare(self, prompt: str, texts: Sequence[str]) -> list[Prepared]:
        inputs = [encodable(prompt + text) for text in texts]
        counts = self._tokenizer.count(inputs)
        special = self._tokenizer.special_tokens
        return [
            Prepared(text, tokens + special) for text, tokens in zip(inputs, counts, strict=True)
        ]

    @property
    def _input_limit(self) -> int:
        limit = self._config.max_tokens
        if limit is None:
            raise EmbeddingError(f"embedder {self._name!r}: max_tokens is not set")
        return limit

    def _room(self, prompt: str, field: str) -> int:
        # A vocabulary is not loaded to count nothing.
        [taken] = self._tokenizer.count([prompt]) if prompt else [0]
        special = self._tokenizer.special_tokens
        return prompt_room(self._name, field, limit=self._input_limit, special=special, taken=taken)


def build_openai_embedder(name: str, config: EmbedderConfig) -> OpenAIEmbedder:
    """The embedder of a configuration. Cheap: the API is asked when it first embeds.

    Raises:
        EmbeddingError: if the tokenizer cannot be had.
    """
    return OpenAIEmbedder(name, config, load_api_tokenizer(_remote_of(config).tokenizer))


def _remote_of(config: EmbedderConfig) -> RemoteConfig:
    if config.remote is None:  # only where validation was left out
        raise EmbeddingError("backend 'openai' needs `remote`")
    return config.remote

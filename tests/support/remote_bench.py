"""An embedder for a test's server: waits a hundred times shorter than they say."""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from embedding_server import EmbeddingServer

from chunk_assets.embedding.config import DEFAULT_MODEL, EmbedderConfig
from chunk_assets.embedding.openai_embedder import OpenAIEmbedder
from chunk_assets.embedding.remote_pace import Clock
from chunk_assets.embedding.remote_tokenizer import ApiTokenizer, load_api_tokenizer
from chunk_assets.embedding.unit_vectors import normalize

SPEED = 100.0


@cache
def _tokenizer() -> ApiTokenizer:
    return load_api_tokenizer(DEFAULT_MODEL)


class RemoteBench:
    """Makes embedders of one server."""

    def __init__(self, server: EmbeddingServer) -> None:
        self.server = server

    def config(self, **settings: object) -> EmbedderConfig:
        """Settings of the embedder and of `remote`, told apart by their names."""
        config: dict[str, Any] = {"backend": "openai", "model": "m", "max_tokens": 256}
        remote = {
            "base_url": self.server.url,
            "dimension": self.server.dimension,
            "tokenizer": DEFAULT_MODEL,
            "timeout_s": 20.0,
            "deadline_s": 6000.0,  # a minute
        }
        for name, value in settings.items():
            (config if name in EmbedderConfig.model_fields else remote)[name] = value
        return EmbedderConfig.model_validate({**config, "remote": remote})

    def embedder(self, **settings: object) -> OpenAIEmbedder:
        """One that has not asked the server yet."""
        clock = Clock(speed=SPEED)
        return OpenAIEmbedder("api", self.config(**settings), _tokenizer(), clock=clock)

    def verified(self, **settings: object) -> OpenAIEmbedder:
        """One whose model was probed already; the server has forgotten that."""
        embedder = self.embedder(**settings)
        embedder.embed_queries(["first"])
        self.server.requests.clear()
        return embedder

    def expected(self, texts: list[str]) -> npt.NDArray[np.float32]:
        """What the server has for texts: unit vectors of shape (texts, dimension)."""
        return normalize(np.array([self.server.vector(text) for text in texts]))

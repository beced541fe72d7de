"""Where collections are kept: the `vector_store:` part of the configuration."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, model_validator

from chunk_assets.environment import Secret, expand
from chunk_assets.errors import ConfigurationError
from chunk_assets.retrieval.vector_store import VectorStore
from chunk_assets.strict_model import StrictModel, WrittenPath
from resources.hnsw import HnswSettings


class EmbeddedStore(StrictModel):
    """Qdrant's engine inside the process: no server to run, one process at a time."""

    kind: Literal["embedded"] = "embedded"
    """Which store this is."""
    folder: WrittenPath = Path("vector_store")
    """Folder of the collections, relative to the storage folder."""
    lock_timeout_s: float = Field(default=600, gt=0)
    """How long a process waits, in seconds, while another one has the collection open."""
    hnsw: HnswSettings = HnswSettings()
    """The index of dense vectors."""


class ServerStore(StrictModel):
    """A Qdrant server: several readers and writers at once."""

    kind: Literal["server"]
    """Which store this is."""
    url: str
    """Address with scheme, such as `http://localhost:6333`; the port defaults to 6333. May hold
    `${NAME}`."""
    api_key: Secret | None = None
    """The key, given as `${NAME}`, the name of an environment variable."""
    prefer_grpc: bool = False
    """Whether points travel by gRPC, which is faster for large batches."""
    grpc_port: int = Field(default=6334, ge=1, le=65_535)
    """Port of the gRPC interface."""
    timeout_s: int = Field(default=30, ge=1)
    """How long one request may take, in seconds."""
    retries: int = Field(default=5, ge=0, le=20)
    """How often a request is repeated after a failed connection or a busy server, waiting 0.25 s
    and then twice as long each time (at most 8 s)."""
    verify: bool | WrittenPath = True
    """Whether the server's certificate is verified; a path names a file of trusted authorities."""
    hnsw: HnswSettings = HnswSettings()
    """The index of dense vectors, when a collection is created."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if "${" not in self.url:
            _check_url(self.url)
        if self.prefer_grpc and self.verify is not True:
            raise ValueError(
                "prefer_grpc does not work together with verify: gRPC always verifies; its "
                "authorities are set by the environment variable GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"
            )
        return self


def _embedded_unless_said(value: Any) -> Any:  # noqa: ANN401 - whatever stands in the file
    return {"kind": "embedded", **value} if isinstance(value, dict) else value


VectorStoreConfig = Annotated[
    Annotated[EmbeddedStore | ServerStore, Field(discriminator="kind")],
    BeforeValidator(_embedded_unless_said),
]
"""`kind: embedded` (the default) or `kind: server`."""


def build_vector_store(config: EmbeddedStore | ServerStore, storage: Path) -> VectorStore:
    """The store that a configuration describes; nothing is opened or contacted yet.

    Args:
        config: the `vector_store:` part of the configuration.
        storage: the local folder that a relative `folder` is taken from.

    Raises:
        ConfigurationError: if the URL is malformed or names an environment variable that is unset.
    """
    # Imported here: a run without vectors loads neither client.
    if isinstance(config, EmbeddedStore):
        from resources.qdrant_edge import QdrantEdgeStore

        return QdrantEdgeStore(
            storage / config.folder.expanduser(),
            lock_timeout_s=config.lock_timeout_s,
            hnsw=config.hnsw,
        )
    from resources.qdrant_server import QdrantServerStore, connect

    url = expand(config.url)
    try:
        _check_url(url)
    except ValueError as error:
        raise ConfigurationError(f"vector_store.url: {error}") from None
    client = connect(
        url,
        api_key=None if config.api_key is None else expand(config.api_key),
        prefer_grpc=config.prefer_grpc,
        grpc_port=config.grpc_port,
        timeout_s=config.timeout_s,
        verify=config.verify,
    )
    return QdrantServerStore(client, hnsw=config.hnsw, retries=config.retries)


def _check_url(url: str) -> None:
    # The URL itself is never repeated: it may hold the password that makes it wrong.
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("expected an address with scheme, such as http://localhost:6333")
    if parts.username or parts.password or parts.query:
        raise ValueError("the address must hold no user, password or query; use api_key: ${NAME}")

"""The vector store of a Qdrant server, through qdrant-client.

`build_vector_store` imports this module only where a server is configured, so the client's import
time is paid by nobody else.
"""

import json
import ssl
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ParamSpec, TypeVar
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
from qdrant_client import QdrantClient, models

from chunk_assets.errors import VectorStoreError
from chunk_assets.lineage.identity import ChunkId
from chunk_assets.retrieval.vector_store import Hit, Payload, Point, SparseVector
from resources.hnsw import HnswSettings
from resources.qdrant_points import (
    DENSE,
    KEYWORD_FIELDS,
    SPARSE,
    batches,
    best,
    check_dimension,
    check_fields,
    check_ids,
    check_limit,
    check_name,
    check_where,
    checked_dense,
    checked_points,
    checked_sparse,
    missing_points,
    no_such_collection,
    plain_payload,
)
from resources.qdrant_server_requests import Requests

_BATCH_POINTS = 256
_BATCH_BYTES = 4 * 2**20  # well below the 32 MiB that a server accepts per request
_PAGE = 1_000
_POLL_S = 0.5
P = ParamSpec("P")
T = TypeVar("T")


def connect(
    url: str,
    *,
    api_key: str | None = None,
    prefer_grpc: bool = False,
    grpc_port: int = 6334,
    timeout_s: int = 30,
    verify: bool | Path = True,
) -> QdrantClient:
    """A client for a server; nothing is contacted yet.

    Args:
        url: address with scheme.
        api_key: sent with every request.
        prefer_grpc: whether points travel by gRPC.
        grpc_port: port of the gRPC interface.
        timeout_s: how long one request may take, in seconds.
        verify: whether the certificate is verified, or a file of trusted authorities.

    Raises:
        VectorStoreError: if that file cannot be read.
    """
    trust: bool | ssl.SSLContext
    if isinstance(verify, Path):  # httpx deprecates a file name in favour of a context
        try:
            trust = ssl.create_default_context(cafile=verify)
        except OSError as error:
            raise VectorStoreError(
                f"vector_store.verify: {verify} holds no certificates that can be read: {error}"
            ) from error
    else:
        trust = verify
    with warnings.catch_warnings():
        if urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1"):
            # What does not leave the machine needs no encryption.
            warnings.filterwarnings("ignore", message="Api key is used with an insecure connection")
        return QdrantClient(
            url=url,
            api_key=api_key,
            prefer_grpc=prefer_grpc,
            grpc_port=grpc_port,
            timeout=timeout_s,
            # The check would contact the server from a thread and speak through warnings.
            check_compatibility=False,
            verify=trust,
        )


class QdrantServerStore:
    """Collections and aliases of a server; safe for several writers, every write is idempotent.

    Requests that fail in transport, or because the server is busy, are repeated.
    """

    def __init__(
        self,
        client: QdrantClient,
        *,
        hnsw: HnswSettings = HnswSettings(),  # noqa: B008 - frozen
        retries: int = 5,
    ) -> None:
        self._client = client
        self._hnsw = hnsw
        self._requests = Requests(client, retries)

    def create(self, name: str, dimension: int) -> None:
        """Create a collection; one that exists with the same dimension is left alone.

        Raises:
            VectorStoreError: if it exists with another dimension, or an alias has the name.
        """
        check_name(name, "a collection")
        check_dimension(dimension)
        if not self.exists(name):
            if name in self.aliases():
                raise VectorStoreError(
                    f"{name!r} is an alias at {self._requests.place}; a collection cannot have its "
                    "name"
                )
            try:
                self._create(name, dimension)
            except VectorStoreError:
                # Another writer was faster, or a repeated request had arrived the first time.
                if not self.exists(name):
                    raise
        found = self._dimension(name)
        if found != dimension:
            raise VectorStoreError(
                f"collection {name!r} at {self._requests.place} holds vectors of dimension "
                f"{found}, not {dimension}; drop it or take another name"
            )
        self._index_payloads(name)

    @contextmanager
    def open(
        self, name: str, *, on_wait: Callable[[str], None] | None = None
    ) -> Iterator["ServerCollection"]:
        """Open a collection or what an alias points to; a server makes nobody wait.

        An alias is resolved once, so that one that moves meanwhile does not mix two collections.

        Raises:
            VectorStoreError: if neither a collection nor an alias has that name.
        """
        check_name(name, "a collection")
        names, aliases = self.names(), self.aliases()
        target = name if name in names else aliases.get(name)
        if target is None:
            known = [*names, *(f"{alias} (alias)" for alias in aliases)]
            raise no_such_collection(name, self._requests.place, known)
        yield ServerCollection(
            self._client, self._requests, target, self._dimension(target), self._hnsw
        )

    def exists(self, name: str) -> bool:
        """Whether a collection (not an alias) has that name."""
        check_name(name, "a collection")
        return name in self.names()  # the client's own question also answers yes for an alias

    def names(self) -> list[str]:
        """All collections, sorted."""
        found = self._requests.send("list collections", self._client.get_collections)
        return sorted(collection.name for collection in found.collections)

    def drop(self, name: str) -> None:
        """Delete a collection and the aliases that point to it; a missing one is ignored."""
        if self.exists(name):
            self._requests.send(f"drop collection {name!r}", self._client.delete_collection, name)

    def aliases(self) -> dict[str, str]:
        """Every alias with the collection it points to."""
        found = self._requests.send("list aliases", self._client.get_aliases)
        return dict(sorted((alias.alias_name, alias.collection_name) for alias in found.aliases))

    def set_alias(self, alias: str, name: str) -> None:
        """Point an alias at an existing collection, atomically.

        Raises:
            VectorStoreError: if the collection does not exist, the alias is a collection's name,
                or the server does not show the new target afterwards.
        """
        check_name(alias, "an alias")
        check_name(name, "a collection")
        names = self.names()
        if alias in names:
            raise VectorStoreError(
                f"{alias!r} is a collection at {self._requests.place}; an alias cannot have its "
                "name"
            )
        if name not in names:
            raise no_such_collection(name, self._requests.place, names)
        changes: list[models.AliasOperations] = [
            models.CreateAliasOperation(
                create_alias=models.CreateAlias(collection_name=name, alias_name=alias)
            )
        ]
        if alias in self.aliases():
            # Both in one request: the server applies them together.
            changes.insert(
                0,
                models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias)),
            )
        self._requests.send(
            f"point alias {alias!r} at {name!r}",
            self._client.update_collection_aliases,
            changes,
        )
        found = self.aliases().get(alias)
        if found != name:
            raise VectorStoreError(
                f"alias {alias!r} at {self._requests.place} points to {found!r} after it was set "
                f"to {name!r}; another run has moved it at the same time, or the server lags "
                "behind: set it again"
            )

    def _create(self, name: str, dimension: int) -> None:
        # The server measures the limit of exact search in kilobytes of vectors.
        exact_kb = max(1, self._hnsw.exact_below * dimension * 4 // 1024)
        self._requests.send(
            f"create collection {name!r}",
            self._client.create_collection,
            name,
            vectors_config={
                DENSE: models.VectorParams(size=dimension, distance=models.Distance.COSINE)
            },
            sparse_vectors_config={SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
            hnsw_config=models.HnswConfigDiff(
                m=self._hnsw.m,
                ef_construct=self._hnsw.ef_construct,
                full_scan_threshold=exact_kb,
            ),
            optimizers_config=models.OptimizersConfigDiff(indexing_threshold=exact_kb),
        )

    def _index_payloads(self, name: str) -> None:
        if self._requests.is_memory:  # has no payload indexes, and warns
            return
        info = self._describe(name)
        for field in KEYWORD_FIELDS:
            if field not in info.payload_schema:
                self._requests.send(
                    f"index payload field {field!r} of collection {name!r}",
                    self._client.create_payload_index,
                    name,
                    field,
                    field_schema=models.PayloadSchemaType.KEYWORD,
                    wait=True,
                )

    def _dimension(self, name: str) -> int:
        info = self._describe(name)
        vectors = info.config.params.vectors
        sparse = info.config.params.sparse_vectors or {}
        if not isinstance(vectors, dict) or DENSE not in vectors or SPARSE not in sparse:
            raise VectorStoreError(
                f"collection {name!r} at {self._requests.place} has no vectors named {DENSE!r} and "
                f"{SPARSE!r}: it was not made by chunk-assets; take another name"
            )
        return vectors[DENSE].size

    def _describe(self, name: str) -> models.CollectionInfo:
        return self._requests.send(
            f"describe collection {name!r}", self._client.get_collection, name
        )


class ServerCollection:
    """A collection of a server."""

    def __init__(
        self,
        client: QdrantClient,
        requests: Requests,
        name: str,
        dimension: int,
        hnsw: HnswSettings,
    ) -> None:
        self._client = client
        self._requests = requests
        self._name = name
        self._dimension = dimension
        self._hnsw = hnsw

    def upsert(self, points: Sequence[Point]) -> None:
        """Write points whole; an existing id is replaced.

        Raises:
            VectorStoreError: on a wrong dimension, a non-finite value, a duplicate id inside the
                call, an id that is no UUID, or a payload that is no JSON; then nothing of the call
                was written.
        """
        for batch in _by_size(checked_points(points, self._dimension)):
            structs = [_struct(point) for point in batch]
            self._send("upsert points", self._client.upsert, self._name, structs, wait=True)

    def replace_payloads(self, payloads: Mapping[ChunkId, Payload]) -> None:
        """Replace the whole payload of existing points, leaving their vectors alone.

        Raises:
            VectorStoreError: if a point does not exist, or a payload is no JSON; then nothing of
                the call was written.
        """
        check_ids(payloads)
        plain = {id_: plain_payload(value, f"point {id_}") for id_, value in payloads.items()}
        existing: set[str] = set()
        for batch in batches(list(payloads), _PAGE):
            existing.update(str(record.id) for record in self._retrieve(batch, payload=False))
        missing = [id_ for id_ in payloads if id_ not in existing]
        if missing:
            raise missing_points(self._name, missing)
        for chunk in batches(list(plain.items()), _BATCH_POINTS):
            changes = [
                models.OverwritePayloadOperation(
                    overwrite_payload=models.SetPayload(payload=payload, points=[id_])
                )
                for id_, payload in chunk
            ]
            self._send(
                "replace payloads", self._client.batch_update_points, self._name, changes, wait=True
            )

    def delete(self, ids: Sequence[ChunkId]) -> None:
        """Delete points; ids that do not exist are ignored."""
        check_ids(ids)
        for batch in batches(ids, _PAGE):
            selector = models.PointIdsList(points=list(batch))
            self._send("delete points", self._client.delete, self._name, selector, wait=True)

    def count(self) -> int:
        """The exact number of points."""
        return self._send("count points", self._client.count, self._name, exact=True).count

    def scroll(self, fields: Sequence[str]) -> Iterator[tuple[ChunkId, Payload]]:
        """Every point once, with the named payload fields only."""
        check_fields(fields)
        offset: models.ExtendedPointId | None = None
        while True:
            records, offset = self._send(
                "read points",
                self._client.scroll,
                self._name,
                limit=_PAGE,
                offset=offset,
                with_payload=list(fields) or False,
                with_vectors=False,
            )
            for record in records:
                yield ChunkId(str(record.id)), record.payload or {}
            if offset is None:
                return

    def vectors(self, ids: Sequence[ChunkId]) -> dict[ChunkId, npt.NDArray[np.float32]]:
        """The dense vectors of the points that exist, of unit length."""
        check_ids(ids)
        found: dict[ChunkId, npt.NDArray[np.float32]] = {}
        for batch in batches(ids, _BATCH_POINTS):
            for record in self._retrieve(batch, payload=False, vector=True):
                if isinstance(record.vector, dict):
                    found[ChunkId(str(record.id))] = np.asarray(record.vector[DENSE], np.float32)
        return found

    def search_dense(
        self, vector: npt.NDArray[np.float32], limit: int, where: Mapping[str, str] | None = None
    ) -> list[Hit]:
        """The nearest points by cosine; `where` demands equal payload fields.

        Where a field holds a list, one of its elements must be equal.

        Raises:
            VectorStoreError: if the vector has another dimension or a non-finite value.
        """
        checked = checked_dense(vector, self._dimension, "query")
        return self._search(checked.tolist(), DENSE, limit, where)

    def search_sparse(
        self, vector: SparseVector, limit: int, where: Mapping[str, str] | None = None
    ) -> list[Hit]:
        """The best points by sparse score (BM25, with IDF of the collection).

        Points that share no term with the query are not found; an empty query finds none.
        """
        checked = checked_sparse(vector, "query")
        return self._search(_sparse(checked), SPARSE, limit, where) if checked.indices else []

    def finish(self) -> None:
        """Wait until the server has built its index, at most as long as one request may take.

        Every write was durable when it returned; an index that takes longer is completed in the
        background, and searches are right meanwhile.
        """
        deadline = time.monotonic() + self._requests.timeout_s
        while (
            self._send("read the status", self._client.get_collection, self._name).status
            == models.CollectionStatus.YELLOW
            and time.monotonic() < deadline
        ):
            time.sleep(_POLL_S)

    def _search(
        self,
        query: list[float] | models.SparseVector,
        using: str,
        limit: int,
        where: Mapping[str, str] | None,
    ) -> list[Hit]:
        check_limit(limit)
        check_where(where)
        # The in-memory mode is always exact, and warns.
        params = (
            None if self._requests.is_memory else models.SearchParams(hnsw_ef=self._hnsw.ef_search)
        )

        def fetch(size: int, with_payload: bool) -> list[Hit]:
            found = self._send(
                "search",
                self._client.query_points,
                self._name,
                query=query,
                using=using,
                limit=size,
                query_filter=_equal(where),
                search_params=params,
                with_payload=with_payload,
            ).points
            # Servers compute in float32; the in-memory mode has noise beyond it that parts ties.
            return [
                Hit(ChunkId(str(hit.id)), float(np.float32(hit.score)), hit.payload or {})
                for hit in found
            ]

        def payloads(ids: list[ChunkId]) -> dict[ChunkId, Payload]:
            records = self._retrieve(ids, payload=True)
            return {ChunkId(str(record.id)): record.payload or {} for record in records}

        return best(limit, fetch, payloads)

    def _retrieve(
        self, ids: Sequence[ChunkId], *, payload: bool, vector: bool = False
    ) -> list[models.Record]:
        return self._send(
            "read points",
            self._client.retrieve,
            self._name,
            list(ids),
            with_payload=payload,
            with_vectors=[DENSE] if vector else False,
        )

    def _send(self, doing: str, request: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._requests.send(
            f"{doing} in collection {self._name!r}", request, *args, **kwargs
        )


def _by_size(points: Sequence[Point]) -> Iterator[list[Point]]:
    batch: list[Point] = []
    size = 0
    for point in points:
        # JSON spends about 20 characters on a float and 10 on an index.
        weight = (
            20 * point.dense.size
            + 30 * len(point.sparse.indices)
            + len(json.dumps(point.payload, ensure_ascii=False).encode())
        )
        if batch and (len(batch) == _BATCH_POINTS or size + weight > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(point)
        size += weight
    if batch:
        yield batch


def _struct(point: Point) -> models.PointStruct:
    vectors: dict[str, list[float] | models.SparseVector] = {DENSE: point.dense.tolist()}
    if point.sparse.indices:  # a text without terms has no place in the term index
        vectors[SPARSE] = _sparse(point.sparse)
    return models.PointStruct(id=point.id, vector=vectors, payload=dict(point.payload))


def _sparse(vector: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=list(vector.indices), values=list(vector.values))


def _equal(where: Mapping[str, str] | None) -> models.Filter | None:
    if not where:
        return None
    return models.Filter(
        must=[
            models.FieldCondition(key=field, match=models.MatchValue(value=value))
            for field, value in where.items()
        ]
    )

"""The embedded vector store: Qdrant's engine in the process, one folder per collection.

    vector_store/
      collections/handbook__hierarchy__minilm__3f9a/     an Edge shard, and collection.json
      collections/handbook__hierarchy__minilm__3f9a.lock who may open it
      aliases/handbook.json                              the collection that an alias points to
      catalogue.lock                                     held while names change

The engine locks an open shard to one process, readers included. So collections are opened for as
short as possible, and others wait their turn on the lock file.
"""

import json
import os
import shutil
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt
import qdrant_edge as edge

from chunk_assets.errors import VectorStoreError
from chunk_assets.lineage.identity import ChunkId
from chunk_assets.retrieval.vector_store import Hit, Payload, Point, SparseVector
from resources.hnsw import HnswSettings
from resources.qdrant_edge_alias import AliasPointers, sync_folder, write_durably
from resources.qdrant_edge_lock import Patience, held
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
from resources.room import MIB, require_room

_DESCRIPTION = "collection.json"
_FORMAT = 1
_BATCH = 1_000  # points per operation: one record of the write-ahead log, some megabytes
_VACUUM_FROM = 10_000  # vectors in a segment; rewriting a smaller one costs more than it saves
# The engine maps files larger than what they occupy: where the disk is full, a write to one ends
# the process (SIGBUS), without a word. This is several times what a batch adds.
_ROOM_BYTES = 64 * MIB
_CATALOGUE_LIMIT_S = 60.0  # renames alone happen under that lock


class QdrantEdgeStore:
    """Collections and aliases in a folder; safe across threads and processes.

    A kill at any moment loses nothing that was acknowledged: writes go through the engine's
    write-ahead log, and collections and aliases appear, change and go by a rename.
    """

    def __init__(
        self,
        folder: Path,
        *,
        lock_timeout_s: float = 600.0,
        hnsw: HnswSettings = HnswSettings(),  # noqa: B008 - frozen
    ) -> None:
        self._folder = folder
        self._collections = folder / "collections"
        self._pointers = AliasPointers(folder / "aliases")
        self._lock_timeout_s = lock_timeout_s
        self._hnsw = hnsw
        self._opened: set[tuple[str, int]] = set()

    def create(self, name: str, dimension: int) -> None:
        """Create a collection; one that exists with the same dimension is left alone.

        Raises:
            VectorStoreError: if it exists with another dimension, or an alias has the name.
        """
        check_name(name, "a collection")
        check_dimension(dimension)
        if self._is_there(name, dimension):
            return
        with self._locked(name, None):
            if self._is_there(name, dimension):
                return
            require_room(self._collections, _ROOM_BYTES, f"create collection {name!r}")
            unfinished = self._collections / f"{name}.creating"
            with self._reported(f"create collection {name!r}"):
                _remove(unfinished)  # what a kill has left
                self._build(unfinished, dimension)
            with self._catalogue():
                if self._pointers.path(name).exists():
                    raise VectorStoreError(
                        f"{name!r} is an alias in {self._folder}; a collection cannot have its name"
                    )
                with self._reported(f"create collection {name!r}"):
                    unfinished.replace(self._path(name))
                    sync_folder(self._collections)

    @contextmanager
    def open(
        self, name: str, *, on_wait: Callable[[str], None] | None = None
    ) -> Iterator["EdgeCollection"]:
        """Open a collection or what an alias points to; waits its turn, telling `on_wait`.

        Writes are flushed when the block ends; after an error they stay in the write-ahead log.

        Raises:
            VectorStoreError: if neither a collection nor an alias has that name, the alias points
                to nothing, the wait exceeds `lock_timeout_s`, or this thread already has it open.
        """
        with self._locked_target(name, on_wait) as (target, patience):
            shard = self._load(target, patience)
            try:
                collection = EdgeCollection(
                    target, self._path(target), shard, self._dimension(target), self._hnsw
                )
                yield collection
                collection.flush()
            finally:
                shard.close()

    def exists(self, name: str) -> bool:
        """Whether a collection (not an alias) has that name."""
        check_name(name, "a collection")
        return (self._path(name) / _DESCRIPTION).exists()

    def names(self) -> list[str]:
        """All collections, sorted."""
        return sorted(
            path.parent.name
            for path in self._collections.glob(f"*/{_DESCRIPTION}")
            if "." not in path.parent.name
        )

    def drop(self, name: str) -> None:
        """Delete a collection and the aliases that point to it; a missing one is ignored."""
        check_name(name, "a collection")
        dropped = self._collections / f"{name}.dropping"
        if not self._path(name).exists() and not dropped.exists():
            return
        with self._locked(name, None), self._reported(f"drop collection {name!r}"):
            _remove(dropped)  # what a kill has left
            with self._catalogue():
                for alias, target in self._pointers.all().items():
                    if target == name:
                        self._pointers.remove(alias)
                if self._path(name).exists():
                    self._path(name).replace(dropped)
                    sync_folder(self._collections)
            _remove(dropped)

    def aliases(self) -> dict[str, str]:
        """Every alias with the collection it points to.

        Raises:
            VectorStoreError: if a pointer file is unreadable.
        """
        return self._pointers.all()

    def set_alias(self, alias: str, name: str) -> None:
        """Point an alias at an existing collection, atomically.

        Raises:
            VectorStoreError: if the collection does not exist, or the alias is a collection's name.
        """
        check_name(alias, "an alias")
        check_name(name, "a collection")
        with self._catalogue():
            if self._path(alias).exists():
                raise VectorStoreError(
                    f"{alias!r} is a collection in {self._folder}; an alias cannot have its name"
                )
            if not self.exists(name):
                raise no_such_collection(name, str(self._folder), self.names())
            with self._reported(f"point alias {alias!r} at {name!r}"):
                self._pointers.write(alias, name)

    def _path(self, name: str) -> Path:
        return self._collections / name

    def _is_there(self, name: str, dimension: int) -> bool:
        if not self.exists(name):
            return False
        found = self._dimension(name)
        if found != dimension:
            raise VectorStoreError(
                f"collection {name!r} in {self._folder} holds vectors of dimension {found}, not "
                f"{dimension}; drop it or take another name"
            )
        return True

    def _dimension(self, name: str) -> int:
        path = self._path(name) / _DESCRIPTION
        try:
            description = json.loads(path.read_text(encoding="utf-8"))
            found, dimension = int(description["format"]), int(description["dimension"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise VectorStoreError(
                f"{path} is unreadable ({error}); delete {path.parent} and run "
                "`chunk-assets apply`, which fills it again without embedding"
            ) from error
        if found != _FORMAT:
            raise VectorStoreError(
                f"collection {name!r} in {self._folder} has format {found}, but this version reads "
                f"{_FORMAT}; delete {path.parent} and run `chunk-assets apply`"
            )
        return dimension

    def _build(self, path: Path, dimension: int) -> None:
        shard = edge.EdgeShard.create(str(path), _shard_config(dimension, self._hnsw))
        try:
            for field in KEYWORD_FIELDS:
                shard.update(
                    edge.UpdateOperation.create_field_index(field, edge.PayloadSchemaType.Keyword)
                )
            shard.flush()
        finally:
            shard.close()
        description = {
            "format": _FORMAT,
            "dimension": dimension,
            "engine": f"qdrant-edge-py {version('qdrant-edge-py')}",
        }
        write_durably(path / _DESCRIPTION, json.dumps(description) + "\n")

    def _load(self, name: str, patience: Patience) -> edge.EdgeShard:
        path = self._path(name)
        config = _shard_config(self._dimension(name), self._hnsw)
        while True:
            try:
                return edge.EdgeShard.load(str(path), config)
            except Exception as error:
                # The engine raises bare exceptions. This one is its own lock, held by a program
                # that knows nothing of ours or by a process forked while the collection was open.
                if "WouldBlock" not in str(error):
                    raise VectorStoreError(
                        f"collection {name!r} at {path} cannot be opened by qdrant-edge-py "
                        f"{version('qdrant-edge-py')}: {error}. If it is damaged, delete that "
                        "folder and run `chunk-assets apply`, which fills it without embedding"
                    ) from error
            patience.wait("another program")

    @contextmanager
    def _locked_target(
        self, name: str, on_wait: Callable[[str], None] | None
    ) -> Iterator[tuple[str, Patience]]:
        target = self._resolve(name)
        while True:
            with self._locked(target, on_wait) as patience:
                if self.exists(target):
                    yield target, patience
                    return
            # Dropped while we waited; if the alias moved on before that, so do we.
            gone, target = target, self._resolve(name)
            if target == gone:
                raise no_such_collection(name, str(self._folder), self._known())

    def _resolve(self, name: str) -> str:
        check_name(name, "a collection")
        if self.exists(name):
            return name
        target = self._pointers.read(name)
        if target is None:
            raise no_such_collection(name, str(self._folder), self._known())
        if not self.exists(target):
            raise VectorStoreError(
                f"alias {name!r} points to collection {target!r}, which does not exist in "
                f"{self._folder}; delete {self._pointers.path(name)} and run "
                "`chunk-assets apply`"
            )
        return target

    def _known(self) -> list[str]:
        return [*self.names(), *(f"{alias} (alias)" for alias in self._pointers.all())]

    @contextmanager
    def _locked(self, name: str, on_wait: Callable[[str], None] | None) -> Iterator[Patience]:
        mine = (name, threading.get_ident())
        if mine in self._opened:
            raise VectorStoreError(
                f"collection {name!r} is already open in this thread; close it first"
            )
        patience = Patience(f"collection {name!r}", self._lock_timeout_s, on_wait)
        with self._reported("make its folder"):
            self._collections.mkdir(parents=True, exist_ok=True)
        with held(self._collections / f"{name}.lock", patience):
            self._opened.add(mine)
            try:
                yield patience
            finally:
                self._opened.discard(mine)

    @contextmanager
    def _catalogue(self) -> Iterator[None]:
        with self._reported("make its folder"):
            self._folder.mkdir(parents=True, exist_ok=True)
        patience = Patience(f"the catalogue of {self._folder}", _CATALOGUE_LIMIT_S, None)
        with held(self._folder / "catalogue.lock", patience):
            yield

    @contextmanager
    def _reported(self, doing: str) -> Iterator[None]:
        with _reported(f"the vector store in {self._folder}", doing):
            yield


class EdgeCollection:
    """An opened collection of the embedded store; unusable once its `open` block has ended.

    The engine's IDF goes on counting deleted and replaced points until the collection is opened
    again, and above `hnsw.exact_below` points until the next clean-up.
    """

    def __init__(
        self,
        name: str,
        path: Path,
        shard: edge.EdgeShard,
        dimension: int,
        hnsw: HnswSettings,
    ) -> None:
        self._name = name
        self._place = f"collection {name!r} at {path}"
        self._path = path
        self._shard = shard
        self._dimension = dimension
        self._hnsw = hnsw
        self._is_dirty = False

    def upsert(self, points: Sequence[Point]) -> None:
        """Write points whole; an existing id is replaced.

        Raises:
            VectorStoreError: on a wrong dimension, a non-finite value, a duplicate id inside the
                call, an id that is no UUID, or a payload that is no JSON; then nothing of the call
                was written.
        """
        checked = checked_points(points, self._dimension)
        for batch in batches(checked, _BATCH):
            self._update(
                "upsert points", edge.UpdateOperation.upsert_points([_edge_point(p) for p in batch])
            )

    def replace_payloads(self, payloads: Mapping[ChunkId, Payload]) -> None:
        """Replace the whole payload of existing points, leaving their vectors alone.

        Raises:
            VectorStoreError: if a point does not exist, or a payload is no JSON; then nothing of
                the call was written.
        """
        check_ids(payloads)
        plain = {id_: plain_payload(value, f"point {id_}") for id_, value in payloads.items()}
        existing: set[str] = set()
        for batch in batches(list(payloads), _BATCH):
            existing.update(str(record.id) for record in self._retrieve(batch, payload=False))
        # The engine stops at the first id it lacks, with the others half written.
        missing = [id_ for id_ in payloads if id_ not in existing]
        if missing:
            raise missing_points(self._name, missing)
        for id_, payload in plain.items():
            self._update("replace payloads", edge.UpdateOperation.overwrite_payload([id_], payload))

    def delete(self, ids: Sequence[ChunkId]) -> None:
        """Delete points; ids that do not exist are ignored."""
        check_ids(ids)
        for batch in batches(ids, _BATCH):
            self._update("delete points", edge.UpdateOperation.delete_points(list(batch)))

    def count(self) -> int:
        """The exact number of points."""
        with self._reported("count points"):
            return self._shard.count(edge.CountRequest(exact=True))

    def scroll(self, fields: Sequence[str]) -> Iterator[tuple[ChunkId, Payload]]:
        """Every point once, with the named payload fields only."""
        check_fields(fields)
        offset: edge.PointId | None = None
        while True:
            with self._reported("read points"):
                records, offset = self._shard.scroll(
                    edge.ScrollRequest(
                        offset=offset, limit=_BATCH, with_payload=list(fields) or False
                    )
                )
            for record in records:
                yield ChunkId(str(record.id)), record.payload or {}
            if offset is None:
                return

    def vectors(self, ids: Sequence[ChunkId]) -> dict[ChunkId, npt.NDArray[np.float32]]:
        """The dense vectors of the points that exist, of unit length."""
        check_ids(ids)
        found: dict[ChunkId, npt.NDArray[np.float32]] = {}
        for batch in batches(ids, _BATCH):
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
        params = edge.SearchParams(hnsw_ef=self._hnsw.ef_search)
        return self._search(edge.Query.Nearest(checked.tolist(), DENSE), limit, where, params)

    def search_sparse(
        self, vector: SparseVector, limit: int, where: Mapping[str, str] | None = None
    ) -> list[Hit]:
        """The best points by sparse score (BM25, with IDF of the collection).

        Points that share no term with the query are not found; an empty query finds none.
        """
        checked = checked_sparse(vector, "query")
        query = edge.Query.Nearest(_edge_sparse(checked), SPARSE)
        return self._search(query, limit, where, None) if checked.indices else []

    def finish(self) -> None:
        """Make writes durable and build what is needed for fast search.

        The engine decides what is worth building: an HNSW index where more than
        `hnsw.exact_below` points have none, a clean-up where a fifth of 10,000 points or more was
        deleted.
        """
        copied_bytes = 2 * 4 * self._dimension * self.count()  # segments are rewritten
        require_room(self._path, _ROOM_BYTES + copied_bytes, f"build the index of {self._name!r}")
        with self._reported("build the index"):
            self._is_dirty = self._shard.optimize() or self._is_dirty
        self.flush()

    def flush(self) -> None:
        """Make writes durable without the write-ahead log, so that the next opening is fast."""
        if self._is_dirty:
            with self._reported("flush"):
                self._shard.flush()
            self._is_dirty = False

    def _search(
        self,
        query: edge.Query,
        limit: int,
        where: Mapping[str, str] | None,
        params: edge.SearchParams | None,
    ) -> list[Hit]:
        check_limit(limit)
        check_where(where)
        condition = _equal(where)

        def fetch(size: int, with_payload: bool) -> list[Hit]:
            with self._reported("search"):
                found = self._shard.query(
                    edge.QueryRequest(
                        limit=size,
                        query=query,
                        filter=condition,
                        with_payload=with_payload,
                        params=params,
                    )
                )
            return [Hit(ChunkId(str(hit.id)), hit.score, hit.payload or {}) for hit in found]

        def payloads(ids: list[ChunkId]) -> dict[ChunkId, Payload]:
            records = self._retrieve(ids, payload=True)
            return {ChunkId(str(record.id)): record.payload or {} for record in records}

        return best(limit, fetch, payloads)

    def _retrieve(
        self, ids: Sequence[ChunkId], *, payload: bool, vector: bool = False
    ) -> list[edge.Record]:
        with self._reported("read points"):
            return self._shard.retrieve(list(ids), payload, [DENSE] if vector else False)

    def _update(self, doing: str, operation: edge.UpdateOperation) -> None:
        require_room(self._path, _ROOM_BYTES, f"{doing} in collection {self._name!r}")
        with self._reported(doing):
            self._is_dirty = True
            self._shard.update(operation)

    @contextmanager
    def _reported(self, doing: str) -> Iterator[None]:
        with _reported(self._place, doing):
            yield


@contextmanager
def _reported(place: str, doing: str) -> Iterator[None]:
    try:
        yield
    except VectorStoreError:
        raise
    except Exception as error:  # the engine raises nothing more specific
        hint = ""
        if "not initialized" in str(error):
            hint = "; it was used after its `open` block had ended"
        elif isinstance(error, OSError) or "os error" in str(error):
            hint = "; check the folder's permissions and the free space on its disk"
        raise VectorStoreError(f"{place}: cannot {doing}: {error}{hint}") from error


def _shard_config(dimension: int, hnsw: HnswSettings) -> edge.EdgeConfig:
    # The engine measures the limit of exact search in kilobytes of vectors.
    exact_kb = max(1, hnsw.exact_below * dimension * 4 // 1024)
    return edge.EdgeConfig(
        vectors={DENSE: edge.EdgeVectorParams(size=dimension, distance=edge.Distance.Cosine)},
        sparse_vectors={SPARSE: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
        hnsw_config=edge.HnswIndexConfig(
            m=hnsw.m, ef_construct=hnsw.ef_construct, full_scan_threshold=exact_kb
        ),
        optimizers=edge.EdgeOptimizersConfig(
            indexing_threshold=exact_kb, vacuum_min_vector_number=_VACUUM_FROM
        ),
    )


def _edge_point(point: Point) -> edge.Point:
    vectors: dict[str, edge.NamedVector] = {DENSE: point.dense.tolist()}
    if point.sparse.indices:  # a text without terms has no place in the term index
        vectors[SPARSE] = _edge_sparse(point.sparse)
    return edge.Point(uuid.UUID(point.id), vectors, dict(point.payload))


def _edge_sparse(vector: SparseVector) -> edge.SparseVector:
    return edge.SparseVector(list(vector.indices), list(vector.values))


def _equal(where: Mapping[str, str] | None) -> edge.Filter | None:
    if not where:
        return None
    return edge.Filter(
        must=[
            edge.FieldCondition(field, match=edge.MatchValue(value))
            for field, value in where.items()
        ]
    )


def _remove(path: Path) -> None:
    if os.path.lexists(path):
        shutil.rmtree(path)

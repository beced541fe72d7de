"""What both Qdrant adapters share: the layout of a point, and validation before any write.

Validation comes first because the engines are lenient: they store NaN vectors and repeated sparse
indices as they are, turn integers beyond 64 bits into floats, and apply a part of a batch that
they then reject.
"""

import math
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from chunk_assets.errors import VectorStoreError
from chunk_assets.lineage.identity import ChunkId, Json
from chunk_assets.retrieval.vector_store import Hit, Payload, Point, SparseVector

DENSE = "dense"
SPARSE = "bm25"
KEYWORD_FIELDS = ("document_id", "uri", "heading_path")
"""Payload fields with an index: those that searches are filtered by (others work, but slowly)."""

MAX_NAME_LENGTH = 200  # a name is a file name with a suffix, and those end at 255 bytes
_NAME = re.compile(r"[a-z0-9_]+")
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INT64 = range(-(2**63), 2**63)
_UINT32 = range(2**32)

T = TypeVar("T")


def check_name(name: str, kind: str) -> None:
    """Refuse a name that is no safe file name and no Qdrant name.

    Raises:
        VectorStoreError: naming the rule.
    """
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_LENGTH:
        raise VectorStoreError(
            f"{name!r} cannot name {kind}: use 1 to {MAX_NAME_LENGTH} of a-z, 0-9 and _"
        )


def check_dimension(dimension: int) -> None:
    """Refuse a dimension that Qdrant cannot store.

    Raises:
        VectorStoreError: unless it lies in 1 to 65,536.
    """
    if not 1 <= dimension <= 65_536:
        raise VectorStoreError(f"vectors of dimension {dimension}: expected 1 to 65,536")


def check_limit(limit: int) -> None:
    """Refuse a search for fewer than one point.

    Raises:
        VectorStoreError: if `limit` is below 1.
    """
    if limit < 1:
        raise VectorStoreError(f"cannot search for {limit} points: limit must be at least 1")


def check_fields(fields: Iterable[str]) -> None:
    """Refuse payload fields that Qdrant would read as a path into nested values.

    Raises:
        VectorStoreError: naming the field.
    """
    for field in fields:
        if not _FIELD.fullmatch(field):
            raise VectorStoreError(
                f"{field!r} cannot name a payload field: expected letters, digits and _"
            )


def check_ids(ids: Iterable[str]) -> None:
    """Refuse ids that are no UUID in the form that the store returns them in.

    Raises:
        VectorStoreError: naming the id.
    """
    for point_id in ids:
        if not _is_uuid(point_id):
            raise VectorStoreError(
                f"{point_id!r} cannot be a point id: expected a UUID such as "
                "0b7d2f5e-1c7e-5a44-9d5e-3f1f0c2a9b10, in lower case"
            )


def check_where(where: Mapping[str, str] | None) -> None:
    """Refuse filters that are no equality of a field with a string.

    Raises:
        VectorStoreError: naming the field.
    """
    check_fields(where or ())
    for field, value in (where or {}).items():
        if not isinstance(value, str):
            raise VectorStoreError(f"filter on {field!r}: expected a string, got {value!r}")


def checked_points(points: Sequence[Point], dimension: int) -> list[Point]:
    """The same points in plain types, or an error before anything is written.

    Raises:
        VectorStoreError: on an id that is no UUID or stands twice, a vector of another dimension
            or with a non-finite value, sparse indices that repeat, or a payload that is no JSON.
    """
    check_ids(point.id for point in points)
    seen: set[str] = set()
    for point in points:
        if point.id in seen:
            raise VectorStoreError(f"point {point.id} stands twice in one call")
        seen.add(point.id)
    return [
        Point(
            point.id,
            checked_dense(point.dense, dimension, f"point {point.id}"),
            checked_sparse(point.sparse, f"point {point.id}"),
            plain_payload(point.payload, f"point {point.id}"),
        )
        for point in points
    ]


def checked_dense(
    vector: npt.NDArray[np.float32], dimension: int, what: str
) -> npt.NDArray[np.float32]:
    """The vector as float32, or an error.

    Raises:
        VectorStoreError: unless its shape is `(dimension,)` and every value is finite.
    """
    if vector.shape != (dimension,):
        raise VectorStoreError(
            f"{what}: dense vector of shape {vector.shape}, but the collection holds vectors of "
            f"dimension {dimension}; was it made by another embedder?"
        )
    with np.errstate(over="ignore"):  # too large for float32 becomes infinite, which is refused
        plain = np.ascontiguousarray(vector, dtype=np.float32)
    if not np.isfinite(plain).all():
        raise VectorStoreError(f"{what}: dense vector holds NaN or infinity")
    return plain


def checked_sparse(vector: SparseVector, what: str) -> SparseVector:
    """The vector itself, or an error.

    Raises:
        VectorStoreError: unless indices are distinct and fit 32 bits, as many as the values, and
            every value is finite.
    """
    indices, values = vector.indices, vector.values
    if len(indices) != len(values):
        raise VectorStoreError(
            f"{what}: sparse vector with {len(indices)} indices but {len(values)} values"
        )
    if len(set(indices)) != len(indices):
        raise VectorStoreError(f"{what}: sparse vector holds an index twice")
    if any(index not in _UINT32 for index in indices):
        raise VectorStoreError(f"{what}: sparse indices must lie between 0 and 2**32 - 1")
    if not all(map(math.isfinite, values)):
        raise VectorStoreError(f"{what}: sparse vector holds NaN or infinity")
    return vector


def plain_payload(payload: Payload, what: str) -> dict[str, Json]:
    """The payload in dicts, lists and scalars, or an error.

    Raises:
        VectorStoreError: if a value would not come back from the store as it went in.
    """
    return {
        _plain_key(key, what): _plain(value, f"{what}: payload field `{key}`")
        for key, value in payload.items()
    }


def _plain(value: object, where: str) -> Json:
    match value:
        case None | bool():
            return value
        case str():
            # Text is by far the most of a payload; encoding finds lone surrogates at C speed.
            try:
                value.encode("utf-8")
            except UnicodeEncodeError as error:
                raise VectorStoreError(f"{where} cannot be stored as UTF-8: {error}") from None
            return value
        case int():
            if value not in _INT64:
                raise VectorStoreError(f"{where} is {value}: expected an integer of 64 bits")
            return value
        case float():
            if not math.isfinite(value):
                raise VectorStoreError(f"{where} is {value}: expected a finite number")
            return value
        case Mapping():
            return {_plain_key(key, where): _plain(item, where) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item, where) for item in value]
    raise VectorStoreError(
        f"{where} is {value!r:.80} ({type(value).__name__}): expected JSON (null, true, false, "
        "number, string, list or mapping)"
    )


def _plain_key(key: object, where: str) -> str:
    if not isinstance(key, str):
        raise VectorStoreError(f"{where}: key {key!r} is no string")
    return str(_plain(key, where))


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except (ValueError, AttributeError, TypeError):
        return False


def best(
    limit: int,
    fetch: Callable[[int, bool], list[Hit]],
    payloads: Callable[[list[ChunkId]], Mapping[ChunkId, Payload]],
) -> list[Hit]:
    """The `limit` best hits, equal scores ordered by id.

    Engines return equal scores in any order and cut anywhere among them, so the cut is widened
    until all points that equal the last hit are known.

    Args:
        limit: how many hits.
        fetch: the n best hits in the engine's order; with payloads or without.
        payloads: payloads of points; called only where the cut had to be widened.
    """
    size = limit + 1
    hits = _ordered(fetch(size, True))
    if _is_decided(hits, limit, size):
        return hits[:limit]
    while not _is_decided(hits, limit, size):
        size *= 2
        hits = _ordered(fetch(size, False))
    found = payloads([hit.id for hit in hits[:limit]])
    return [Hit(hit.id, hit.score, found.get(hit.id, {})) for hit in hits[:limit]]


def _is_decided(hits: list[Hit], limit: int, size: int) -> bool:
    return len(hits) < size or hits[limit - 1].score > hits[-1].score


def _ordered(hits: list[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Runs of at most `size` items."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def missing_points(name: str, missing: Sequence[str]) -> VectorStoreError:
    """The error for a payload whose point does not exist."""
    shown = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
    return VectorStoreError(
        f"collection {name!r}: {len(missing)} of the points whose payload is to be replaced do not "
        f"exist ({shown}); upsert them with their vectors"
    )


def no_such_collection(name: str, place: str, known: Iterable[str]) -> VectorStoreError:
    """The error for a name that is neither a collection nor an alias."""
    names = ", ".join(sorted(known)) or "none"
    return VectorStoreError(
        f"{place} has neither a collection nor an alias {name!r} (there are: {names}); materialize "
        "`collections` first"
    )

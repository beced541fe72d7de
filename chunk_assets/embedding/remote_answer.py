"""The body of an answer: vectors in the order of the texts, what was charged, or an error; pure."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from chunk_assets.embedding.embedder import Vectors
from chunk_assets.embedding.unit_vectors import defect, normalize

_SHOWN_CHARACTERS = 300
_TOO_LARGE = "its vector holds a number that is too large"


class MalformedAnswerError(Exception):
    """An answer that cannot be read; another attempt may bring one that can."""


class WrongDimensionError(Exception):
    """Vectors of another dimension than expected; another attempt would bring the same."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Vectors of the texts of one request."""

    vectors: Vectors
    """Unit vectors in the order of the texts: shape (texts, dimension)."""
    defects: Mapping[int, str]
    """Which rows are no unit vectors, and why."""
    tokens: int | None
    """The tokens that are charged; None where the server does not say."""


@dataclass(frozen=True, slots=True)
class ApiError:
    """An error in any of the spellings that servers have for it."""

    message: str = ""
    code: str = ""
    kind: str = ""
    status: int | None = None
    """A status that stands in the body; some gateways answer everything with 200."""


def read_answer(body: bytes, texts: int, dimension: int, *, base64_allowed: bool) -> Answer:
    """Read the body of an answer with status 200.

    Args:
        body: as it came, decompressed.
        texts: how many texts were sent.
        dimension: what every vector must have.
        base64_allowed: whether a vector may be text: little-endian float32 in base64.

    Raises:
        MalformedAnswerError: if it is no answer to so many texts.
        WrongDimensionError: if a vector has another dimension.
    """
    value = _json(body)
    data = value.get("data") if isinstance(value, dict) else None
    if not isinstance(data, list):
        raise MalformedAnswerError("the answer has no list `data`")
    if len(data) != texts:
        raise MalformedAnswerError(f"the answer has {len(data)} vectors for {texts} texts")
    rows = np.zeros((texts, dimension), dtype=np.float64)
    defects: dict[int, str] = {}
    seen: set[int] = set()
    for item in data:
        index = item.get("index") if isinstance(item, dict) else None
        if type(index) is not int or not 0 <= index < texts or index in seen:
            raise MalformedAnswerError(
                f"the answer does not say which vector belongs to which text: `index` is {index!r} "
                f"for {texts} texts, or stands twice"
            )
        seen.add(index)
        row = _row(item.get("embedding"), base64_allowed)
        if isinstance(row, str):
            defects[index] = row
        elif len(row) != dimension:
            raise WrongDimensionError(f"{len(row)} components")
        else:
            rows[index] = row
    vectors = normalize(rows)
    for index, vector in enumerate(vectors):
        if index not in defects and (reason := defect(vector)) is not None:
            defects[index] = reason
    return Answer(vectors, defects, _charged(value))


def read_error(body: bytes) -> ApiError | None:
    """The error that a body tells; None if it tells none."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or isinstance(value.get("data"), list):
        return None
    error = value.get("error", value)
    if isinstance(error, str):
        return ApiError(message=error, kind=_text(value.get("error_type")))
    if not isinstance(error, dict):
        return None
    message = _text(error.get("message")) or _text(error.get("detail"))
    code = error.get("code")
    is_status = type(code) is int and 400 <= code < 600
    if not message and code is None:
        return None
    return ApiError(message, _text(code), _text(error.get("type")), code if is_status else None)


def shortened(text: str) -> str:
    """The beginning of a text on one line; servers repeat whole requests in their errors."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[:_SHOWN_CHARACTERS]}…"


def _json(body: bytes) -> Any:  # noqa: ANN401 - whatever stands there
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise MalformedAnswerError("the answer is no JSON") from None


def _row(value: object, base64_allowed: bool) -> npt.NDArray[np.float64] | str:
    """Components, or why there are none."""
    if isinstance(value, str):
        if not base64_allowed:
            return "its vector is text, though numbers were asked for"
        try:
            packed = base64.b64decode(value, validate=True)
            return _checked(np.frombuffer(packed, dtype="<f4").astype(np.float64))
        except (binascii.Error, ValueError):
            raise MalformedAnswerError("a vector is no base64 of float32 numbers") from None
    if value is None:
        return "its vector is null"
    if not isinstance(value, list):
        raise MalformedAnswerError(f"a vector is {type(value).__name__}, expected a list")
    strange = {type(number) for number in value} - {float, int, type(None)}
    if strange:
        names = ", ".join(sorted(kind.__name__ for kind in strange))
        return f"its vector holds {names} instead of numbers"
    try:
        return _checked(np.array(value, dtype=np.float64))  # null becomes NaN
    except OverflowError:
        return _TOO_LARGE


def _checked(row: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | str:
    if not np.isfinite(row).all():
        return "its vector holds NaN, null or infinity"
    return _TOO_LARGE if (np.abs(row) > np.finfo(np.float32).max).any() else row


def _charged(value: Mapping[str, Any]) -> int | None:
    usage = value.get("usage")
    if not isinstance(usage, dict):
        return None
    for field in ("prompt_tokens", "total_tokens"):
        tokens = usage.get(field)
        if type(tokens) is int and tokens > 0:
            return tokens
    return None


def _text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)

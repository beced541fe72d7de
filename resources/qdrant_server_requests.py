"""Requests to a Qdrant server: repeated while that may help, explained when it does not."""

import json
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar
from urllib.parse import urlsplit

import grpc  # type: ignore[import-untyped]
import httpx
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import (
    ApiException,
    ResponseHandlingException,
    UnexpectedResponse,
)
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt

from chunk_assets.errors import VectorStoreError

_BUSY_STATUS = frozenset({429, 500, 502, 503, 504})
_BUSY_GRPC = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
    }
)
# The last three are what the client's in-memory mode raises where a server answers with a status.
_CLIENT_ERRORS = (
    ApiException,
    QdrantException,
    grpc.RpcError,
    httpx.HTTPError,
    ValueError,
    KeyError,
    RuntimeError,
)

P = ParamSpec("P")
T = TypeVar("T")


class Requests:
    """Sends requests: repeats what may succeed later, and explains what fails."""

    def __init__(self, client: QdrantClient, retries: int) -> None:
        options = client.init_options
        self.is_memory = options.get("location") == ":memory:"
        self.timeout_s = float(options.get("timeout") or 5)
        self.place = ":memory:" if self.is_memory else _without_secrets(options)
        self._api_key = options.get("api_key")
        self._retrying = Retrying(
            stop=stop_after_attempt(retries + 1),
            wait=_pause_s,
            retry=retry_if_exception(_may_succeed_later),
            reraise=True,
        )

    def send(self, doing: str, request: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The answer to a request.

        Raises:
            VectorStoreError: if it fails; the message names server and request, never the key.
        """
        try:
            return self._retrying(request, *args, **kwargs)
        except _CLIENT_ERRORS as error:
            message = f"Qdrant at {self.place}: cannot {doing}: {_reason(error)}"
            if self._api_key:
                message = message.replace(self._api_key, "***")
            raise VectorStoreError(message) from error


def _pause_s(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome is not None else None
    if isinstance(error, ResourceExhaustedResponse):
        return float(min(error.retry_after_s, 60))
    return float(min(0.25 * 2 ** (state.attempt_number - 1), 8.0))


def _may_succeed_later(error: BaseException) -> bool:
    if isinstance(error, ResponseHandlingException):
        return isinstance(error.source, httpx.TransportError)
    if isinstance(error, UnexpectedResponse):
        return error.status_code in _BUSY_STATUS
    if isinstance(error, grpc.Call):
        return error.code() in _BUSY_GRPC
    return isinstance(error, ResourceExhaustedResponse)


def _reason(error: Exception) -> str:
    if isinstance(error, ResponseHandlingException):
        return f"{error.source}; check that the server runs and that url and port are right"
    if isinstance(error, UnexpectedResponse):
        said = _said(error.content)
        if error.status_code in (401, 403):
            return f"{said} (status {error.status_code}); check api_key and what it may do"
        if error.status_code in _BUSY_STATUS:
            return f"{said} (status {error.status_code}); the server is busy or broken: see its log"
        return f"{said} (status {error.status_code})"
    if isinstance(error, grpc.Call):
        code, details = error.code(), error.details()
        if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
            return f"{details} ({code.name}); check api_key and what it may do"
        if code in _BUSY_GRPC:
            return (
                f"{details} ({code.name}); check that the server runs and that url and grpc_port "
                "are right"
            )
        return f"{details} ({code.name})"
    return str(error)


def _said(content: bytes) -> str:
    try:
        return str(json.loads(content)["status"]["error"])
    except (ValueError, KeyError, TypeError):
        return content[:200].decode("utf-8", "replace").strip() or "no explanation"


def _without_secrets(options: Mapping[str, object]) -> str:
    url = str(options.get("url") or options.get("location") or options.get("host") or "localhost")
    parts = urlsplit(url)
    if not parts.hostname:
        return url
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"

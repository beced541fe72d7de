"""A real HTTP server that speaks OpenAI's embeddings API, well or as badly as servers do.

    with EmbeddingServer() as server:
        server.then(drop_connection, status(500, {"error": "boom"}))   # the next two requests
        ...                                                             # the others are answered

Texts that share words have similar vectors, so searches find what they should.
"""

import base64
import gzip
import hashlib
import json
import os
import re
import socket
import ssl
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import Message
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import numpy as np
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from chunk_assets.embedding.config import DEFAULT_MODEL
from chunk_assets.embedding.huggingface_tokenizer import load_tokenizer
from chunk_assets.embedding.model_files import locate_model
from chunk_assets.embedding.tokenizer import Tokenizer

_WORD = re.compile(r"\w+|[^\w\s]")
_SPECIAL_TOKENS = 2


@dataclass
class Request:
    """One request as it arrived, and the means to answer it."""

    path: str
    headers: Message
    body: bytes
    server: "EmbeddingServer"
    handler: BaseHTTPRequestHandler
    arrived: float

    @property
    def json(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.body)
        return value

    @property
    def texts(self) -> list[str]:
        texts: list[str] = self.json["input"]
        return texts

    def answer(self) -> dict[str, Any]:
        """What a good server says."""
        return self.server.answer(self.json)

    def send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.handler.send_response(status)
        given = {"Content-Type": "application/json", **self.server.headers, **(headers or {})}
        for name, value in given.items():
            self.handler.send_header(name, value)
        self.handler.send_header("Content-Length", str(len(body)))
        self.handler.end_headers()
        self.handler.wfile.write(body)

    def send_json(
        self, status: int, value: object, headers: Mapping[str, str] | None = None
    ) -> None:
        self.send(status, json.dumps(value).encode(), headers)


Behaviour = Callable[[Request], None]
"""What is done with one request."""


@dataclass
class EmbeddingServer:
    """Answers well unless it is told otherwise; its settings may be changed while it runs."""

    dimension: int = 32
    seed: int = 0
    """Another seed is another model."""
    noise: float = 0.0
    """How much every component varies from answer to answer, as on a GPU."""
    reads_tokens: int = 10_000
    """What a text is cut after, in silence."""
    most_tokens: int = 10_000
    """What a text may have; a longer one is refused."""
    most_items: int = 2048
    """Texts per request; more are refused."""
    most_request_tokens: int = 300_000
    delay_s: float = 0.0
    """How long every answer takes."""
    counts: bool = True
    """Whether it says how many tokens it has read."""
    count_share: float = 1.0
    """How many tokens its own tokenizer makes of one."""
    key: str | None = None
    """The key it expects."""
    poison: str | None = None
    """It refuses a request with a text that holds this."""
    bad_vector_on: str | None = None
    bad_vector: Any = None
    """What a text that holds the former has instead of a vector."""
    limiter: "Limiter | None" = None
    tls: ssl.SSLContext | None = None
    headers: dict[str, str] = field(default_factory=dict)
    """Further headers of every answer."""
    requests: list[Request] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)
    """The texts whose vectors were sent, in order."""
    at_once: int = 0
    most_at_once: int = 0

    def __enter__(self) -> Self:
        self._script: deque[Behaviour] = deque()
        self._lock = threading.Lock()
        self._released = threading.Event()
        self._random = np.random.default_rng(0)
        self._tokenizer = _tokenizer()
        self._http = _Server(("127.0.0.1", 0), _handler_of(self))
        if self.tls is not None:
            self._http.socket = self.tls.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        scheme = "http" if self.tls is None else "https"
        return f"{scheme}://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def texts(self) -> list[str]:
        """Every text that was sent, in order."""
        return [text for request in self.requests for text in request.texts]

    def then(self, *behaviours: Behaviour) -> None:
        """What is done with the next requests, one each."""
        self._script.extend(behaviours)

    def release(self) -> None:
        """Let go of requests that hang."""
        self._released.set()

    def vector(self, text: str) -> list[float]:
        """Of words: the same for the same text."""
        counts = np.zeros(self.dimension)
        for word in _WORD.findall(text.lower()):
            digest = hashlib.blake2b(f"{self.seed}\n{word}".encode("utf-8", "replace")).digest()
            counts[digest[0] % self.dimension] += 1 if digest[1] & 1 else -1
            counts[digest[2] % self.dimension] += 0.5
        if not counts.any():
            counts[0] = 1.0
        if self.noise:
            with self._lock:
                counts += self._random.normal(0, self.noise, self.dimension)
        return [float(np.float32(each)) for each in counts]

    def answer(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        self.answered.extend(asked["input"])
        data = []
        for index, text in enumerate(asked["input"]):
            read = self._cut(text)
            vector: Any = self.vector(read)[: asked.get("dimensions", self.dimension)]
            if self.bad_vector_on and self.bad_vector_on in text:
                vector = self.bad_vector
            elif asked.get("encoding_format") == "base64":
                vector = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
            data.append({"object": "embedding", "index": index, "embedding": vector})
        value: dict[str, Any] = {"object": "list", "data": data, "model": asked["model"]}
        if self.counts:
            counts = [min(self.tokens(text), self.reads_tokens) for text in asked["input"]]
            read_tokens = int(sum(counts) * self.count_share)
            value["usage"] = {"prompt_tokens": read_tokens, "total_tokens": read_tokens}
        return value

    def tokens(self, text: str) -> int:
        """With special ones."""
        return self._tokenizer.count([text])[0] + _SPECIAL_TOKENS

    def _cut(self, text: str) -> str:
        room = self.reads_tokens - _SPECIAL_TOKENS
        offsets = self._tokenizer.offsets(text)
        return text if len(offsets) <= room else text[: offsets[room - 1, 1]]

    def handle(self, request: Request) -> None:
        with self._lock:
            self.requests.append(request)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            behaviour = self._script.popleft() if self._script else self._behave
        try:
            behaviour(request)
        finally:
            with self._lock:
                self.at_once -= 1

    def _behave(self, request: Request) -> None:
        time.sleep(self.delay_s)
        refusal = self._refusal(request)
        if refusal is not None:
            request.send_json(*refusal)
            return
        request.send_json(200, request.answer())

    def _refusal(self, request: Request) -> tuple[int, object, dict[str, str]] | None:
        texts = request.texts
        tokens = [self.tokens(text) for text in texts]
        if self.limiter is not None and not self.limiter.admits(request.arrived):
            headers = {"Retry-After": f"{self.limiter.wait(request.arrived):.6f}"}
            return 429, _error("Rate limit reached for requests", "requests"), headers
        if self.key and request.headers["Authorization"] != f"Bearer {self.key}":
            given = request.headers["Authorization"]
            return 401, _error(f"Incorrect API key provided: {given}.", "invalid_api_key"), {}
        if self.poison and any(self.poison in text for text in texts):
            return 400, _error("'$.input' is invalid.", None), {}
        if len(texts) > self.most_items:
            said = f"batch size {len(texts)} > maximum allowed batch size {self.most_items}"
            return 413, {"message": said, "code": 413, "type": "Validation"}, {}
        if max(tokens) > self.most_tokens:
            said = f"This model's maximum context length is {self.most_tokens} tokens."
            return 400, _error(said, None), {}
        if sum(tokens) > self.most_request_tokens:
            said = (
                f"Requested {sum(tokens)} tokens, max {self.most_request_tokens} tokens per request"
            )
            return 400, _error(said, "max_tokens_per_request"), {}
        return None

    def wait_for_release(self) -> None:
        self._released.wait(60)


def write_certificate(path: Path) -> Path:
    """A certificate that nobody has signed, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2100, 1, 1, tzinfo=UTC))
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return path


class Limiter:
    """Admits so many requests in any window of time, and says how long to wait.

    Args:
        requests: how many.
        window_s: in real seconds.
        speed: how many seconds of the client's clock a real one is.
    """

    def __init__(self, requests: int, window_s: float, speed: float = 1.0) -> None:
        self._requests = requests
        self._window_s = window_s
        self._speed = speed
        self._admitted: deque[float] = deque()
        self._lock = threading.Lock()
        self.refused = 0

    def admits(self, now: float) -> bool:
        with self._lock:
            while self._admitted and self._admitted[0] <= now - self._window_s:
                self._admitted.popleft()
            if len(self._admitted) < self._requests:
                self._admitted.append(now)
                return True
            self.refused += 1
            return False

    def wait(self, now: float) -> float:
        with self._lock:
            left = self._admitted[0] + self._window_s - now if self._admitted else 0.0
            return max(0.0, left) * self._speed


# What servers do wrong.


def status(code: int, value: object, headers: Mapping[str, str] | None = None) -> Behaviour:
    """Answer with a status and a JSON body."""
    return lambda request: request.send_json(code, value, headers)


def page(code: int, text: str, content_type: str = "text/html") -> Behaviour:
    """Answer with text, as proxies do."""
    return lambda request: request.send(code, text.encode(), {"Content-Type": content_type})


def changed(change: Callable[[dict[str, Any]], object]) -> Behaviour:
    """Answer well, but for a change of the body (made in place, or returned)."""

    def behave(request: Request) -> None:
        value = request.answer()
        replaced = change(value)
        request.send_json(200, value if replaced is None else replaced)

    return behave


def drop_connection(request: Request) -> None:
    """Close it without an answer."""
    request.handler.close_connection = True
    request.handler.connection.shutdown(socket.SHUT_RDWR)


def reset_in_the_body(request: Request) -> None:
    """Send half of the answer, then reset the connection."""
    _begin(request, json.dumps(request.answer()).encode())
    linger = struct.pack("ii", 1, 0)
    request.handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    request.handler.close_connection = True
    os.close(request.handler.connection.detach())  # closing alone would wait for open files of it


def end_in_the_body(request: Request) -> None:
    """Send half of the answer, then close the connection."""
    _begin(request, json.dumps(request.answer()).encode())
    drop_connection(request)


def close_after_the_answer(request: Request) -> None:
    """Promise to keep the connection, and close it."""
    request.send_json(200, request.answer())
    drop_connection(request)


def drip(request: Request) -> None:
    """Send the answer byte by byte, for ever."""
    body = json.dumps(request.answer()).encode()
    request.handler.send_response(200)
    request.handler.send_header("Content-Length", str(len(body)))
    request.handler.end_headers()
    for byte in body:
        request.handler.wfile.write(bytes([byte]))
        request.handler.wfile.flush()
        time.sleep(0.05)


def hang(request: Request) -> None:
    """Never answer."""
    request.server.wait_for_release()
    request.handler.close_connection = True


def compressed(request: Request) -> None:
    """Answer with gzip."""
    body = gzip.compress(json.dumps(request.answer()).encode())
    request.send(200, body, {"Content-Encoding": "gzip"})


def half_compressed(request: Request) -> None:
    """Answer with gzip that is damaged."""
    body = bytearray(gzip.compress(json.dumps(request.answer()).encode()))
    body[len(body) // 2 :] = b"\x00" * (len(body) - len(body) // 2)
    request.send(200, bytes(body), {"Content-Encoding": "gzip"})


def good(request: Request) -> None:
    """Answer as a good server does."""
    request.send_json(200, request.answer())


@cache
def _tokenizer() -> Tokenizer:
    return load_tokenizer(locate_model(DEFAULT_MODEL), DEFAULT_MODEL)


def _begin(request: Request, body: bytes) -> None:
    request.handler.send_response(200)
    request.handler.send_header("Content-Length", str(len(body)))
    request.handler.end_headers()
    request.handler.wfile.write(body[: len(body) // 2])
    request.handler.wfile.flush()


def _error(message: str, code: str | None) -> dict[str, object]:
    return {"error": {"message": message, "type": "invalid_request_error", "code": code}}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has gone away is no news."""


def _handler_of(server: EmbeddingServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = Request(self.path, self.headers, body, server, self, time.monotonic())
            server.handle(request)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    return Handler

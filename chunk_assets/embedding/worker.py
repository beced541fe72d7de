"""What a worker process does.

It reads requests from standard input and writes replies to standard output, both pickled. It ends
when its input does, so also when its parent is killed, whatever it is computing at that moment.
"""

import os
import pickle
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal, NoReturn

from chunk_assets.embedding.cuda import DeviceLostError
from chunk_assets.embedding.engine import Batch, Engine
from chunk_assets.errors import EmbeddingError

MOST_AT_ONCE = 8
"""How many requests are worked on at once."""
_WATCH_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Start:
    """Make the engine if there is none yet, and start it; answered with a `Started`."""

    make: bytes
    """A pickled callable that returns an engine: what cannot be read must not end the process."""
    threads: int


@dataclass(frozen=True, slots=True)
class Started:
    """What is known of an engine once it has started."""

    at_once: int
    batch_tokens: int


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to one request."""

    number: int
    outcome: Literal["done", "refused", "memory", "failed", "lost"]
    """`refused`: an EmbeddingError; `memory`: a smaller batch may succeed; `lost`: the process can
    compute nothing more and ends."""
    value: Any
    """The result, or the message of the error."""


class _Server:
    def __init__(self, replies: BinaryIO) -> None:
        self._replies = replies
        self._writing = threading.Lock()
        self._making = threading.Lock()
        self._engine: Engine | None = None

    def answer(self, number: int, request: Start | Batch) -> None:
        reply = self._reply(number, request)
        with self._writing:
            pickle.dump(reply, self._replies, protocol=pickle.HIGHEST_PROTOCOL)
            self._replies.flush()
        if reply.outcome == "lost":
            _end(1)

    def _reply(self, number: int, request: Start | Batch) -> Reply:
        try:
            return Reply(number, "done", self._result(request))
        except DeviceLostError as error:
            return Reply(number, "lost", str(error))
        except EmbeddingError as error:
            return Reply(number, "refused", str(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, the parent is to know
            short = self._engine is not None and self._engine.is_out_of_memory(error)
            text = f"{type(error).__name__}: {error}"
            return Reply(number, "memory" if short else "failed", text)

    def _result(self, request: Start | Batch) -> Any:  # noqa: ANN401
        if isinstance(request, Start):
            with self._making:
                if self._engine is None:
                    self._engine = pickle.loads(request.make)()  # noqa: S301 - from its own parent
                return Started(self._engine.start(request.threads), self._engine.batch_tokens)
        if self._engine is None:
            raise RuntimeError("a batch came before the engine was started")
        return self._engine.forward(request)


def main() -> NoReturn:
    """Serve the parent until it is gone."""
    # The parent is told of an interruption, and decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print must not stand among the replies
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()
    server = _Server(replies)
    # Requests are read while others are computed, so the end of the input is noticed at once.
    executor = ThreadPoolExecutor(MOST_AT_ONCE)
    while True:
        try:
            number, request = pickle.load(sys.stdin.buffer)  # noqa: S301 - from its own parent
        except EOFError:
            _end(0)
        executor.submit(server.answer, number, request)


def _watch(parent: int) -> None:
    """End with the parent, even where a process forked from it keeps the input open."""
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    _end(0)


def _end(code: int) -> NoReturn:
    """At once: threads that compute would be waited for otherwise."""
    os._exit(code)

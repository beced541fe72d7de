"""One worker process, seen from its parent."""

import contextlib
import itertools
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import IO, Any, cast

from chunk_assets.embedding.engine import Batch
from chunk_assets.embedding.worker import Reply, Start
from chunk_assets.errors import EmbeddingError

# Not `-m`: its classes would be those of `__main__`, which the parent does not know.
_PROGRAM = "from chunk_assets.embedding.worker import main; main()"
_SECONDS_TO_END = 2.0


class WorkerLostError(Exception):
    """The process ended before it answered; the message says how."""


class WorkerProcess:
    """A new process with an engine of its own.

    It is started as a program, not through `multiprocessing`: nothing of the caller's `__main__`
    runs again in it, and a process that may have no children of that kind can have it too. It is
    in a process group of its own, so an interruption from the keyboard reaches the parent alone.

    Args:
        environment: variables that are set for it beside those of this process.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        path = {"PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
            [sys.executable, "-P", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **path, **environment},
            process_group=0,
        )
        self._requests = cast(IO[bytes], self._process.stdin)
        self._numbers = itertools.count()
        self._writing = threading.Lock()
        self._state = threading.Lock()
        self._waiting: dict[int, Future[Any]] = {}
        self._ended: str | None = None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def id(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it can answer no more."""
        return self._ended is not None or self._process.poll() is not None

    def ask(self, request: Start | Batch) -> "Future[Any]":
        """Send a request; several may be under way.

        Returns:
            The answer, once it is there. It raises what the engine raised: EmbeddingError,
            MemoryError where memory was short, RuntimeError for all else; and WorkerLostError if
            the process ends before it answers.
        """
        number = next(self._numbers)
        answer: Future[Any] = Future()
        with self._state:
            if self._ended is not None:
                raise WorkerLostError(self._ended)
            self._waiting[number] = answer
        try:
            with self._writing:
                pickle.dump((number, request), self._requests, pickle.HIGHEST_PROTOCOL)
                self._requests.flush()
        except (OSError, ValueError):
            pass  # it has ended, which the reader tells to all who wait
        return answer

    def dismiss(self) -> None:
        """Let it end; `end` waits for that."""
        with contextlib.suppress(OSError):
            self._requests.close()

    def end(self) -> None:
        """End it, by force if it does not by itself within two seconds."""
        self.dismiss()
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if threading.current_thread() is not self._reader:
            self._reader.join(_SECONDS_TO_END)

    def _read(self) -> None:
        said = ""
        with cast(IO[bytes], self._process.stdout) as replies:
            try:
                while True:
                    reply: Reply = pickle.load(replies)  # noqa: S301 - from its own child
                    if reply.outcome == "lost":
                        said = f": {reply.value}"
                        break
                    self._resolve(reply)
            except EOFError:
                pass  # the usual end
            except Exception as error:  # noqa: BLE001 - half a reply can raise anything
                said = f": its reply cannot be read: {error!r}"
        try:
            code = self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self.dismiss()
        with self._state:
            self._ended = f"{_how(code)}{said}"
            waiting = list(self._waiting.values())
            self._waiting.clear()
        for answer in waiting:
            answer.set_exception(WorkerLostError(self._ended))

    def _resolve(self, reply: Reply) -> None:
        with self._state:
            answer = self._waiting.pop(reply.number)
        match reply.outcome:
            case "done":
                answer.set_result(reply.value)
            case "refused":
                answer.set_exception(EmbeddingError(reply.value))
            case "memory":
                answer.set_exception(MemoryError(reply.value))
            case _:
                answer.set_exception(RuntimeError(reply.value))


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = ", as the system does when memory is short" if name == "SIGKILL" else ""
    return f"was ended by {name}{hint}"

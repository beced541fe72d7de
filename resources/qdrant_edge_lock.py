"""One process at a time: a lock file that says who holds it, and a wait with an end."""

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from chunk_assets.errors import VectorStoreError

POLL_S = 0.05
NOTICE_EVERY_S = 30.0


class Patience:
    """A wait for something that others have, told from time to time, ended by a limit."""

    def __init__(self, what: str, limit_s: float, on_wait: Callable[[str], None] | None) -> None:
        self._what = what
        self._limit_s = limit_s
        self._on_wait = on_wait
        self._start = time.monotonic()
        self._next_notice_s = 0.0

    def wait(self, holder: str) -> None:
        """Sleep a moment, or give up.

        Raises:
            VectorStoreError: if the limit has passed, naming the holder and what to do.
        """
        waited = time.monotonic() - self._start
        if waited >= self._limit_s:
            raise VectorStoreError(
                f"{self._what} is still in use by {holder} after {waited:.0f} s. Wait for it to "
                f"finish, end it, or raise vector_store.lock_timeout_s (now {self._limit_s:g}); "
                "for several readers and writers at once use a Qdrant server (vector_store.kind: "
                "server)."
            )
        if self._on_wait is not None and waited >= self._next_notice_s:
            self._next_notice_s = waited + NOTICE_EVERY_S
            self._on_wait(
                f"{self._what} is in use by {holder}; waiting ({waited:.0f} s of at most "
                f"{self._limit_s:g} s)"
            )
        time.sleep(min(POLL_S, max(self._limit_s - waited, 0.001)))


@contextmanager
def held(path: Path, patience: Patience) -> Iterator[None]:
    """Hold the lock file at `path`; the operating system frees it if this process dies.

    Raises:
        VectorStoreError: if others hold it for too long.
    """
    lock = FileLock(path)
    record = path.with_suffix(".holder")
    while True:
        try:
            lock.acquire(blocking=False)
            break
        except Timeout:
            patience.wait(_holder(record))
        except OSError as error:
            raise VectorStoreError(
                f"{path} cannot be locked: {error}; the folder must be writable, for readers too"
            ) from error
    try:
        _sign(record)
        yield
    finally:
        try:
            with suppress(OSError):
                record.unlink(missing_ok=True)
        finally:
            lock.release()


def _sign(record: Path) -> None:
    # Only for the message to others; without it they wait just as well.
    with suppress(OSError):
        record.write_text(json.dumps({"pid": os.getpid(), "host": platform.node()}))


def _holder(record: Path) -> str:
    try:
        holder = json.loads(record.read_text())
        pid, host = int(holder["pid"]), str(holder["host"])
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
    if host != platform.node():
        return f"process {pid} on {host}"
    if pid == os.getpid():
        return f"another thread of this process ({pid})"
    # Left by a process that was killed: the present holder has not signed yet.
    return f"process {pid}" if _is_alive(pid) else "another process"


def _is_alive(pid: int) -> bool:
    if sys.platform == "win32":  # there, signal 0 ends the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

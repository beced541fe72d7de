"""One process at a time: a lock file that says who holds it, and a wait with an end."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from chunk_assets.errors import VectorStoreError
from resources.lock_holder import holder_of, sign

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
        sign(record)
        yield
    finally:
        try:
            with suppress(OSError):
                record.unlink(missing_ok=True)
        finally:
            lock.release()


def _holder(record: Path) -> str:
    holder = holder_of(record)
    if holder is None:
        return "another process"
    if holder.is_this_process:
        return f"another thread of this process ({holder.pid})"
    return str(holder)

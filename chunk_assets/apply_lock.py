"""One `apply` at a time on a storage: two would embed everything twice."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from chunk_assets.errors import ChunkAssetsError
from resources.lock_holder import holder_of, sign

POLL_S = 0.1
FIRST_NOTICE_S = 1.0
NOTICE_EVERY_S = 30.0


@contextmanager
def apply_lock(
    folder: Path, *, wait_s: float | None, on_wait: Callable[[str], None]
) -> Iterator[None]:
    """Hold the lock of a storage; the operating system frees it if this process dies.

    What others do meanwhile is seen only by who plans after the lock is had. Where no lock can be
    taken (a file system without locks), `on_wait` is told and the work goes on without: tables and
    collections stay right, but work may be done twice.

    Args:
        folder: the local folder of the storage; created where missing.
        wait_s: how long to wait for another `apply`; None: until it is done.
        on_wait: told who is waited for, after a second and then every 30.

    Raises:
        ChunkAssetsError: if another one holds it for longer than `wait_s`, naming it.
    """
    record = folder / "apply.holder"
    lock = FileLock(folder / "apply.lock")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _acquire(lock, record, wait_s, on_wait)
    except (OSError, NotImplementedError) as error:
        on_wait(
            f"{folder} cannot be locked ({error}): start no other `chunk-assets apply` on it "
            "until this one is done"
        )
    try:
        if lock.is_locked:
            sign(record)
        yield
    finally:
        if lock.is_locked:
            with suppress(OSError):
                record.unlink(missing_ok=True)
        lock.release()


def _acquire(
    lock: FileLock, record: Path, wait_s: float | None, on_wait: Callable[[str], None]
) -> None:
    started = time.monotonic()
    notice_s = FIRST_NOTICE_S
    while True:
        try:
            lock.acquire(blocking=False)
        except Timeout:
            waited = time.monotonic() - started
        else:
            return
        if wait_s is not None and waited >= wait_s:
            raise ChunkAssetsError(
                f"{_other(record)} is at work on {record.parent} and is not done after "
                f"{waited:.0f} s. Run the command again when it is, wait longer (--wait), or end "
                "that process: what it has done is kept."
            )
        if waited >= notice_s:
            notice_s = waited + NOTICE_EVERY_S
            on_wait(f"{_other(record)} is at work on {record.parent}: waiting until it is done")
        time.sleep(POLL_S if wait_s is None else min(POLL_S, max(wait_s - waited, 0.001)))


def _other(record: Path) -> str:
    holder = holder_of(record)
    if holder is None:
        return "Another `chunk-assets apply`"
    since = "" if holder.since is None else f", since {holder.since.astimezone():%Y-%m-%d %H:%M:%S}"
    return f"Another `chunk-assets apply` (process {holder.pid} on {holder.host}{since})"

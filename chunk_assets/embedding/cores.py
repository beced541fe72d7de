"""The cores of this machine, lent to one piece of work at a time.

Runs that embed side by side would each use all cores, and threads that outnumber the cores are slow
out of all proportion: with two OpenMP threads a core a model was measured to be fifty times slower.
"""

import getpass
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from chunk_assets.embedding.hardware import available_cores

_POLL_SECONDS = 0.05


@contextmanager
def lease_cores(most: int | None = None, folder: Path | None = None) -> Iterator[int]:
    """Hold as many cores as are free, at least one, and say how many these are.

    A core is held by a lock on a small file in the temporary folder, so it is free again when its
    holder ends, however that happens. While all are lent it waits for one. Where no file can be
    locked, whoever asks gets what it wants.

    Args:
        most: how many are wanted; default: all that this process may use.
        folder: where the lock files lie; default: one of this user's for the whole machine.
    """
    cores = available_cores()
    wanted = min(most or cores, cores)
    place = folder or Path(tempfile.gettempdir()) / f"chunk-assets-cores-{_user()}"
    with ExitStack() as held:
        yield _hold(wanted, [place / f"{core}.lock" for core in range(cores)], held)


def _hold(wanted: int, files: list[Path], held: ExitStack) -> int:
    try:
        files[0].parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            lent = 0
            for file in files:
                if lent < wanted and _take(file, held):
                    lent += 1
            if lent:
                return lent
            time.sleep(_POLL_SECONDS)
    except OSError:
        return wanted


def _take(file: Path, held: ExitStack) -> bool:
    lock = FileLock(file, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    held.callback(lock.release)
    return True


def _user() -> str:
    # A container's user may have no name.
    return str(os.getuid()) if hasattr(os, "getuid") else getpass.getuser()

"""Engines that show what worker processes do: fast, without a model, and harmful on request."""

import os
import resource
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from chunk_assets.embedding.config import Precision
from chunk_assets.embedding.cuda import DeviceLostError
from chunk_assets.embedding.engine import Batch
from chunk_assets.embedding.model_files import ModelFiles
from chunk_assets.embedding.torch_backend import TorchEngine
from chunk_assets.errors import EmbeddingError

KILL, KILL_ONCE, LOSE_DEVICE_ONCE, RAISE, REFUSE, WAIT, HOLD, RELEASE = range(101, 109)
"""Token ids, and what happens in a process that is given one."""


@dataclass
class TokenEngine:
    """Each row holds the sum of its tokens, their number, its process and how often that started.

    `folder` holds what processes leave for each other: a file per process that started.
    """

    folder: str
    memory_tokens: int = 1000
    parallel: int = 1
    precision: Precision = "float32"
    uses_cores: bool = True
    batch_tokens: int = 100
    fewest_tokens: int = 0
    length_step: int = 1
    most_padding: float = 0.0
    dies_at_start: bool = False
    name: str = "tokens"
    threads: int = 0

    def start(self, threads: int) -> int:
        (Path(self.folder) / f"{os.getpid()}.started").write_text(f"{threads}")
        if self.dies_at_start:
            os.kill(os.getpid(), signal.SIGKILL)
        self.threads = threads
        print("libraries print")  # noqa: T201 - it must not disturb the replies
        return self.parallel

    def forward(self, batch: Batch) -> npt.NDArray[np.float32]:
        ids = batch.token_ids
        if ids.size > self.memory_tokens:
            raise MemoryError(f"{ids.size} tokens are too many")
        if (ids == KILL).any() or ((ids == KILL_ONCE).any() and self._is_first("killed")):
            os.kill(os.getpid(), signal.SIGKILL)
        if (ids == LOSE_DEVICE_ONCE).any() and self._is_first("lost"):
            raise DeviceLostError("an assertion failed on the device")
        if (ids == RAISE).any():
            raise ZeroDivisionError("the kernel gave up")
        if (ids == REFUSE).any():
            raise EmbeddingError("this engine refuses")
        if (ids == WAIT).any():
            time.sleep(0.2)
        if (ids == RELEASE).any():
            self._released.touch()
        while (ids == HOLD).any() and not self._released.exists():
            time.sleep(0.01)
        rows = [ids.sum(axis=1), batch.lengths, np.full(len(ids), os.getpid())]
        return np.stack([*rows, np.full(len(ids), self.threads)], axis=1).astype(np.float32)

    def is_out_of_memory(self, error: Exception) -> bool:
        return isinstance(error, MemoryError)

    @property
    def _released(self) -> Path:
        return Path(self.folder) / "released"

    def _is_first(self, what: str) -> bool:
        try:
            (Path(self.folder) / what).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


def no_engine() -> TokenEngine:
    raise EmbeddingError("there is no such model")


class ShortOfMemory(TorchEngine):
    """The real engine in a process that can take so many more bytes once its model is loaded."""

    def __init__(self, files: ModelFiles, more_bytes: int, batch_tokens: int) -> None:
        super().__init__(files, "cpu", "float32", batch_tokens=batch_tokens)
        self._more_bytes = more_bytes

    def start(self, threads: int) -> int:
        at_once = super().start(threads)
        self.forward(Batch(np.ones((2, 8), dtype=np.int64), np.array([8, 8]), 0))
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + self._more_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        return at_once

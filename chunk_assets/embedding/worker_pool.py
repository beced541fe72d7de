"""An engine whose batches are computed by processes side by side."""

import contextlib
import logging
import os
import pickle
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from chunk_assets.embedding.config import Precision
from chunk_assets.embedding.engine import Batch, Engine
from chunk_assets.embedding.worker import MOST_AT_ONCE, Start, Started
from chunk_assets.embedding.worker_process import WorkerLostError, WorkerProcess
from chunk_assets.errors import EmbeddingError

_log = logging.getLogger(__name__)

Rows = npt.NDArray[np.float32]

# How many workers a batch may take with it before it is the batch that is to blame.
_TRIES = 3
# How often in a row a worker is started again that ends before it is ready.
_MOST_RESTARTS = 3


@dataclass(frozen=True, slots=True)
class Place:
    """Where one worker runs, and what."""

    make: Callable[[], Engine]
    """Returns an engine that is not started; can be pickled."""
    label: str
    """How errors call the place."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that are set for the process."""


class WorkerPool:
    """As many processes as places, each with an engine; whichever is idle takes the next batch.

    Processes start with the first call of `start` and stay as long as the pool. One that ends is
    started again, and its batch goes to whichever is idle then: nothing is lost. They end with the
    pool, with this process, or when it is killed.

    Args:
        places: one per worker; their engines have the same model and precision.
    """

    def __init__(self, places: Sequence[Place]) -> None:
        self._like = places[0].make()
        self._workers = [
            _Worker(number, len(places), place) for number, place in enumerate(places, 1)
        ]
        self._in_use = 0
        self._batch_tokens: int | None = None
        self._change = threading.Condition()
        self._owner = os.getpid()
        self._end = weakref.finalize(self, _end_all, self._workers, self._owner)

    @property
    def name(self) -> str:
        """What the engines are called."""
        return self._like.name

    @property
    def precision(self) -> Precision:
        """What the engines compute in."""
        return self._like.precision

    @property
    def uses_cores(self) -> bool:
        """Whether the work is done by the cores of this machine."""
        return self._like.uses_cores

    @property
    def batch_tokens(self) -> int:
        """How many positions of a batch run best on the worker that takes the fewest."""
        return self._batch_tokens or self._like.batch_tokens

    @property
    def fewest_tokens(self) -> int:
        """How many positions a batch must have for a row to be the same as in any other batch."""
        return self._like.fewest_tokens

    @property
    def length_step(self) -> int:
        """To a multiple of what inputs are padded."""
        return self._like.length_step

    @property
    def most_padding(self) -> float:
        """Which share of a batch may be padding."""
        return self._like.most_padding

    @property
    def processes(self) -> tuple[int, ...]:
        """The numbers of the processes that run now, by place."""
        return tuple(worker.process_id for worker in self._workers if worker.process_id)

    @property
    def batches(self) -> tuple[int, ...]:
        """How many batches each worker has computed so far, by place."""
        return tuple(worker.batches for worker in self._workers)

    def start(self, threads: int) -> int:
        """Start all workers that are needed and wait until they are ready.

        On a CPU the threads are shared out: there are never more than `threads`, so some workers
        stay out of use where there are more workers than threads.

        Returns:
            How many forward passes may run at once.

        Raises:
            EmbeddingError: if a worker cannot load the model, or ends again and again.
        """
        if os.getpid() != self._owner:
            raise EmbeddingError(
                "worker processes cannot be shared with a process that was forked from theirs: "
                "build the embedder after the fork"
            )
        number = min(len(self._workers), threads) if self.uses_cores else len(self._workers)
        share = threads // number if self.uses_cores else threads
        needed = self._workers[:number]
        for worker in needed:
            with contextlib.suppress(WorkerLostError):  # `ready` starts it again
                worker.begin(share)
        started = [worker.ready()[1] for worker in needed]
        with self._change:
            self._in_use = max(self._in_use, number)
            tokens = [worker.batch_tokens for worker in self._workers if worker.batch_tokens]
            self._batch_tokens = min(tokens)
            self._change.notify_all()
        return sum(each.at_once for each in started)

    def forward(self, batch: Batch) -> Rows:
        """Pooled vectors, not yet normalized: shape (rows, dimension).

        Raises:
            EmbeddingError: if worker after worker ends over the batch, or a worker ends again and
                again.
            MemoryError: if a worker's memory was short.
        """
        if not self._in_use:
            self.start(1)
        reason = ""
        for tried in range(1, _TRIES + 1):
            worker = self._take()
            try:
                return worker.compute(batch)
            except WorkerLostError as lost:
                reason = f"{worker} {lost}"
                if tried < _TRIES:
                    _log.warning("%s; its batch is computed again.", reason)
            finally:
                self._give_back(worker)
        rows, length = batch.token_ids.shape
        raise EmbeddingError(
            f"{_TRIES} worker processes in a row ended while they computed a batch of {rows} "
            f"inputs of {length} tokens; the last: {reason}. Lower batch_tokens or workers if "
            "memory is short; else one of these texts crashes the model."
        )

    def is_out_of_memory(self, error: Exception) -> bool:
        """Whether a smaller batch could have succeeded."""
        return isinstance(error, MemoryError)

    def close(self) -> None:
        """End all workers now; the pool can be used no more."""
        self._end()

    def _take(self) -> "_Worker":
        """The worker in use with the fewest batches under way, as soon as one has room."""
        with self._change:
            while True:
                free = [worker for worker in self._workers[: self._in_use] if worker.has_room]
                if free:
                    worker = min(free, key=lambda each: each.under_way)
                    worker.under_way += 1
                    return worker
                self._change.wait()

    def _give_back(self, worker: "_Worker") -> None:
        with self._change:
            worker.under_way -= 1
            self._change.notify_all()


class _Worker:
    """What stays of a worker while its process may change."""

    def __init__(self, number: int, of: int, place: Place) -> None:
        self._label = f"worker {number} of {of} on {place.label}"
        self._place = place
        self._lock = threading.Lock()
        self._process: WorkerProcess | None = None
        self._starting: Future[Started] | None = None
        self._threads = 1
        self._told: int | None = None
        self._false_starts = 0
        self._is_closed = False
        self.batches = 0
        self.under_way = 0
        self.at_once = 1
        self.batch_tokens: int | None = None

    def __str__(self) -> str:
        return self._label

    @property
    def process_id(self) -> int | None:
        """Of the process that runs now."""
        process = self._process
        return None if process is None or process.has_ended else process.id

    @property
    def has_room(self) -> bool:
        """Whether it can take another batch."""
        return self.under_way < self.at_once

    def begin(self, threads: int | None = None) -> tuple[WorkerProcess, "Future[Started]"]:
        """Start a process if none runs, and tell it how many threads to use; does not wait."""
        with self._lock:
            if self._is_closed:
                raise EmbeddingError(f"{self} was ended: build the embedder again")
            self._threads = threads or self._threads
            process = self._process
            if process is None or process.has_ended:
                if self._false_starts > _MOST_RESTARTS:
                    times, self._false_starts = self._false_starts, 0
                    raise EmbeddingError(
                        f"{self} ended {times} times before it was ready: what it wrote to "
                        "standard error says why. If memory is short, lower workers; to see it "
                        "fail in this process, set workers: 1."
                    )
                self._false_starts += 1
                process = self._process = WorkerProcess(self._place.environment)
                self._told = None
            if self._starting is None or self._told != self._threads:
                self._told = self._threads
                make = pickle.dumps(self._place.make)
                self._starting = process.ask(Start(make, self._threads))
            return process, self._starting

    def ready(self) -> tuple[WorkerProcess, Started]:
        """Wait until a process can compute; start it again if it ends before that."""
        while True:
            try:
                process, starting = self.begin()
                started = starting.result()
            except WorkerLostError as lost:
                _log.warning("%s %s before it was ready; it is started again.", self, lost)
                continue
            except EmbeddingError:
                self._told = None  # the next call asks again
                raise
            except (RuntimeError, MemoryError) as error:
                self._told = None
                raise EmbeddingError(f"{self} cannot start: {error}") from error
            self._false_starts = 0
            self.at_once = min(started.at_once, MOST_AT_ONCE)
            self.batch_tokens = started.batch_tokens
            return process, started

    def compute(self, batch: Batch) -> Rows:
        """Raises WorkerLostError if the process ends meanwhile."""
        process, _ = self.ready()
        rows: Rows = process.ask(batch).result()
        with self._lock:
            self.batches += 1
        return rows

    def dismiss(self) -> None:
        """Let the process end, and start none any more."""
        with self._lock:
            self._is_closed = True
            if self._process is not None:
                self._process.dismiss()

    def end(self) -> None:
        """Wait for the end of the process."""
        if self._process is not None:
            self._process.end()


def _end_all(workers: Sequence[_Worker], owner: int) -> None:
    if os.getpid() != owner:
        return  # a process forked from the owner: these are not its children
    for worker in workers:
        worker.dismiss()
    for worker in workers:
        worker.end()

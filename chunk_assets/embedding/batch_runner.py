"""Runs a local model on inputs of any number and length."""

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import numpy as np
import numpy.typing as npt

from chunk_assets.embedding.batching import by_length, next_batch
from chunk_assets.embedding.engine import Batch, Engine
from chunk_assets.embedding.usage import Usage
from chunk_assets.errors import EmbeddingError

_log = logging.getLogger(__name__)

Rows = npt.NDArray[np.float32]


class BatchRunner:
    """Makes batches, keeps several under way, and makes smaller ones when memory is short.

    Args:
        name: what errors call the embedder.
        engines: what runs the batches: the first that can load the model.
        batch_tokens: positions per batch; default: what suits the engine.
        longest: how many tokens an input of the model may have; default: any number.
    """

    def __init__(
        self,
        name: str,
        engines: Sequence[Engine],
        batch_tokens: int | None = None,
        longest: int | None = None,
    ) -> None:
        self._name = name
        self._longest = longest
        self._engine, *self._others = engines
        self._batch_tokens = batch_tokens
        self._usage = Usage()

    @property
    def engine(self) -> Engine:
        """What runs the batches now."""
        return self._engine

    @property
    def usage(self) -> Usage:
        """What was computed so far."""
        return self._usage

    def run(
        self, inputs: Sequence[Sequence[int]], prompt_tokens: int, threads: int
    ) -> Iterator[tuple[list[int], Rows]]:
        """Positions of inputs with their rows, in the order in which they are done.

        Args:
            inputs: token ids with special tokens, one list per input.
            prompt_tokens: how many tokens each of them begins with belong to the prompt.
            threads: how many threads of the processor may be used.

        Raises:
            EmbeddingError: if the model cannot be loaded or fails.
        """
        if not inputs:
            return
        at_once = self._start(threads)
        lengths = [self._padded(len(token_ids)) for token_ids in inputs]
        order = by_length(lengths)
        started = 0
        again: list[list[int]] = []
        under_way: dict[Future[Rows | None], tuple[list[int], Batch]] = {}
        with ThreadPoolExecutor(at_once, thread_name_prefix=f"embed-{self._name}") as pool:
            try:
                while again or under_way or started < len(order):
                    # One more than there are threads, so that none waits for a batch to be made.
                    while len(under_way) <= at_once and (again or started < len(order)):
                        if again:
                            positions = again.pop()
                        else:
                            positions = list(self._next_batch(order, lengths, started))
                            started += len(positions)
                        batch = _batch(
                            [inputs[position] for position in positions],
                            max(lengths[position] for position in positions),
                            prompt_tokens,
                        )
                        future = pool.submit(self._forward, batch)
                        under_way[future] = positions, batch
                    for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                        positions, batch = under_way.pop(future)
                        rows = future.result()
                        if rows is None:
                            middle = len(positions) // 2
                            again += [positions[:middle], positions[middle:]]
                        else:
                            self._count(batch)
                            yield positions, rows
            finally:
                for future in under_way:
                    future.cancel()

    def _start(self, threads: int) -> int:
        while True:
            try:
                return self._engine.start(threads)
            except EmbeddingError as error:
                if not self._others:
                    raise
                self._engine = self._others.pop(0)
                _log.warning("%s Now it is run with %s.", error, self._engine.name)

    def _padded(self, tokens: int) -> int:
        step = self._engine.length_step
        padded = -(-tokens // step) * step
        return padded if self._longest is None else max(tokens, min(padded, self._longest))

    def _next_batch(
        self, order: Sequence[int], lengths: Sequence[int], start: int
    ) -> Sequence[int]:
        if self._batch_tokens is None:
            self._batch_tokens = self._engine.batch_tokens
        return next_batch(order, lengths, start, self._batch_tokens, self._engine.most_padding)

    def _count(self, batch: Batch) -> None:
        computed = batch.filled(self._engine.fewest_tokens).token_ids.size
        own = int(batch.lengths.sum())
        self._usage += Usage(tokens=own, padding_tokens=computed - own)

    def _forward(self, batch: Batch) -> Rows | None:
        """None if memory was short; later batches are at most half as large then."""
        rows, length = batch.token_ids.shape
        filled = batch.filled(self._engine.fewest_tokens)
        try:
            vectors = self._engine.forward(filled)[:rows]
        except EmbeddingError:
            raise
        except Exception as error:
            if not self._engine.is_out_of_memory(error):
                raise EmbeddingError(
                    f"embedder {self._name!r}: the model failed on a batch of {rows} inputs of "
                    f"{length} tokens: {error}"
                ) from error
            if rows == 1:
                raise EmbeddingError(
                    f"embedder {self._name!r}: memory is too short for a single input of {length} "
                    "tokens: lower max_tokens, or run it on a device with more memory"
                ) from error
            self._batch_tokens = min(self._batch_tokens or rows * length, rows * length // 2)
            return None
        return vectors


def _batch(inputs: Sequence[Sequence[int]], length: int, prompt_tokens: int) -> Batch:
    lengths = np.array([len(token_ids) for token_ids in inputs], dtype=np.int64)
    token_ids = np.zeros((len(inputs), length), dtype=np.int64)
    for row, ids in zip(token_ids, inputs, strict=True):
        row[: len(ids)] = ids
    return Batch(token_ids, lengths, prompt_tokens)

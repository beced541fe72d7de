"""The order in which a batch goes to a GPU and its result comes back, with recorded streams.

No stream and no pinned memory is real here: a GPU is needed for that.
"""

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

from chunk_assets.embedding import cuda


class Recorder:
    """Notes what is done on which stream; stands in for `torch.cuda`."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.streams = 0
        self.events = 0
        self.current = threading.local()

    def note(self, what: str) -> None:
        self.notes.append(f"{what} on {getattr(self.current, 'stream', 'default')}")

    def make_stream(self) -> Any:  # noqa: ANN401 - has what the code uses of a stream
        recorder = self

        class Stream:
            def __init__(self) -> None:
                self.name = f"s{recorder.streams}"
                recorder.streams += 1

            def wait_event(self, event: Any) -> None:  # noqa: ANN401
                recorder.notes.append(f"{self.name} waits for {event.name}")

        return Stream()

    def make_event(self) -> Any:  # noqa: ANN401
        recorder = self

        class Event:
            def __init__(self) -> None:
                self.name = f"e{recorder.events}"
                recorder.events += 1

            def record(self) -> None:
                recorder.note(f"record {self.name}")

            def synchronize(self) -> None:
                recorder.notes.append(f"thread waits for {self.name}")

        return Event()

    @contextlib.contextmanager
    def stream(self, stream: Any) -> Iterator[None]:  # noqa: ANN401
        self.current.stream = stream.name
        yield
        self.current.stream = "default"


class Noted(torch.Tensor):
    """A tensor that notes copies."""

    recorder: Recorder

    def to(self, *args: Any, **kwargs: Any) -> torch.Tensor:  # noqa: ANN401
        assert kwargs == {"non_blocking": True}
        self.recorder.note("copy in")
        return self.as_subclass(torch.Tensor)

    def copy_(self, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
        assert non_blocking
        self.recorder.note("copy out")
        return super().copy_(source)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()

    def noted(tensor: torch.Tensor) -> Noted:
        made: Noted = tensor.as_subclass(Noted)
        made.recorder = recorder
        return made

    monkeypatch.setattr(torch.cuda, "synchronize", lambda: recorder.note("synchronize"))
    monkeypatch.setattr(torch.cuda, "device", lambda device: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "stream", recorder.stream)
    monkeypatch.setattr(cuda, "_stream", recorder.make_stream)
    monkeypatch.setattr(cuda, "_event", recorder.make_event)
    monkeypatch.setattr(cuda, "_pinned", lambda array: noted(torch.from_numpy(array)))
    monkeypatch.setattr(cuda, "_pinned_like", lambda tensor: noted(torch.empty_like(tensor)))
    return recorder


def test_a_result_is_copied_after_it_was_computed_and_read_after_it_was_copied(
    recorder: Recorder,
) -> None:
    def compute(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        recorder.note("compute")
        return (ids * mask).float()

    lanes = cuda.CudaLanes("cuda:0", 1)
    ids = np.array([[1, 2], [3, 4]], dtype=np.int64)
    rows = lanes.run([ids, np.array([[1, 1], [1, 0]])], compute)

    assert rows.tolist() == [[1, 2], [3, 0]]
    assert recorder.notes == [
        "synchronize on default",  # the weights are there
        "copy in on s0",
        "copy in on s0",
        "compute on s0",
        "record e0 on s0",
        "s1 waits for e0",
        "copy out on s1",
        "record e1 on s1",
        "thread waits for e1",
    ]


def test_a_lane_whose_batch_failed_takes_the_next_one(recorder: Recorder) -> None:
    lanes = cuda.CudaLanes("cuda:0", 1)

    def fail(ids: torch.Tensor) -> torch.Tensor:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory.")

    ids = np.ones((1, 2), dtype=np.int64)
    with pytest.raises(torch.cuda.OutOfMemoryError):
        lanes.run([ids], fail)
    assert lanes.run([ids], torch.Tensor.float).tolist() == [[1, 1]]


def test_batches_under_way_at_once_use_streams_of_their_own(recorder: Recorder) -> None:
    lanes = cuda.CudaLanes("cuda:0", 2)
    together = threading.Barrier(2, timeout=30)

    def compute(ids: torch.Tensor) -> torch.Tensor:
        together.wait()
        recorder.note("compute")
        return ids.float()

    with ThreadPoolExecutor(2) as threads:
        for number in range(2):
            threads.submit(lanes.run, [np.full((1, 2), number, dtype=np.int64)], compute)

    assert {note for note in recorder.notes if note.startswith("compute")} == {
        "compute on s0",
        "compute on s2",
    }


def test_memory_is_measured_against_what_is_free_or_held_in_vain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "device", lambda device: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: None)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 100)
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda: 150)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (750, 1000))
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 300)
    called: list[bool] = []

    assert cuda.peak_share("cuda:0")(lambda: called.append(True)) == (300 - 100) / (750 + 50)
    assert called


def test_float32_products_are_float32_and_their_sums_are_too() -> None:
    matmul = torch.backends.cuda.matmul
    before = (
        torch.get_float32_matmul_precision(),
        matmul.allow_bf16_reduced_precision_reduction,
        matmul.allow_fp16_reduced_precision_reduction,
    )
    try:
        torch.set_float32_matmul_precision("high")
        assert matmul.allow_tf32
        cuda.use_exact_products()
        assert not matmul.allow_tf32
        assert not matmul.allow_bf16_reduced_precision_reduction
        assert not matmul.allow_fp16_reduced_precision_reduction
    finally:
        precision, *halves = before
        torch.set_float32_matmul_precision(precision)
        matmul.allow_bf16_reduced_precision_reduction = halves[0]
        matmul.allow_fp16_reduced_precision_reduction = halves[1]

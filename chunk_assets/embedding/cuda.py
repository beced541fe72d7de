"""What CUDA has of its own: streams, pinned memory, its memory errors and its precision switches.

Nothing here is reached on another device.
"""

import queue
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from chunk_assets.errors import EmbeddingError

if TYPE_CHECKING:
    import torch

LANES = 2
"""How many batches are under way at once: one is computed while the next one is launched."""

_OUT_OF_MEMORY = ("out of memory", "cublas_status_alloc_failed", "cudnn_status_alloc_failed")


class DeviceLostError(EmbeddingError):
    """After such an error nothing more can be computed on the device in this process."""


@dataclass(frozen=True, slots=True)
class _Lane:
    compute: "torch.cuda.Stream"
    copy: "torch.cuda.Stream"


class CudaLanes:
    """Runs batches on a CUDA device, each on a stream of its own.

    Inputs go there from pinned memory, so that the copy does not hold up the thread. Results come
    back on a second stream into pinned memory: the lane's own stream is not held up by that, and
    the thread waits for its own copy alone, without spinning and without the interpreter's lock.
    """

    def __init__(self, device: str, number: int = LANES) -> None:
        import torch

        self._device = torch.device(device)
        self._free: queue.SimpleQueue[_Lane] = queue.SimpleQueue()
        with torch.cuda.device(self._device):
            # These streams do not wait for the default one, on which the weights were copied.
            torch.cuda.synchronize()
            for _ in range(number):
                self._free.put(_Lane(_stream(), _stream()))

    def run(
        self,
        inputs: Sequence[npt.NDArray[np.int64]],
        compute: Callable[..., "torch.Tensor"],
    ) -> npt.NDArray[np.float32]:
        """Copy inputs to the device, compute there, copy the result back and wait for it.

        Args:
            inputs: what `compute` is called with, as tensors of the device.
            compute: makes one tensor of float32 of them without waiting for the device.
        """
        import torch

        lane = self._free.get()
        try:
            with torch.cuda.device(self._device):
                with torch.cuda.stream(lane.compute):
                    tensors = [
                        _pinned(array).to(self._device, non_blocking=True) for array in inputs
                    ]
                    rows = compute(*tensors)
                    computed = _event()
                    computed.record()
                with torch.cuda.stream(lane.copy):
                    lane.copy.wait_event(computed)
                    result = _pinned_like(rows)
                    result.copy_(rows, non_blocking=True)
                    copied = _event()
                    copied.record()
                # `rows` is referred to until its copy is done: its memory cannot be given to the
                # next batch before that, so nothing need be recorded with the allocator.
                copied.synchronize()
        finally:
            self._free.put(lane)
        vectors: npt.NDArray[np.float32] = result.numpy()
        return vectors


def _stream() -> "torch.cuda.Stream":
    import torch

    return torch.cuda.Stream()  # type: ignore[no-untyped-call]


def _event() -> "torch.cuda.Event":
    """Whoever waits for it sleeps."""
    import torch

    return torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]


def _pinned(array: npt.NDArray[np.int64]) -> "torch.Tensor":
    import torch

    return torch.from_numpy(np.ascontiguousarray(array)).pin_memory()


def _pinned_like(tensor: "torch.Tensor") -> "torch.Tensor":
    import torch

    return torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)


def peak_share(device: str) -> Callable[[Callable[[], object]], float]:
    """A function that tells which share of the device's free memory a call takes at its peak.

    What this process holds without using it counts as free.
    """
    import torch

    def share(call: Callable[[], object]) -> float:
        with torch.cuda.device(device):
            before = torch.cuda.memory_allocated()
            free, _ = torch.cuda.mem_get_info()
            free += torch.cuda.memory_reserved() - before
            torch.cuda.reset_peak_memory_stats()
            call()
            return (torch.cuda.max_memory_allocated() - before) / max(1, free)

    return share


def use_exact_products() -> None:
    """Keep TF32 out of float32 products, and half precision out of the sums of half-size ones.

    Both are switches of the whole process. The first is off by default, but whoever uses torch in
    the same process may have turned it on; the second is on by default.
    """
    import torch

    # The one switch that old and new versions have, and that keeps their others in agreement.
    torch.set_float32_matmul_precision("highest")
    matmul = torch.backends.cuda.matmul
    matmul.allow_bf16_reduced_precision_reduction = False
    matmul.allow_fp16_reduced_precision_reduction = False


def is_out_of_memory(error: Exception) -> bool:
    """Whether the device had too little memory for a batch."""
    import torch

    if isinstance(error, torch.cuda.OutOfMemoryError):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(words in text for words in _OUT_OF_MEMORY)


def is_device_lost(error: Exception) -> bool:
    """Whether the device refuses all further work of this process (an assertion in a kernel)."""
    import torch

    kind = getattr(torch, "AcceleratorError", None)  # since torch 2.8
    if kind is not None and isinstance(error, kind):
        return not is_out_of_memory(error)
    text = str(error)
    return isinstance(error, RuntimeError) and "CUDA error:" in text and not is_out_of_memory(error)

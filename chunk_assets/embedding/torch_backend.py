"""The backend for every device, and the reference: sentence-transformers on torch."""

import functools
import os
import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from chunk_assets.embedding import cuda
from chunk_assets.embedding.config import EmbedderConfig, Precision
from chunk_assets.embedding.embedder import Embedder
from chunk_assets.embedding.engine import Batch, Engine
from chunk_assets.embedding.hardware import (
    available_cores,
    resolve_device,
    resolve_precision,
    resolve_workers,
    visible_gpus,
)
from chunk_assets.embedding.local_embedder import LocalEmbedder
from chunk_assets.embedding.model_files import ModelFiles, locate_model, read_model_files
from chunk_assets.embedding.token_budget import (
    SMALLEST_TOKENS,
    TYPICAL_LENGTH,
    TokenBudget,
    find_token_budget,
    measure_batches,
)
from chunk_assets.embedding.torch_model import TorchModel
from chunk_assets.embedding.worker_pool import Place, WorkerPool
from chunk_assets.errors import EmbeddingError

# OpenMP threads that spin while they wait take the cores from whoever else needs them: with other
# processes at work, two spinning threads embedded 4 times slower than two that sleep. OpenMP reads
# this once, when torch is first imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

_CPU_BATCH_TOKENS = 1024
_OTHER_BATCH_TOKENS = 16_384
# Neighbours of a long sorted list differ little in length; this lets a short list fill its batches.
_CUDA_MOST_PADDING = 0.1

# Matrix products of few rows take other kernels, which add up in another order. In float32 a text
# alone was measured to differ in the last bits from the same text in a batch up to 11 tokens with
# 2 to 8 threads, 27 with 16 and 38 with 32. Smaller batches are filled up by repeating their rows,
# with a wide margin, so that every product takes the same kernel.
_FEWEST_TOKENS = 64
_FEWEST_TOKENS_PER_THREAD = 4

# On a CPU short memory has no exception type of its own. The second is what oneDNN was seen to say
# where there was memory for the tensors, but none for its own use.
_CPU_MEMORY = ("DefaultCPUAllocator", "could not create a primitive")


def build_torch_embedder(name: str, config: EmbedderConfig) -> Embedder:
    """An embedder of a local, packaged or hub model. Loads no library and no weights.

    Raises:
        EmbeddingError: if the model cannot be found or is not supported.
    """
    files = read_model_files(config.model, locate_model(config.model, config.revision))
    device, _ = resolve_device(config)
    precision, _ = resolve_precision(config)
    workers, _ = resolve_workers(config)

    def make(on: str) -> functools.partial["TorchEngine"]:
        return functools.partial(
            TorchEngine,
            files,
            on,
            precision,
            batch_tokens=config.batch_tokens,
            most_padding=config.most_padding,
            compiled=config.compile,
        )

    if workers == 1:
        return LocalEmbedder(name, config, files, make(device)())
    engine: Engine = WorkerPool(
        [Place(make(on), label, environment) for on, label, environment in _places(device, workers)]
    )
    return LocalEmbedder(name, config, files, engine)


def _places(device: str, workers: int) -> Sequence[tuple[str, str, dict[str, str]]]:
    """Of each worker: its device as it sees it, as its parent does, and what must be set for it.

    A worker sees the GPU it runs on and no other one, so it can take no memory on another.
    """
    gpus = visible_gpus() if device.startswith("cuda") else ()
    _, _, index = device.partition(":")
    if index:
        gpus = gpus[int(index) : int(index) + 1]
    if not gpus:
        return [(device, device, {})] * workers
    places: list[tuple[str, str, dict[str, str]]] = []
    for worker in range(workers):
        gpu = gpus[worker % len(gpus)]
        label = device if index else f"cuda:{worker % len(gpus)}"
        places.append(("cuda:0", label, {"CUDA_VISIBLE_DEVICES": gpu.visible_as}))
    return places


class TorchEngine:
    """A sentence-transformers model whose tokens are made elsewhere.

    Args:
        files: the model.
        device: `cpu`, `cuda`, `cuda:N`, `mps` or `xpu`.
        precision: what the transformer computes in.
        batch_tokens: positions per batch; default: 1,024 on a CPU, on a CUDA device what a probe
            finds when the engine starts.
        most_padding: the share of a batch that may be padding; default: 0.1 on a CUDA device, where
            small batches of equal length would leave most of it idle, else 0.
        compiled: whether the transformer is compiled.
    """

    def __init__(
        self,
        files: ModelFiles,
        device: str,
        precision: Precision,
        *,
        batch_tokens: int | None = None,
        most_padding: float | None = None,
        compiled: bool = False,
    ) -> None:
        self._files = files
        self._device = "cuda:0" if device == "cuda" else device
        self._precision: Precision = precision
        self._compiled = compiled
        self._budget: TokenBudget | None = None
        self._batch_tokens = batch_tokens
        if batch_tokens is None and not self._is_cuda:
            self._batch_tokens = _CPU_BATCH_TOKENS if self.uses_cores else _OTHER_BATCH_TOKENS
        if most_padding is None:
            most_padding = _CUDA_MOST_PADDING if self._is_cuda else 0.0
        self._most_padding = most_padding
        self._is_compiled = False
        self._threads = 1
        self._starting = threading.Lock()

    @property
    def name(self) -> str:
        """What it is called where it is said what computed a vector."""
        return "torch"

    @property
    def precision(self) -> Precision:
        """What the transformer computes in."""
        return self._precision

    @property
    def uses_cores(self) -> bool:
        """Whether it runs on the processor."""
        return self._device == "cpu"

    @property
    def batch_tokens(self) -> int:
        """How many tokens of a batch run best: on a CPU what its caches hold."""
        return self._batch_tokens or _OTHER_BATCH_TOKENS

    @property
    def budget(self) -> TokenBudget | None:
        """What the probe found; None where there was none."""
        return self._budget

    @property
    def fewest_tokens(self) -> int:
        """How many positions every matrix product needs to take the same kernel."""
        if not self.uses_cores:
            return 0
        return max(_FEWEST_TOKENS, _FEWEST_TOKENS_PER_THREAD * available_cores())

    @property
    def length_step(self) -> int:
        """No input is padded by itself."""
        return 1

    @property
    def most_padding(self) -> float:
        """Which share of a batch may be padding."""
        return self._most_padding

    def start(self, threads: int) -> int:
        """Load the model if it is not; two batches at once on a CUDA device, else one.

        Raises:
            EmbeddingError: if it cannot be loaded or compiled.
        """
        self._threads = threads
        with self._starting:
            _ = self._model
            if self._is_cuda:
                _ = self._lanes
            if self._compiled and not self._is_compiled:
                self._compile()
            if self._batch_tokens is None:
                self._budget = self._find_budget()
                self._batch_tokens = self._budget.tokens
        return cuda.LANES if self._is_cuda else 1

    def forward(self, batch: Batch) -> npt.NDArray[np.float32]:
        """Pooled vectors, not yet normalized: shape (rows, dimension).

        Raises:
            MemoryError: if memory was short; what the batch had taken is free again.
            DeviceLostError: if the device can compute nothing more in this process.
        """
        try:
            return self._forward(batch)
        except Exception as error:
            if self._is_cuda and cuda.is_device_lost(error):
                raise cuda.DeviceLostError(
                    f"{self._device} failed, and this process can use it no more: {error}. Start "
                    "again; with several workers a new process takes over by itself."
                ) from error
            if not self.is_out_of_memory(error):
                raise
            short = str(error)
        # Only now is what the frames of the error held free to be given back.
        if self._is_cuda:
            import torch

            torch.cuda.empty_cache()
        raise MemoryError(short)

    def is_out_of_memory(self, error: Exception) -> bool:
        """Whether a smaller batch could have succeeded."""
        if isinstance(error, MemoryError) or cuda.is_out_of_memory(error):
            return True
        text = str(error)
        return isinstance(error, RuntimeError) and any(words in text for words in _CPU_MEMORY)

    def _forward(self, batch: Batch) -> npt.NDArray[np.float32]:
        import torch

        inputs = [batch.token_ids, *([batch.mask] if batch.is_padded else [])]

        def compute(token_ids: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
            return self._model.pooled(token_ids, mask, batch.prompt_tokens)

        if self._is_cuda:
            return self._lanes.run(inputs, compute)
        # Every thread has a number of its own.
        if self.uses_cores and torch.get_num_threads() != self._threads:
            torch.set_num_threads(self._threads)
        vectors: npt.NDArray[np.float32] = (
            compute(*(torch.from_numpy(array).to(self._device) for array in inputs)).cpu().numpy()
        )
        return vectors

    def _compile(self) -> None:
        """Compile for batches with and without padding, before several threads need it at once."""
        ids = np.zeros((2, 16), dtype=np.int64)
        try:
            self._model.compile()
            for second in (16, 8):
                self._forward(Batch(ids, np.array([16, second], dtype=np.int64), 0))
        except Exception as error:
            raise EmbeddingError(
                f"model {self._files.source!r} cannot be compiled for {self._device}: "
                f"{str(error).strip().splitlines()[0]}. That needs a C++ compiler on a CPU and "
                "Triton on a GPU: install it, or remove compile."
            ) from error
        self._is_compiled = True

    def _find_budget(self) -> TokenBudget:
        longest = self._files.sequence_limit or TYPICAL_LENGTH
        measure = measure_batches(
            self.forward,
            self._model.vocabulary,
            min(TYPICAL_LENGTH, longest),
            cuda.peak_share(self._device),
        )
        try:
            measure(SMALLEST_TOKENS)  # the very first batch loads kernels
        except MemoryError as error:
            raise EmbeddingError(
                f"{self._device} has too little free memory for a batch of {SMALLEST_TOKENS} "
                f"tokens beside model {self._files.source!r}: {error}. Free some, or use another "
                "device."
            ) from error
        return find_token_budget(measure)

    @property
    def _is_cuda(self) -> bool:
        return self._device.startswith("cuda")

    @functools.cached_property
    def _lanes(self) -> cuda.CudaLanes:
        return cuda.CudaLanes(self._device)

    @functools.cached_property
    def _model(self) -> TorchModel:
        if self._is_cuda:
            cuda.use_exact_products()
        return TorchModel(self._files, self._device, self._precision)

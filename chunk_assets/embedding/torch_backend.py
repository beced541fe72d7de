"""The reference backend: sentence-transformers on torch."""

import functools
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from chunk_assets.embedding.config import EmbedderConfig, Precision
from chunk_assets.embedding.embedder import Embedder
from chunk_assets.embedding.hardware import available_cores, resolve_device, resolve_precision
from chunk_assets.embedding.local_embedder import LocalEmbedder
from chunk_assets.embedding.model_files import ModelFiles, locate_model, read_model_files
from chunk_assets.errors import EmbeddingError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

# OpenMP threads that spin while they wait take the cores from whoever else needs them: with other
# processes at work, two spinning threads embedded 4 times slower than two that sleep. OpenMP reads
# this once, when torch is first imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

_CPU_BATCH_TOKENS = 1024
_DEVICE_BATCH_TOKENS = 16_384

# Matrix products of few rows take other kernels, which add up in another order. In float32 a text
# alone was measured to differ in the last bits from the same text in a batch up to 11 tokens with
# 2 to 8 threads, 27 with 16 and 38 with 32. Smaller batches are filled up by repeating their rows,
# with a wide margin, so that every product takes the same kernel.
_FEWEST_TOKENS = 64
_FEWEST_TOKENS_PER_THREAD = 4


def build_torch_embedder(name: str, config: EmbedderConfig) -> Embedder:
    """An embedder of a local, packaged or hub model. Loads no library and no weights.

    Raises:
        EmbeddingError: if the model cannot be found or is not supported.
    """
    files = read_model_files(config.model, locate_model(config.model, config.revision))
    device, _ = resolve_device(config)
    precision, _ = resolve_precision(config)
    return LocalEmbedder(name, config, files, TorchEngine(files, device, precision, config.threads))


class TorchEngine:
    """A sentence-transformers model whose tokens are made elsewhere.

    The transformer runs in the given precision; pooling and what follows it run in float32, so
    that nothing is rounded twice.
    """

    def __init__(
        self, files: ModelFiles, device: str, precision: Precision, threads: int | None
    ) -> None:
        self._files = files
        self._device = device
        self._precision = precision
        self._threads = threads

    @property
    def family(self) -> str:
        """What stands in the fingerprint."""
        return "torch"

    @property
    def precision(self) -> Precision:
        """What the transformer computes in."""
        return self._precision

    @property
    def batch_tokens(self) -> int:
        """How many tokens of a batch run best: on a CPU what its caches hold."""
        return _CPU_BATCH_TOKENS if self._device == "cpu" else _DEVICE_BATCH_TOKENS

    def forward(
        self, token_ids: npt.NDArray[np.int64], prompt_tokens: int
    ) -> npt.NDArray[np.float32]:
        """Pooled vectors, not yet normalized: shape (rows, dimension)."""
        import torch

        model = self._model
        rows, length = token_ids.shape
        fewest = max(_FEWEST_TOKENS, _FEWEST_TOKENS_PER_THREAD * torch.get_num_threads())
        repeats = -(-fewest // (rows * length))
        with torch.inference_mode():
            inputs = torch.from_numpy(np.tile(token_ids, (repeats, 1))).to(model.device)
            features: dict[str, Any] = {
                "input_ids": inputs,
                "attention_mask": torch.ones_like(inputs),
            }
            transformer, *others = model
            features = transformer(features)
            features = {
                key: value.float()
                if isinstance(value, torch.Tensor) and value.is_floating_point()
                else value
                for key, value in features.items()
            }
            if prompt_tokens:
                features["prompt_length"] = prompt_tokens
            for module, described in zip(others, self._files.modules[1:], strict=True):
                if described.kind != "Normalize":
                    features = module(features)
            vectors: npt.NDArray[np.float32] = features["sentence_embedding"].cpu().numpy()
        return vectors[:rows]

    def is_out_of_memory(self, error: Exception) -> bool:
        """Whether a smaller batch could have succeeded."""
        import torch

        if isinstance(error, MemoryError | torch.OutOfMemoryError):
            return True
        # The CPU's allocator has no exception type of its own.
        return isinstance(error, RuntimeError) and "not enough memory" in str(error)

    @functools.cached_property
    def _model(self) -> "SentenceTransformer":
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        if self._device == "cpu":
            cores = available_cores()
            torch.set_num_threads(min(self._threads or torch.get_num_threads(), cores))
        bar_was_on = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            model = SentenceTransformer(
                str(self._files.folder),
                device=self._device,
                local_files_only=True,
                model_kwargs={"dtype": getattr(torch, self._precision)},
            )
        except Exception as error:
            raise EmbeddingError(
                f"model {self._files.source!r} cannot be loaded from {self._files.folder} on "
                f"{self._device} in {self._precision}: {error}. Fetch it again if it is damaged; "
                "a model that brings its own code needs backend: custom."
            ) from error
        finally:
            if bar_was_on:
                logging.enable_progress_bar()  # type: ignore[no-untyped-call]
        return model.eval()

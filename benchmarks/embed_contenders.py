"""Ways to embed the same texts with the same weights. Each one runs in a process of its own.

The file imports nothing of this project at its top: it also runs in an environment that has only
fastembed.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_FASTEMBED_MODEL = "sentence-transformers/all-MiniLM-L6-v2"

Embed = Callable[[Sequence[str]], npt.NDArray[np.float32]]


def open_contender(name: str, model: str, onnx: str) -> Embed:
    """Load a way of embedding.

    Args:
        name: a key of `CONTENDERS`.
        model: the folder of the model.
        onnx: a folder with the same model as `model.onnx`.
    """
    return CONTENDERS[name](model, onnx)


def _ours(**settings: object) -> Callable[[str, str], Embed]:
    def load(model: str, _: str) -> Embed:
        from chunk_assets.embedding.config import EmbedderConfig
        from chunk_assets.embedding.registry import build_embedder

        config = EmbedderConfig.model_validate({"model": model, "device": "cpu", **settings})
        return build_embedder("bench", config).embed_passages

    return load


def _sentence_transformers(
    batch_size: int | None = None, dtype: str | None = None
) -> Callable[[str, str], Embed]:
    def load(model: str, _: str) -> Embed:
        import torch
        from sentence_transformers import SentenceTransformer

        loading = None if dtype is None else {"dtype": getattr(torch, dtype)}
        encoder: Any = SentenceTransformer(
            model, device="cpu", local_files_only=True, model_kwargs=loading
        )
        settings = {} if batch_size is None else {"batch_size": batch_size}
        return lambda texts: np.asarray(encoder.encode(list(texts), **settings), dtype=np.float32)

    return load


def _fastembed(batch_size: int | None = None) -> Callable[[str, str], Embed]:
    def load(_: str, onnx: str) -> Embed:
        import fastembed

        encoder: Any = fastembed.TextEmbedding(_FASTEMBED_MODEL, specific_model_path=onnx)
        settings = {} if batch_size is None else {"batch_size": batch_size}
        return lambda texts: np.stack(list(encoder.embed(list(texts), **settings)))

    return load


def _chunkshop(_: str, __: str) -> Embed:
    """Its provider around fastembed, where it is installed beside it and finds the model."""
    from chunkshop.config import FastembedEmbedder
    from chunkshop.embedders.fastembed_provider import FastembedProvider

    settings = FastembedEmbedder(model_name=_FASTEMBED_MODEL, dim=384)
    provider: Any = FastembedProvider(settings)
    return lambda texts: np.asarray(provider.embed(list(texts)), dtype=np.float32)


def _onnxruntime(model: str, onnx: str) -> Embed:
    """Our own batches of equal length, run by onnxruntime: what a backend of it would do."""
    import onnxruntime

    from chunk_assets.embedding.config import EmbedderConfig, Precision
    from chunk_assets.embedding.engine import Batch
    from chunk_assets.embedding.local_embedder import LocalEmbedder
    from chunk_assets.embedding.model_files import read_model_files

    class OnnxEngine:
        name = "onnxruntime"
        precision: Precision = "float32"
        uses_cores = True
        batch_tokens = 1024
        fewest_tokens = 0
        length_step = 1
        most_padding = 0.0

        def start(self, threads: int) -> int:
            return threads

        def forward(self, batch: Batch) -> npt.NDArray[np.float32]:
            ids = batch.token_ids
            feed = {
                "input_ids": ids,
                "attention_mask": np.ones_like(ids),
                "token_type_ids": np.zeros_like(ids),
            }
            hidden = session.run(None, feed)[0]
            return np.asarray(hidden.mean(axis=1), dtype=np.float32)

        def is_out_of_memory(self, error: Exception) -> bool:
            return isinstance(error, MemoryError)

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        Path(onnx) / "model.onnx", options, providers=["CPUExecutionProvider"]
    )
    files = read_model_files(model, Path(model))
    return LocalEmbedder("bench", EmbedderConfig(), files, OnnxEngine()).embed_passages


DEFAULT = "sentence-transformers, default"
OURS = "chunk-assets"
CONTENDERS: dict[str, Callable[[str, str], Embed]] = {
    OURS: _ours(),
    "chunk-assets, float32": _ours(precision="float32"),
    "chunk-assets, torch": _ours(backend="torch"),
    DEFAULT: _sentence_transformers(),
    "sentence-transformers, bfloat16, batch 8": _sentence_transformers(8, "bfloat16"),
    "fastembed, default": _fastembed(),
    "fastembed, batch 8": _fastembed(8),
    "chunkshop": _chunkshop,
    "onnxruntime, equal lengths": _onnxruntime,
}
"""The first is what `backend: auto` picks."""
FASTEMBED = ("fastembed, default", "fastembed, batch 8", "chunkshop")
"""These need fastembed, which cannot share an environment with transformers 5."""
WANT_ONNX = (*FASTEMBED, "onnxruntime, equal lengths")
"""These read the model as ONNX."""

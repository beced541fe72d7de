"""From a configuration to an embedder."""

import importlib
import inspect
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.embedder import Embedder
from chunk_assets.embedding.hardware import (
    available_cores,
    resolve_device,
    resolve_precision,
    resolve_workers,
    visible_gpus,
)
from chunk_assets.embedding.static_files import is_static
from chunk_assets.errors import ChunkAssetsError, ConfigurationError

# A backend is a file with a callable `(name, config) -> Embedder`, and one line here.
_FACTORIES = {
    "openai": "chunk_assets.embedding.openai_embedder:build_openai_embedder",
    "openvino": "chunk_assets.embedding.openvino_backend:build_openvino_embedder",
    "static": "chunk_assets.embedding.static_embedder:build_static_embedder",
    "torch": "chunk_assets.embedding.torch_backend:build_torch_embedder",
}

_OFFERED = (
    "name",
    "fingerprint",
    "dimension",
    "max_tokens",
    "tokenizer",
    "embed_passages",
    "embed_queries",
)


@dataclass(frozen=True, slots=True)
class Choice:
    """What a configuration comes down to on this machine."""

    backend: str
    device: str
    precision: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        parts = [self.backend, self.device, self.precision]
        return f"{' · '.join(part for part in parts if part)} ({'; '.join(self.reasons)})"


def describe(config: EmbedderConfig) -> Choice:
    """What runs a model here and why; loads nothing."""
    if config.backend == "custom":
        return Choice("custom", "", "", (f"factory {config.factory}",))
    if config.remote is not None:
        return Choice("openai", "", "", (f"{config.model} at {config.remote.base_url}",))
    backend, why_backend = _backend(config)
    if backend == "static":
        return Choice("static", "cpu", "float32", (f"static: {why_backend}",))
    device, why_device = resolve_device(config)
    precision, why_precision = resolve_precision(config)
    reasons = [f"{backend}: {why_backend}", f"{device}: {why_device}"]
    reasons.append(f"{precision}: {why_precision}")
    if device == "cpu":
        cores = available_cores()
        reasons.append(f"threads: at most {min(config.threads or cores, cores)} of {cores} cores")
    if device.startswith("cuda"):
        reasons.append(f"GPUs: {_gpus()}")
    if backend == "torch":
        workers, why_workers = resolve_workers(config)
        reasons.append(f"workers: {workers}, {why_workers}")
    return Choice(backend, device, precision, tuple(reasons))


def build_embedder(name: str, config: EmbedderConfig) -> Embedder:
    """The embedder of a configuration. Cheap: its model loads when it first embeds.

    Raises:
        ConfigurationError: if a custom factory cannot be imported or does not return an embedder.
        EmbeddingError: if the model cannot be found or is not supported.
    """
    if config.backend != "custom":
        backend, _ = _backend(config, download=True)
        embedder: Embedder = _load(_FACTORIES[backend])(name, config)
        return embedder
    reference = config.factory or ""
    where = f"embedders.{name}.factory"
    try:
        factory = _load(reference)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"{where}: {reference!r} cannot be imported: {error}. Expected `package.module:"
            "callable` that Python finds: install its package, or add its folder to PYTHONPATH."
        ) from error
    if not callable(factory):
        raise ConfigurationError(
            f"{where}: {reference!r} is a {type(factory).__name__}, expected "
            "a callable (name, config) -> Embedder"
        )
    try:
        custom: Embedder = factory(name, config)
    except ChunkAssetsError:
        raise
    except Exception as error:
        raise ConfigurationError(
            f"{where}: {reference!r} failed: {type(error).__name__}: {error}. Expected a callable "
            "(name, config) -> Embedder"
        ) from error
    # Statically, since asking for a property may load a model.
    missing = [name for name in _OFFERED if inspect.getattr_static(custom, name, None) is None]
    if missing:
        raise ConfigurationError(
            f"{where}: {reference!r} returned a {type(custom).__name__} without "
            f"{', '.join(missing)}: expected what chunk_assets.embedding.embedder.Embedder lists"
        )
    return custom


def _backend(config: EmbedderConfig, *, download: bool = False) -> tuple[str, str]:
    if config.backend == "auto":
        if is_static(config.model, config.revision, download=download):
            return "static", "the model is a table with one vector per token"
        for field in ("workers", "most_padding", "compile"):
            if getattr(config, field) != EmbedderConfig.model_fields[field].default:
                return "torch", f"the backend that reads {field}"
        device, _ = resolve_device(config)
        precision, _ = resolve_precision(config)
        if device != "cpu" or precision == "float16":
            return "torch", "the backend that runs every model on every device"
        if find_spec("openvino") is None:
            return "torch", "openvino, which is faster on processors, is not installed"
        return "openvino", "the fastest on processors; torch takes over what it cannot run"
    return config.backend, "as configured"


def _gpus() -> str:
    """`2 × NVIDIA H200`."""
    counts = Counter(gpu.name for gpu in visible_gpus())
    return ", ".join(f"{count} × {name}" for name, count in counts.items()) or "none is visible"


def _load(reference: str) -> Callable[..., Any]:
    module, _, attribute = reference.partition(":")
    found: Any = importlib.import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    loaded: Callable[..., Any] = found
    return loaded

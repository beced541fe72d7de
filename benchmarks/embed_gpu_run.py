"""One model through every way of embedding, in interleaved rounds."""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.embed_gpu_peaks import linear_flops
from benchmarks.embed_shapes import Shape, read_shape
from chunk_assets.embedding.batch_runner import BatchRunner
from chunk_assets.embedding.config import EmbedderConfig, Precision
from chunk_assets.embedding.embedder import Vectors
from chunk_assets.embedding.engine import Batch
from chunk_assets.embedding.huggingface_tokenizer import HuggingFaceTokenizer, tokenizer_file
from chunk_assets.embedding.model_files import ModelFiles, read_model_files
from chunk_assets.embedding.token_budget import TYPICAL_LENGTH
from chunk_assets.embedding.torch_backend import TorchEngine, build_torch_embedder
from chunk_assets.embedding.unit_vectors import normalize
from chunk_assets.errors import EmbeddingError

OURS = "ours, tokens made before"
FROM_TEXT = "ours, from text"
EQUAL_LENGTHS = "ours, equal lengths only"
PADDED = "ours, a tenth may be padding"
COMPILED = "ours, compiled"
WORKERS = "ours, from text, {} workers"
DEFAULT = "sentence-transformers, default (32)"
LARGE = "sentence-transformers, batches of 256"

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """What one run does."""

    device: str
    precision: Precision
    seconds: float
    """About how long all rounds of one model may take."""
    rounds: int
    compiled: bool
    """Whether the model is run compiled as well."""
    workers: int
    """Whether it is run by so many processes as well; with 1 it is not."""
    reference_texts: int
    """How many texts are compared with float32."""


@dataclass(slots=True)
class Way:
    """One way of embedding, and what was measured of it."""

    name: str
    run: Callable[[], Vectors]
    engine: TorchEngine | None = None
    runner: BatchRunner | None = None
    tokens_per_second: list[float] = field(default_factory=list)
    texts_per_second: list[float] = field(default_factory=list)
    peak_bytes: int = 0


@dataclass(frozen=True, slots=True)
class WayResult:
    """Medians over rounds."""

    name: str
    tokens_per_second: float
    texts_per_second: float
    flops_per_second: float
    bytes_per_second: float | None
    """By formula; None where batches are not ours."""
    least_cosine: float
    mean_cosine: float
    batch_tokens: int | None
    padding_share: float | None
    peak_bytes: int
    """What a pass took of the GPU's memory beside the weights; 0 where that is not known."""
    rounds: int


@dataclass(frozen=True, slots=True)
class ModelResult:
    """All ways with one model."""

    name: str
    shape: Shape
    flops_per_token: float
    mean_length: float
    """Tokens of an input, special ones included."""
    linear_flops_per_second: float
    """What the linear layers alone do on a batch of the chosen size."""
    budget_reason: str
    budget_trials: Mapping[int, float]
    """Tokens per second by batch size, as the probe saw them."""
    reference_least_cosine: float
    """Of our own float32 to sentence-transformers' float32."""
    ways: Sequence[WayResult]
    skipped: Mapping[str, str]
    """Why a way could not be run."""
    kernels: Mapping[str, float]
    """Share of the device's time by kernel, in one pass over a batch."""


def run_model(
    name: str, folder: Path, texts: Sequence[str], settings: Settings, tell: Tell
) -> ModelResult:
    """Load it in every way, run the rounds, compare the vectors.

    Args:
        name: what it is called.
        folder: where it is.
        texts: what is embedded; each fits the model.
        settings: device, precision and time.
        tell: told what is being done.
    """
    files = read_model_files(str(folder), folder)
    shape = read_shape(folder)
    tokenizer = HuggingFaceTokenizer(tokenizer_file(folder), name)
    inputs = tokenizer.model_inputs(texts)
    lengths = np.array([len(ids) for ids in inputs])
    # Attention costs by the length of each token's own input.
    flops_per_token = float(
        (lengths * [shape.flops_per_token(length) for length in lengths]).sum() / lengths.sum()
    )
    ways: list[Way] = []
    skipped: dict[str, str] = {}
    for way in _ways(files, texts, inputs, settings):
        tell(f"{name}: warming up: {way.name}")
        try:
            way.run()
        except EmbeddingError as error:
            if way.name != COMPILED:
                raise
            skipped[way.name] = str(error)
        else:
            ways.append(way)
    _rounds(name, ways, int(lengths.sum()), len(texts), settings, tell)
    engine = _engine(ways)
    tell(f"{name}: comparing with float32")
    reference, theirs = _references(files, texts[: settings.reference_texts], settings)
    results = [_result(way, reference, shape, flops_per_token, lengths, settings) for way in ways]
    tell(f"{name}: linear layers and kernels")
    return ModelResult(
        name,
        shape,
        flops_per_token,
        float(lengths.mean()),
        linear_flops(
            shape,
            engine.batch_tokens,
            settings.device,
            getattr(torch, settings.precision),
            settings.seconds / 50,
        ),
        engine.budget.reason if engine.budget else "not probed",
        {tokens: trial.tokens_per_second for tokens, trial in engine.budget.trials}
        if engine.budget
        else {},
        float(_cosines(reference, theirs).min()),
        results,
        skipped,
        _kernels(engine, settings.device),
    )


def _engine(ways: Sequence[Way]) -> TorchEngine:
    """The one with the settings that are the default on the device."""
    return next(way.engine for way in ways if way.name == OURS and way.engine is not None)


def _ways(
    files: ModelFiles,
    texts: Sequence[str],
    inputs: Sequence[Sequence[int]],
    settings: Settings,
) -> Iterator[Way]:
    config = EmbedderConfig(
        backend="torch",
        model=str(files.folder),
        device=settings.device,
        precision=settings.precision,
        workers=1,
    )

    def prepared(name: str, **changes: Any) -> Way:  # noqa: ANN401
        engine = TorchEngine(files, settings.device, settings.precision, **changes)
        runner = BatchRunner(name, [engine])
        return Way(name, lambda: _all(runner, inputs, files.dimension), engine, runner)

    ours = prepared(OURS)
    yield ours
    assert ours.engine is not None  # noqa: S101 - for the type checker
    # It has run by now: all others get the budget that it found.
    tokens = ours.engine.batch_tokens
    config = config.model_copy(update={"batch_tokens": tokens})
    embedder = build_torch_embedder("ours", config)
    yield Way(FROM_TEXT, lambda: embedder.embed_passages(texts))
    if settings.workers > 1:
        everywhere = {"device": settings.device.partition(":")[0], "workers": settings.workers}
        several = build_torch_embedder("several", config.model_copy(update=everywhere))
        yield Way(WORKERS.format(settings.workers), lambda: several.embed_passages(texts))
    if settings.device.startswith("cuda"):
        yield prepared(EQUAL_LENGTHS, most_padding=0.0, batch_tokens=tokens)
    else:
        yield prepared(PADDED, most_padding=0.1, batch_tokens=tokens)
    if settings.compiled:
        yield prepared(COMPILED, compiled=True, batch_tokens=tokens)
    theirs = _sentence_transformer(files, settings.device, settings.precision)
    yield Way(DEFAULT, lambda: _encode(theirs, texts, 32))
    yield Way(LARGE, lambda: _encode(theirs, texts, 256))


def _rounds(
    name: str, ways: Sequence[Way], tokens: int, texts: int, settings: Settings, tell: Tell
) -> None:
    """Every way in every round for about the same time, one after the other."""
    cuda = settings.device.startswith("cuda")
    spend = settings.seconds / settings.rounds / len(ways)
    began = time.perf_counter()
    for number in range(1, settings.rounds + 1):
        if number > 1 and time.perf_counter() - began > settings.seconds:
            return
        for way in ways:
            tell(f"{name}: round {number} of {settings.rounds}: {way.name}")
            held = 0
            if cuda:
                torch.cuda.reset_peak_memory_stats()
                held = torch.cuda.memory_allocated()
            passes, started = 0, time.perf_counter()
            while passes == 0 or time.perf_counter() - started < spend:
                way.run()
                passes += 1
            taken = time.perf_counter() - started
            way.tokens_per_second.append(passes * tokens / taken)
            way.texts_per_second.append(passes * texts / taken)
            if cuda:
                way.peak_bytes = max(way.peak_bytes, torch.cuda.max_memory_allocated() - held)


def _result(
    way: Way,
    reference: Vectors,
    shape: Shape,
    flops_per_token: float,
    lengths: npt.NDArray[np.int64],
    settings: Settings,
) -> WayResult:
    rate = statistics.median(way.tokens_per_second)
    usage = way.runner.usage if way.runner else None
    batch_tokens = way.engine.batch_tokens if way.engine else None
    moved = None
    if usage and batch_tokens:
        # What is computed includes padding; per token of the inputs that is so much more.
        computed = (usage.tokens + usage.padding_tokens) / usage.tokens
        per_pass = min(batch_tokens, int(lengths.sum()))
        moved = shape.bytes_per_forward(per_pass, settings.precision) / per_pass * computed * rate
    cosines = _cosines(way.run()[: settings.reference_texts], reference)
    return WayResult(
        way.name,
        rate,
        statistics.median(way.texts_per_second),
        rate * flops_per_token,
        moved,
        float(cosines.min()),
        float(cosines.mean()),
        batch_tokens,
        usage.padding_share if usage else None,
        way.peak_bytes,
        len(way.tokens_per_second),
    )


def _references(
    files: ModelFiles, texts: Sequence[str], settings: Settings
) -> tuple[Vectors, Vectors]:
    """Float32 vectors of our own, from batches without padding, and of sentence-transformers."""
    config = EmbedderConfig(
        backend="torch",
        model=str(files.folder),
        device=settings.device,
        precision="float32",
        batch_tokens=16_384 if settings.device.startswith("cuda") else None,
        most_padding=0.0,
        workers=1,
    )
    ours = build_torch_embedder("reference", config).embed_passages(texts)
    return ours, _encode(_sentence_transformer(files, settings.device, "float32"), texts, 32)


def _all(runner: BatchRunner, inputs: Sequence[Sequence[int]], dimension: int) -> Vectors:
    vectors = np.empty((len(inputs), dimension), dtype=np.float32)
    for positions, rows in runner.run(inputs, 0, threads=torch.get_num_threads()):
        vectors[positions] = normalize(rows)
    return vectors


def _sentence_transformer(files: ModelFiles, device: str, precision: Precision) -> Any:  # noqa: ANN401
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(
        str(files.folder),
        device=device,
        local_files_only=True,
        model_kwargs={"dtype": getattr(torch, precision)},
    )


def _encode(model: Any, texts: Sequence[str], batch: int) -> Vectors:  # noqa: ANN401
    rows = model.encode(
        list(texts), batch_size=batch, convert_to_numpy=True, show_progress_bar=False
    )
    return normalize(np.asarray(rows, dtype=np.float32))


def _cosines(one: Vectors, other: Vectors) -> npt.NDArray[np.float64]:
    return np.asarray(np.sum(one.astype(np.float64) * other, axis=1))


def _kernels(engine: TorchEngine, device: str) -> dict[str, float]:
    """The ten kernels that take most of the device's time, with their shares of it."""
    from torch.profiler import ProfilerActivity, profile

    cuda = device.startswith("cuda")
    rows = max(1, engine.batch_tokens // TYPICAL_LENGTH)
    ids = np.random.default_rng(0).integers(1000, 20_000, size=(rows, TYPICAL_LENGTH))
    batch = Batch(ids, np.full(rows, TYPICAL_LENGTH, dtype=np.int64), 0)
    with profile(activities=[ProfilerActivity.CUDA if cuda else ProfilerActivity.CPU]) as measured:
        engine.forward(batch)
    times = {
        event.key: float(event.self_device_time_total if cuda else event.self_cpu_time_total)
        for event in measured.key_averages()
        if event.device_type.name == ("CUDA" if cuda else "CPU")
    }
    total = sum(times.values()) or 1.0
    longest = sorted(times, key=lambda key: -times[key])[:10]
    return {key: times[key] / total for key in longest}

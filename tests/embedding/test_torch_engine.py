"""What runs torch models: padding, precision, memory, workers. All on the CPU."""

import functools
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from counting_embedder import build as build_counting_embedder
from embedding_models import LAYOUTS, cosines, sentences, tiny_model
from worker_engines import ShortOfMemory

from chunk_assets.embedding import cuda
from chunk_assets.embedding.batch_runner import BatchRunner
from chunk_assets.embedding.config import DEFAULT_MODEL, EmbedderConfig
from chunk_assets.embedding.embedder import Embedder
from chunk_assets.embedding.engine import Batch
from chunk_assets.embedding.hardware import Gpu
from chunk_assets.embedding.local_embedder import LocalEmbedder
from chunk_assets.embedding.model_files import ModelFiles, read_model_files
from chunk_assets.embedding.registry import build_embedder
from chunk_assets.embedding.torch_backend import TorchEngine
from chunk_assets.embedding.torch_model import TorchModel
from chunk_assets.embedding.usage import usage_of
from chunk_assets.embedding.work import Block, embed_missing
from chunk_assets.embedding.worker_pool import Place, WorkerPool
from chunk_assets.errors import EmbeddingError
from chunk_assets.lineage.identity import VectorKey

pytestmark = pytest.mark.slow

TEXTS = sentences([1, 2, 3, 5, 8, 9, 10, 14, 15, 20, 21, 22, 26, 2, 3, 30])


def build(model: str = DEFAULT_MODEL, **settings: Any) -> Embedder:  # noqa: ANN401
    fixed = {"backend": "torch", "device": "cpu", "precision": "float32", "threads": 1}
    return build_embedder("x", EmbedderConfig.model_validate({"model": model, **fixed, **settings}))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory, model_folder: Path) -> Path:
    return tiny_model(tmp_path_factory.mktemp("tiny"), model_folder)


@pytest.fixture(scope="module")
def files(tiny: Path) -> ModelFiles:
    return read_model_files(str(tiny), tiny)


def padded_and_not(model: str) -> tuple[Embedder, Embedder]:
    return build(model, most_padding=0.9, batch_tokens=4096), build(model)


def check_padding_changes_no_direction(model: str) -> None:
    padded, plain = padded_and_not(model)
    for passages in (True, False):
        one, other = (
            embedder.embed_passages(TEXTS) if passages else embedder.embed_queries(TEXTS)
            for embedder in (padded, plain)
        )
        assert cosines(one, other).min() >= 0.99999
    assert usage_of(padded).padding_share > 0.2
    assert usage_of(padded).tokens == usage_of(plain).tokens


def test_padding_changes_no_direction_of_minilm() -> None:
    check_padding_changes_no_direction(DEFAULT_MODEL)


@pytest.mark.parametrize("pooling", ["cls", "mean", "max", "lasttoken", "weightedmean"])
def test_padding_changes_no_direction_however_it_is_pooled(
    tmp_path: Path, model_folder: Path, pooling: str
) -> None:
    settings = {"pooling_mode": pooling, "embedding_dimension": 32}
    folder = tiny_model(tmp_path, model_folder, steps=[("Pooling", "1_Pooling", settings)])
    check_padding_changes_no_direction(str(folder))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_padding_changes_no_direction_in_other_layouts(
    tmp_path: Path, model_folder: Path, layout: str
) -> None:
    folder = tiny_model(tmp_path, model_folder, **LAYOUTS[layout][0])
    check_padding_changes_no_direction(str(folder))


def test_without_padding_allowed_there_is_none(tiny: Path) -> None:
    embedder = build(str(tiny))
    embedder.embed_passages(TEXTS * 8)  # enough of each length to need no filling
    assert usage_of(embedder).padding_share < 0.35
    few = build(str(tiny), most_padding=0.0)
    assert np.array_equal(few.embed_passages(TEXTS), embedder.embed_passages(TEXTS))


def test_only_the_products_of_the_transformer_are_rounded(
    tmp_path: Path, model_folder: Path
) -> None:
    folder = tiny_model(tmp_path, model_folder, **LAYOUTS["prompt left out, dense layer"][0])
    files = read_model_files(str(folder), folder)
    ids = torch.arange(1000, 1012).reshape(1, -1)
    half = TorchModel(files, "cpu", "bfloat16")

    rounded = {
        type(module)
        for module in half._transformer.modules()
        for weights in module.parameters(recurse=False)
        if weights.dtype == torch.bfloat16
    }
    assert rounded == {torch.nn.Linear}
    after = [weights.dtype for layer in half._others for weights in layer.parameters()]
    assert after == [torch.float32] * 2
    assert half.pooled(ids, None, 0).dtype == torch.float32


@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated")
def test_a_compiled_model_gives_the_same_directions(tiny: Path) -> None:
    if shutil.which("g++") is None and shutil.which("clang++") is None:
        pytest.skip("there is no C++ compiler")
    compiled = build(str(tiny), compile=True, most_padding=0.5)
    assert cosines(compiled.embed_passages(TEXTS), build(str(tiny)).embed_passages(TEXTS)).min() > (
        0.99999
    )


def test_a_model_that_cannot_be_compiled_says_so(
    files: ModelFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def give_up(*args: object, **kwargs: object) -> object:
        def forward(*args: object, **kwargs: object) -> object:
            raise RuntimeError("no compiler\nand a page about it")

        return forward

    monkeypatch.setattr(torch, "compile", give_up)
    engine = TorchEngine(files, "cpu", "float32", compiled=True)
    with pytest.raises(
        EmbeddingError, match=r"cannot be compiled for cpu: no compiler\. That needs"
    ):
        engine.start(1)


def test_attention_runs_in_torchs_own_kernels(files: ModelFiles) -> None:
    model = TorchModel(files, "cpu", "float32")
    assert model._transformer.auto_model.config._attn_implementation == "sdpa"


def test_two_workers_give_the_very_vectors_of_one_process(tiny: Path) -> None:
    texts = sentences([*range(1, 24)] * 3)
    pool = build(str(tiny), workers=2, threads=2, batch_tokens=128)
    assert np.array_equal(pool.embed_passages(texts), build(str(tiny)).embed_passages(texts))
    assert usage_of(pool).tokens > 0


def test_two_workers_run_minilm_in_bfloat16_as_one_process_does(bfloat16: Embedder) -> None:
    pool = build(workers=2, threads=2, precision="bfloat16")
    assert np.array_equal(pool.embed_passages(TEXTS), bfloat16.embed_passages(TEXTS))
    # A query is one batch for one worker.
    assert np.array_equal(pool.embed_queries(TEXTS[:1]), bfloat16.embed_queries(TEXTS[:1]))


def test_workers_cost_their_parent_no_model(tiny: Path) -> None:
    code = (
        "import sys\n"
        "from chunk_assets.embedding.config import EmbedderConfig\n"
        "from chunk_assets.embedding.registry import build_embedder\n"
        f"config = EmbedderConfig(model={str(tiny)!r}, device='cpu', workers=2)\n"
        "vectors = build_embedder('x', config).embed_passages(['a text', 'another one'])\n"
        "assert vectors.shape == (2, 32)\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_short_memory_in_a_worker_halves_the_batches_and_changes_nothing(
    tiny: Path, files: ModelFiles
) -> None:
    texts = ["one two three four " * 9] * 2000
    config = EmbedderConfig(backend="torch", model=str(tiny), device="cpu", batch_tokens=2_000_000)
    make = functools.partial(ShortOfMemory, files, 60_000_000, batch_tokens=2_000_000)
    # Every thread would reserve 64 MiB for itself.
    pool = WorkerPool([Place(make, "cpu", {"MALLOC_ARENA_MAX": "1"})])
    try:
        embedder = LocalEmbedder("x", config, files, pool)
        vectors = embedder.embed_passages(texts)
        assert pool.batches[0] > 1
        assert len(pool.processes) == 1  # it never ended
    finally:
        pool.close()
    assert np.array_equal(vectors, build(str(tiny)).embed_passages(texts))


def test_a_batch_runs_with_as_many_threads_as_were_granted(files: ModelFiles) -> None:
    engine = TorchEngine(files, "cpu", "float32")
    before = torch.get_num_threads()
    try:
        for threads in (2, 1):
            engine.start(threads)
            engine.forward(Batch(np.ones((1, 8), dtype=np.int64), np.array([8]), 0))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("error", "short", "lost"),
    [
        (
            torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
            True,
            False,
        ),
        (RuntimeError("CUDA error: out of memory"), True, False),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublas"), True, False),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: …"), True, False),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to …"), True, False),
        (MemoryError("short"), True, False),
        (RuntimeError("CUDA error: device-side assert triggered"), False, True),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), False, True),
        (RuntimeError("expected scalar type Half but found Float"), False, False),
        (ValueError("out of memory"), False, False),
    ],
)
def test_errors_of_memory_and_of_the_device_are_told_from_others(
    files: ModelFiles, error: Exception, short: bool, lost: bool
) -> None:
    engine = TorchEngine(files, "cuda", "float32")
    assert engine.is_out_of_memory(error) is short
    assert cuda.is_device_lost(error) is lost


class Lanes:
    """Stands in for streams and pinned memory, which only a GPU has."""

    def __init__(self, device: str) -> None:
        self.runs: list[int] = []

    def run(self, inputs: list[Any], compute: Callable[..., torch.Tensor]) -> Any:  # noqa: ANN401
        self.runs.append(len(inputs))
        return compute(*map(torch.from_numpy, inputs)).numpy()


@pytest.fixture
def engine(files: ModelFiles, monkeypatch: pytest.MonkeyPatch) -> TorchEngine:
    """The engine of a GPU, whose model lies on the CPU."""

    def run(call: Callable[[], object]) -> float:
        call()
        return 0.0

    monkeypatch.setattr(cuda, "CudaLanes", Lanes)
    monkeypatch.setattr(cuda, "peak_share", lambda device: run)
    made = TorchEngine(files, "cuda", "float32")
    made.__dict__["_model"] = TorchModel(files, "cpu", "float32")
    return made


def test_a_gpu_probes_for_its_budget_once_and_keeps_two_batches_under_way(
    engine: TorchEngine,
) -> None:
    assert not engine.uses_cores
    assert engine.most_padding > 0
    assert engine.start(1) == 2
    assert engine.budget is not None
    assert engine.batch_tokens == engine.budget.tokens
    tried = engine.budget.trials
    assert sum(trial.seconds for _, trial in tried) <= 2 or len(tried) == 1
    engine.start(1)
    assert engine.budget.trials is tried


def test_a_gpu_without_room_for_the_smallest_batch_says_so(
    engine: TorchEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(*args: object) -> torch.Tensor:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(engine._model, "pooled", short)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    with pytest.raises(EmbeddingError, match="too little free memory for a batch of 256 tokens"):
        engine.start(1)


def test_a_configured_budget_needs_no_probe(files: ModelFiles, engine: TorchEngine) -> None:
    configured = TorchEngine(files, "cuda", "float32", batch_tokens=4096)
    configured.__dict__["_model"] = engine.__dict__["_model"]
    configured.start(1)
    assert configured.batch_tokens == 4096
    assert configured.budget is None


def test_a_gpu_is_given_a_mask_only_where_a_batch_is_padded(engine: TorchEngine) -> None:
    ids = np.full((2, 8), 1000, dtype=np.int64)
    lanes: Any = engine._lanes
    full = engine.forward(Batch(ids, np.array([8, 8]), 0))
    padded = engine.forward(Batch(ids, np.array([8, 5]), 0))
    assert lanes.runs == [1, 2]
    assert np.abs(full[0] - padded[0]).max() < 1e-6
    assert np.abs(full[1] - padded[1]).max() > 1e-3


def test_short_memory_on_a_gpu_empties_its_cache_and_halves_the_batches(
    engine: TorchEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    emptied: list[bool] = []
    pooled = engine._model.pooled

    def short(token_ids: torch.Tensor, *rest: Any) -> torch.Tensor:  # noqa: ANN401
        if token_ids.numel() > 40:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        return pooled(token_ids, *rest)

    engine._batch_tokens = 160
    monkeypatch.setattr(engine._model, "pooled", short)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: emptied.append(True))
    inputs = [[1000 + n] * 10 for n in range(16)]
    done = list(BatchRunner("x", [engine]).run(inputs, 0, threads=1))

    assert sorted(position for positions, _ in done for position in positions) == [*range(16)]
    assert max(len(positions) for positions, _ in done) == 4
    assert emptied


def test_a_gpu_that_fails_for_good_says_so(
    engine: TorchEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> torch.Tensor:
        raise RuntimeError("CUDA error: device-side assert triggered")

    monkeypatch.setattr(engine._model, "pooled", fail)
    with pytest.raises(cuda.DeviceLostError, match=r"cuda:0 failed, .* device-side assert"):
        engine.forward(Batch(np.ones((1, 4), dtype=np.int64), np.array([4]), 0))


def test_a_gpu_is_given_enough_texts_at_once_to_fill_its_batches(
    files: ModelFiles, engine: TorchEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from chunk_assets.embedding import hardware

    monkeypatch.setattr(hardware, "visible_gpus", lambda: GPUS)
    config = EmbedderConfig(backend="torch", model=str(files.folder), device="cuda")
    assert LocalEmbedder("x", config, files, engine).block_tokens == 2 * 1_048_576
    on_cores = LocalEmbedder("x", config, files, TorchEngine(files, "cpu", "float32"))
    assert on_cores.block_tokens is None


@pytest.mark.parametrize(("wanted", "blocks"), [(None, 1), (2, 3), (4, 2)])
def test_work_is_cut_into_blocks_of_the_size_the_embedder_wants(
    wanted: int | None, blocks: int
) -> None:
    embedder: Any = build_counting_embedder("x", EmbedderConfig())
    embedder.block_tokens = wanted
    stored: list[Block] = []
    items = [(VectorKey(f"{n}"), f"text {n}") for n in range(3)]
    embed_missing(items, embedder, overflow="pool", store=stored.append)
    assert len(stored) == blocks


GPUS = (Gpu("4", "NVIDIA H200"), Gpu("6", "NVIDIA H200"))


@pytest.mark.parametrize(
    ("device", "workers", "expected"),
    [
        ("cuda", None, [("cuda:0", "4"), ("cuda:1", "6")]),
        ("cuda", 3, [("cuda:0", "4"), ("cuda:1", "6"), ("cuda:0", "4")]),
        ("cuda:1", 2, [("cuda:1", "6"), ("cuda:1", "6")]),
    ],
)
def test_every_worker_sees_its_own_gpu_alone(
    tiny: Path,
    monkeypatch: pytest.MonkeyPatch,
    device: str,
    workers: int | None,
    expected: list[tuple[str, str]],
) -> None:
    from chunk_assets.embedding import hardware, torch_backend

    places: list[Place] = []

    def pool(given: list[Place]) -> WorkerPool:
        places.extend(given)
        return WorkerPool(given)

    monkeypatch.setattr(torch_backend, "visible_gpus", lambda: GPUS)
    monkeypatch.setattr(hardware, "visible_gpus", lambda: GPUS)
    monkeypatch.setattr(torch_backend, "WorkerPool", pool)
    build(str(tiny), device=device, workers=workers)

    seen = [(place.label, place.environment["CUDA_VISIBLE_DEVICES"]) for place in places]
    assert seen == expected
    assert {place.make()._device for place in places} == {"cuda:0"}  # type: ignore[attr-defined]


def test_one_gpu_needs_no_process_of_its_own(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from chunk_assets.embedding import hardware

    monkeypatch.setattr(hardware, "visible_gpus", lambda: GPUS[:1])
    embedder: Any = build(str(tiny), device="cuda")
    assert isinstance(embedder._runner.engine, TorchEngine)

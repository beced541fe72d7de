"""The GPU benchmark, run for real on the CPU with small models."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.embed_gpu_peaks import copy_bandwidth, gemm_flops, linear_flops
from benchmarks.embed_gpu_report import report
from benchmarks.embed_gpu_run import (
    COMPILED,
    DEFAULT,
    FROM_TEXT,
    LARGE,
    OURS,
    PADDED,
    ModelResult,
    WayResult,
)
from benchmarks.embed_gpu_texts import docstrings, sample_texts
from benchmarks.embed_shapes import BERT_BASE, MINILM, TINY, Shape, read_shape
from chunk_assets.embedding.config import DEFAULT_MODEL, EmbedderConfig
from chunk_assets.embedding.embedder import Vectors
from chunk_assets.embedding.huggingface_tokenizer import HuggingFaceTokenizer, tokenizer_file
from chunk_assets.embedding.model_files import locate_model, read_model_files
from chunk_assets.embedding.registry import build_embedder

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def minilm() -> Path:
    return locate_model(DEFAULT_MODEL)


@pytest.fixture(scope="module")
def tokenizer(minilm: Path) -> HuggingFaceTokenizer:
    return HuggingFaceTokenizer(tokenizer_file(minilm), "minilm")


def test_the_shape_of_minilm_is_read_from_its_files(minilm: Path) -> None:
    assert read_shape(minilm) == MINILM


def test_bert_base_has_its_parameters() -> None:
    # Of 110 million, 85 are in linear layers, 24 in embeddings.
    assert BERT_BASE.linear_parameters == 84_934_656
    assert BERT_BASE.flops_per_token(164) / 1e6 == pytest.approx(175.9, abs=0.1)


def test_bytes_are_those_of_every_step_counted_by_hand() -> None:
    shape = Shape(hidden=10, intermediate=40, layers=1, heads=2)
    linear, attention, after = 3 * (10 + 10), 30 + 10, 10 + 10
    sums_and_norms = 2 * (20 + 10) + 2 * (10 + 10)
    feed_forward = (10 + 40) + (40 + 40) + (40 + 10)
    embeddings = (10 + 10) + (10 + 10) + (20 + 10) + (10 + 10) + (10 + 10)
    elements = linear + attention + after + sums_and_norms + feed_forward + embeddings
    pooling = 10 * 2 + 4 * (10 + (10 + 10) + 10)
    weights = 2 * (4 * 100 + 2 * 400)
    assert shape.bytes_per_forward(7, "bfloat16") == weights + 7 * (2 * elements + pooling)


@pytest.mark.slow
def test_flops_are_those_that_torch_counts(minilm: Path) -> None:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from chunk_assets.embedding.torch_model import TorchModel

    model = TorchModel(read_model_files(DEFAULT_MODEL, minilm), "cpu", "float32")
    # The counter knows no fused attention of a CPU.
    model._transformer.auto_model.set_attn_implementation("eager")
    rows, length = 3, 50
    with FlopCounterMode(display=False) as counter:
        model.pooled(torch.full((rows, length), 1000), None, 0)
    # BERT's own pooler, one layer for one token of a row, is counted by torch alone.
    pooler = rows * 2 * MINILM.hidden**2
    expected = rows * length * MINILM.flops_per_token(length) + pooler
    assert counter.get_total_flops() == expected


def test_texts_are_the_same_every_time_and_fit_the_model(tokenizer: HuggingFaceTokenizer) -> None:
    source = docstrings(("numpy",), 60_000)
    assert len(source) >= 60_000
    assert source == docstrings(("numpy",), 60_000)
    texts = sample_texts(source, 300, tokenizer, 254)
    counts = tokenizer.count(texts)

    assert texts == sample_texts(source, 300, tokenizer, 254)
    assert len(texts) == 300
    assert max(counts) <= 254
    assert min(counts) > 0
    assert len(set(counts)) > 50


def test_limits_of_the_device_are_measured() -> None:
    import torch

    assert gemm_flops("cpu", torch.float32, 64, 0.01) > 0
    assert copy_bandwidth("cpu", 2**16, 0.01) > 0
    assert linear_flops(TINY, 64, "cpu", torch.float32, 0.01) > 0


def way(name: str, **figures: float) -> WayResult:
    return WayResult(
        name,
        figures.get("tokens", 2e6),
        1000,
        50e12,
        1e12,
        0.99971,
        0.99991,
        65_536,
        0.021,
        3 * 2**30,
        5,
    )


def test_the_report_puts_every_way_beside_the_default_and_the_limits() -> None:
    result = ModelResult(
        name="some model",
        shape=MINILM,
        flops_per_token=22.9e6,
        mean_length=166,
        linear_flops_per_second=400e12,
        budget_reason="131,072 tokens gain less than 5%",
        budget_trials={65_536: 2e6},
        reference_least_cosine=0.9999999,
        ways=[way(OURS), way(DEFAULT, tokens=5e5)],
        skipped={COMPILED: "there is no compiler"},
        kernels={"gemm": 0.61},
    )
    page = report([result], {"precision": "bfloat16"}, 800e12, 4e12)

    row = next(line for line in page.splitlines() if line.startswith(f"| {OURS}"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1:6] == ["2,000,000", "1,000", "4.00", "6.2%", "25.0%"]
    assert cells[6:] == ["0.999710", "0.999910", "65,536", "2.1%", "3,072", "5"]
    assert "400.0 TFLOP/s (50% of the large product)" in page
    assert "131,072 tokens gain less than 5%. Tried (tokens: million tokens/s): 65,536: 2.0" in page
    assert "| `gemm` | 61.0% |" in page
    assert f"Not run: {COMPILED}: there is no compiler" in page


def run(*arguments: str | Path, out: Path | None = None) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "OUT"}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.embed_gpu", *arguments],
        cwd=ROOT,
        env={**environment, "OMP_NUM_THREADS": "1", **({"OUT": str(out)} if out else {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_whole_run_writes_what_it_measured(tmp_path: Path) -> None:
    options = ["--device", "cpu", "--tiny", "--seconds", "2", "--rounds", "1", "--texts", "32"]
    printed = run(*options, out=tmp_path)
    measured = json.loads((tmp_path / "embed_gpu.json").read_text(encoding="utf-8"))

    assert (tmp_path / "embed_gpu.md").read_text(encoding="utf-8") == printed
    assert measured["facts"]["texts"] == 32
    assert measured["gemm_flops_per_second"] > 0
    assert [model["name"] for model in measured["models"]] == ["tiny", "tiny base"]
    for model in measured["models"]:
        names = [way["name"] for way in model["ways"]]
        assert names == [OURS, FROM_TEXT, PADDED, DEFAULT, LARGE]
        assert model["reference_least_cosine"] > 0.99999
        assert model["kernels"]
        for way in model["ways"]:
            assert way["tokens_per_second"] > 0
            assert way["least_cosine"] > 0.999
        ours, _, padded, *_ = model["ways"]
        assert 0 <= ours["padding_share"] < padded["padding_share"] < 0.2


@pytest.mark.slow
def test_a_carried_copy_is_half_as_large_and_embeds_alike(tmp_path: Path, minilm: Path) -> None:
    carried = tmp_path / "carried"
    run("--pack", carried)
    size = sum(path.stat().st_size for path in carried.rglob("*") if path.is_file())
    assert size < 48_000_000

    def embed(model: str) -> Vectors:
        config = EmbedderConfig(
            backend="torch", model=model, device="cpu", precision="float32", threads=1
        )
        return build_embedder("x", config).embed_passages(["one text", "and another, longer one"])

    cosines = np.sum(embed(str(carried)) * embed(DEFAULT_MODEL), axis=1)
    assert cosines.min() > 0.9999

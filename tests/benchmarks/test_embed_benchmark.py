"""The benchmark of embedding counts what it says it counts."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import embed
from benchmarks.embed_contenders import DEFAULT, OURS
from benchmarks.embed_process import Contender, ContenderError, Timing
from benchmarks.embed_report import Round, likeness, share_of_peak, speed, times_default
from benchmarks.embed_shapes import MINILM, Shape
from benchmarks.embed_texts import sample_chunks
from chunk_assets.embedding.config import DEFAULT_MODEL
from chunk_assets.embedding.huggingface_tokenizer import load_tokenizer
from chunk_assets.embedding.model_files import locate_model


def test_a_token_of_minilm_costs_what_its_matrices_hold() -> None:
    # The weights of the linear layers, two operations each.
    assert MINILM.flops([1]) - 6 * 4 * 384 == 2 * 10_616_832
    # Twice as long an input is more than twice the work: every token looks at every other one.
    assert MINILM.flops([100, 100]) < MINILM.flops([200])
    assert Shape(hidden=2, intermediate=3, layers=1, heads=1).flops([5]) == 5 * (
        2 * (16 + 12) + 4 * 5 * 2
    )


def test_rates_are_medians_over_rounds() -> None:
    rounds = [
        Round(
            tokens=1000,
            flops=10**9,
            gemm_flops_per_s={"bfloat16": 1e10},
            timings={OURS: Timing(ours, ours, 1), DEFAULT: Timing(default, 3 * default, 1)},
        )
        for ours, default in [(0.5, 2.0), (1.0, 3.0), (0.2, 1.0)]
    ]
    assert speed(rounds, OURS) == 2000
    assert times_default(rounds, OURS) == 4
    assert times_default(rounds, OURS, cpu=True) == 12
    assert share_of_peak(rounds, OURS, "bfloat16") == pytest.approx(0.2)


def test_likeness_is_that_of_directions() -> None:
    random = np.random.default_rng(0)
    rows = random.normal(size=(50, 8)).astype(np.float32)
    same = likeness(3 * rows, rows)
    assert same.least_cosine == pytest.approx(1)
    assert same.same_neighbours == 1
    other = likeness(random.normal(size=(50, 8)).astype(np.float32), rows)
    assert other.same_neighbours < 0.5


def test_chunks_are_the_same_each_time_and_fit_the_model(shared_data: Path) -> None:
    chunks = sample_chunks(shared_data, 70)
    assert chunks == sample_chunks(shared_data, 70)
    assert len(set(chunks)) == 70
    tokenizer = load_tokenizer(locate_model(DEFAULT_MODEL), DEFAULT_MODEL)
    assert max(tokenizer.count(chunks)) <= 254


@pytest.mark.slow
def test_a_contender_that_cannot_run_says_why(tmp_path: Path) -> None:
    contender = Contender(sys.executable, OURS, tmp_path, tmp_path, tmp_path / "log")
    with pytest.raises(ContenderError, match=r"modules\.json"):
        contender.embed(["a"], tmp_path / "vectors.npy")
    contender.close()


@pytest.mark.slow
def test_a_small_run_prints_the_table(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: object
) -> None:
    monkeypatch.setattr(embed, "WORK", tmp_path)
    monkeypatch.setattr(embed, "RESULTS", tmp_path / "results")
    embed.main(texts=20, rounds=2, contender=[OURS], bakeoff=False)
    assert isinstance(capsys, pytest.CaptureFixture)
    page = capsys.readouterr().out
    assert f"| {OURS} | " in page
    assert f"| {DEFAULT} | " in page
    assert "| 1.00 | " in page
    assert not (tmp_path / "results").exists()


def test_the_kept_results_are_of_a_whole_run() -> None:
    kept = json.loads((embed.RESULTS / "embed.json").read_text(encoding="utf-8"))
    assert kept["facts"]["texts"] == embed.ALL_TEXTS
    assert kept["likeness"][OURS]["least_cosine"] >= 0.9999
    assert sum(step["embedded_tokens"] for step in kept["bakeoff"]) < sum(
        step["changed_tokens"] for step in kept["bakeoff"]
    )

"""The backend for processors, with real models."""

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embedding_models import LAYOUTS, cosines, reference, sentences, tiny_model
from safetensors.torch import load_file, save_file

from chunk_assets.embedding import openvino_model
from chunk_assets.embedding.cache_folder import VARIABLE
from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.embedder import Embedder
from chunk_assets.embedding.model_files import read_model_files
from chunk_assets.embedding.openvino_model import converted_model, refusal
from chunk_assets.embedding.registry import build_embedder
from chunk_assets.embedding.usage import computed_by
from chunk_assets.errors import ConfigurationError, EmbeddingError

pytestmark = pytest.mark.slow


def openvino(**settings: object) -> Embedder:
    config = {"backend": "openvino", "device": "cpu", **settings}
    return build_embedder("openvino", EmbedderConfig.model_validate(config))


@pytest.fixture(scope="module", params=["bfloat16", "float32"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return openvino(precision=request.param)


@pytest.fixture(scope="module")
def corpus() -> list[str]:
    """Texts of 1 to 150 words: very short ones, where kernels differ, and longer ones."""
    return sentences([*([1, 2, 3, 4, 5] * 4), *range(6, 150, 24), *[40] * 6])


def test_a_text_alone_has_the_very_vector_it_has_in_any_batch(
    embedder: Embedder, corpus: list[str]
) -> None:
    together = embedder.embed_passages(corpus)
    alone = np.vstack([embedder.embed_passages([text]) for text in corpus])
    assert np.array_equal(together, alone)


def test_order_budget_and_threads_change_no_bit(embedder: Embedder, corpus: list[str]) -> None:
    vectors = embedder.embed_passages(corpus)
    order = random.Random(1).sample(range(len(corpus)), len(corpus))
    assert np.array_equal(embedder.embed_passages([corpus[i] for i in order]), vectors[order])
    precision = computed_by(embedder).split()[1]
    other = openvino(precision=precision, threads=1, batch_tokens=90)
    assert np.array_equal(other.embed_passages(corpus), vectors)


def test_a_query_and_a_passage_of_one_text_have_one_vector(embedder: Embedder) -> None:
    assert np.array_equal(embedder.embed_queries(["a pump"]), embedder.embed_passages(["a pump"]))


def test_vectors_keep_the_direction_of_the_reference(
    embedder: Embedder, float32: Embedder, corpus: list[str]
) -> None:
    similar = cosines(embedder.embed_passages(corpus), float32.embed_passages(corpus))
    assert similar.min() > (0.9998 if "bfloat16" in computed_by(embedder) else 0.999999)
    assert similar.mean() > 0.9999


@pytest.mark.parametrize(("layout", "dimension"), LAYOUTS.values(), ids=LAYOUTS)
def test_other_layouts_give_what_sentence_transformers_encodes(
    tmp_path: Path, model_folder: Path, layout: dict[str, Any], dimension: int
) -> None:
    folder = tiny_model(tmp_path, model_folder, **layout)
    ours = openvino(model=str(folder), precision="float32")
    texts = [text.replace("[SEP]", "SEP") for text in sentences([1, 5, 9, 20])]
    theirs = reference(folder)

    assert ours.dimension == dimension
    for mine, encode in (
        (ours.embed_passages, theirs.encode_document),
        (ours.embed_queries, theirs.encode_query),
    ):
        assert mine(texts) == pytest.approx(encode(texts, normalize_embeddings=True), abs=2e-6)


def test_a_text_as_long_as_the_model_allows_is_embedded() -> None:
    longest = openvino(precision="float32", max_tokens=512)
    assert longest.embed_passages(["word " * 510]).shape == (1, 384)


@pytest.mark.parametrize("settings", [{"device": "cuda"}, {"precision": "float16"}], ids=str)
def test_what_only_another_backend_offers_is_refused(settings: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match=r"embedders\.openvino: .*use backend: torch"):
        openvino(**settings)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of this test's own."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache" / "openvino"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory, model_folder: Path) -> Path:
    return tiny_model(tmp_path_factory.mktemp("tiny"), model_folder)


EMBED = (
    "import sys\n"
    "from chunk_assets.embedding.config import EmbedderConfig\n"
    "from chunk_assets.embedding.registry import build_embedder\n"
    "embedder = build_embedder('tiny', EmbedderConfig(model=sys.argv[1], device='cpu'))\n"
    "embedder.embed_passages(['a pump'])\n"
    "heavy = {'torch', 'transformers'} & sys.modules.keys()\n"
    "print(embedder.computed_by.split()[0], *sorted(heavy))\n"
)


def embedding_process(model: Path, home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", EMBED, str(model)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": str(home)},
    )


def test_processes_that_start_together_convert_once_and_load_no_torch(
    own_cache: Path, tiny: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    processes = [embedding_process(tiny, home) for _ in range(3)]
    said = [process.communicate()[0].strip() for process in processes]
    assert said == ["openvino"] * 3
    [folder] = [path for path in own_cache.iterdir() if path.is_dir()]
    assert {path.name for path in folder.iterdir()} == {"model.xml", "model.bin", "checksums.json"}
    assert not (home / "intel").exists()  # where the converter would keep an id to report with


def test_a_killed_conversion_leaves_nothing_that_is_taken_for_a_model(
    own_cache: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = read_model_files(str(tiny), tiny)
    own_cache.mkdir(parents=True)
    left = openvino_model._folder(files).with_suffix(".converting")
    left.mkdir(parents=True)
    (left / "model.xml").write_text("half", encoding="utf-8")
    monkeypatch.setattr(sys, "executable", str(_killed(own_cache.parent)))
    with pytest.raises(EmbeddingError, match="ended with exit code -9"):
        converted_model(files)
    monkeypatch.undo()
    monkeypatch.setenv(VARIABLE, str(own_cache.parent))
    assert refusal(files) is None
    assert converted_model(files).is_file()
    assert not left.exists()


def _killed(folder: Path) -> Path:
    program = folder / "killed.sh"
    program.write_text("#!/bin/sh\nkill -9 $$\n", encoding="ascii")
    program.chmod(0o755)
    return program


def test_a_model_it_cannot_run_is_left_to_torch_and_remembered(
    own_cache: Path, tmp_path: Path, model_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tiny_model(tmp_path / "model", model_folder)
    weights = load_file(folder / "model.safetensors")
    weights["encoder.layer.0.output.dense.bias"] += float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    embedder = build_embedder("tiny", EmbedderConfig(model=str(folder), device="cpu", threads=1))
    assert computed_by(embedder).startswith("openvino")
    with pytest.raises(EmbeddingError, match="holds NaN"):
        embedder.embed_passages(["a"])
    assert computed_by(embedder).startswith("torch")
    assert "cannot be run by OpenVINO" in caplog.text

    assert "differ from torch's by nan" in str(refusal(read_model_files(str(folder), folder)))
    with pytest.raises(EmbeddingError, match=r"cannot be run by OpenVINO: .*Use backend: torch"):
        openvino(model=str(folder)).embed_passages(["a"])


def test_a_failure_that_may_pass_is_not_remembered(
    own_cache: Path, tmp_path: Path, model_folder: Path
) -> None:
    folder = tiny_model(tmp_path / "model", model_folder)
    (folder / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(EmbeddingError, match=r"ended with exit code 1 and said: .*try again"):
        openvino(model=str(folder)).embed_passages(["a"])
    assert refusal(read_model_files(str(folder), folder)) is None


def test_a_damaged_copy_is_made_again(own_cache: Path, tiny: Path) -> None:
    weights = converted_model(read_model_files(str(tiny), tiny)).with_suffix(".bin")
    content = weights.read_bytes()
    damaged = bytearray(content)
    damaged[len(damaged) // 2] ^= 1
    weights.write_bytes(damaged)

    openvino(model=str(tiny)).embed_passages(["a"])
    assert weights.read_bytes() == content

    (weights.parent / "checksums.json").write_text("{}", encoding="ascii")
    weights.write_bytes(b"")
    openvino(model=str(tiny)).embed_passages(["a"])
    assert weights.read_bytes() == content


def test_a_cache_that_cannot_be_written_says_so(
    tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="ascii")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file" / "cache"))
    with pytest.raises(EmbeddingError, match=f"cannot be kept converted .* {VARIABLE}"):
        openvino(model=str(tiny)).embed_passages(["a"])
    # Whoever did not ask for this backend need not care.
    auto = build_embedder("auto", EmbedderConfig(model=str(tiny), device="cpu", threads=1))
    assert auto.embed_passages(["a"]).shape == (1, 32)


def test_real_passages_keep_their_direction_and_their_neighbours(
    shared_data: Path, float32: Embedder
) -> None:
    source = random.Random(3)
    files = sorted((shared_data / "anthropic_docs" / "docs").rglob("*.md"))
    texts = [
        text[start : start + source.randrange(40, 600)]
        for text in (file.read_text(encoding="utf-8") for file in files)
        for start in source.sample(range(len(text)), 5)
    ]
    ours = openvino(precision="bfloat16").embed_passages(texts)
    theirs = float32.embed_passages(texts)

    assert cosines(ours, theirs).min() >= 0.9999
    nearest = [np.argsort(-(rows @ rows.T), axis=1)[:, 1:11] for rows in (ours, theirs)]
    shared = [len(set(one) & set(other)) for one, other in zip(*nearest, strict=True)]
    assert np.mean(shared) > 9.7

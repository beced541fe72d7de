"""The shape of a BERT-like model, and what one forward pass must compute and move."""

import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from chunk_assets.embedding.config import Precision

BYTES: dict[Precision, int] = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes that decide the cost."""

    hidden: int
    intermediate: int
    layers: int
    heads: int

    @property
    def linear_parameters(self) -> int:
        """Weights of all linear layers: four of h by h and two of h by i in each layer."""
        return self.layers * (4 * self.hidden**2 + 2 * self.hidden * self.intermediate)

    @property
    def linear_layers(self) -> tuple[tuple[int, int], ...]:
        """Inputs and outputs of the linear layers of one layer."""
        h, i = self.hidden, self.intermediate
        return (h, h), (h, h), (h, h), (h, h), (h, i), (i, h)

    def flops_per_token(self, length: float) -> float:
        """Floating-point operations for one token of an input of this length.

        Two per linear weight, and 4·L·h per layer for attention: each token's query meets L keys,
        its weights meet L values. Norms, softmax and activations are not counted.
        """
        return 2 * self.linear_parameters + 4 * length * self.hidden * self.layers

    def flops(self, lengths: Iterable[int]) -> int:
        """Floating-point operations of inputs of these lengths, without padding."""
        return int(sum(length * self.flops_per_token(length) for length in lengths))

    def bytes_per_forward(self, tokens: float, precision: Precision) -> float:
        """Bytes that one pass without fused steps reads and writes in memory, at least.

        All linear weights once. Per token and layer, in elements: the three linear layers before
        attention read and write 3h each; attention reads 3h and writes h (scores stay on the
        chip); the layer after it 2h; each of two residual sums 3h and each of two norms 2h; the
        feed-forward network reads h, writes i, reads and writes i in the activation, reads i and
        writes h: 24h + 4i. Besides, per token: 11h for two embeddings, two sums and a norm; for
        pooling in float32, h read in the precision of the model, then written twice and read twice
        in 4 bytes.
        """
        size = BYTES[precision]
        per_layer = 24 * self.hidden + 4 * self.intermediate
        per_token = size * (self.layers * per_layer + 12 * self.hidden) + 4 * 4 * self.hidden
        return size * self.linear_parameters + tokens * per_token


MINILM = Shape(hidden=384, intermediate=1536, layers=6, heads=12)
BERT_BASE = Shape(hidden=768, intermediate=3072, layers=12, heads=12)
TINY = Shape(hidden=32, intermediate=64, layers=2, heads=4)
TINY_BASE = Shape(hidden=64, intermediate=128, layers=3, heads=4)


def read_shape(folder: Path) -> Shape:
    """The shape of a model folder."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return Shape(
        config["hidden_size"],
        config["intermediate_size"],
        config["num_hidden_layers"],
        config["num_attention_heads"],
    )


def write_random_model(folder: Path, like: Path, shape: Shape) -> Path:
    """A model of another shape with random weights, and everything else like an existing one.

    Args:
        folder: where it is written.
        like: a model folder whose tokenizer, limits and pooling are taken over.
        shape: its shape.
    """
    import torch
    from transformers import BertConfig, BertModel

    _copy_but_weights(like, folder)
    settings = json.loads((like / "config.json").read_text(encoding="utf-8"))
    config = BertConfig(
        vocab_size=settings["vocab_size"],
        max_position_embeddings=settings["max_position_embeddings"],
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
    )
    torch.manual_seed(0)
    BertModel(config).save_pretrained(folder)
    pooling = folder / "1_Pooling" / "config.json"
    described = json.loads(pooling.read_text(encoding="utf-8"))
    name = (
        "embedding_dimension"
        if "embedding_dimension" in described
        else ("word_embedding_dimension")
    )
    pooling.write_text(json.dumps({**described, name: shape.hidden}), encoding="utf-8")
    return folder


def write_half_size_copy(folder: Path, like: Path) -> Path:
    """The same model with weights in bfloat16: half as large, to be carried to another machine."""
    import torch
    from safetensors.torch import load_file, save_file

    _copy_but_weights(like, folder)
    weights = load_file(like / "model.safetensors")
    half = {
        key: value.to(torch.bfloat16) if value.is_floating_point() else value
        for key, value in weights.items()
    }
    save_file(half, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def _copy_but_weights(like: Path, folder: Path) -> None:
    shutil.copytree(
        like,
        folder,
        ignore=shutil.ignore_patterns("*.safetensors", "*.bin", "*.md", "data_config.json", ".*"),
        dirs_exist_ok=True,
    )

"""The model as ONNX, for the contenders that want it so."""

import json
import shutil
import warnings
from pathlib import Path
from typing import Any


def export_onnx(model: Path, target: Path) -> None:
    """Write `model.onnx` and what its tokenizer needs; nothing if it is there.

    The graph ends with the hidden states of all tokens, as the published exports do; whoever runs
    it pools them.
    """
    if (target / "model.onnx").is_file():
        return
    import torch
    from transformers import AutoModel

    target.mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        shutil.copy(model / name, target)
    special = {"unk": "UNK", "sep": "SEP", "pad": "PAD", "cls": "CLS", "mask": "MASK"}
    tokens = {f"{name}_token": f"[{token}]" for name, token in special.items()}
    (target / "special_tokens_map.json").write_text(json.dumps(tokens), encoding="utf-8")

    class Hidden(torch.nn.Module):
        def __init__(self, encoder: torch.nn.Module) -> None:
            super().__init__()
            self.encoder = encoder

        def forward(
            self,
            input_ids: torch.Tensor,
            attention_mask: torch.Tensor,
            token_type_ids: torch.Tensor,
        ) -> Any:  # noqa: ANN401
            return self.encoder(input_ids, attention_mask, token_type_ids).last_hidden_state

    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    axes = {0: "rows", 1: "tokens"}
    example = torch.ones((2, 9), dtype=torch.int64)
    partial = target / "model.partial"
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Hidden(AutoModel.from_pretrained(model, local_files_only=True).eval()),
            (example, example, torch.zeros_like(example)),
            str(partial),
            input_names=inputs,
            output_names=["last_hidden_state"],
            dynamic_axes=dict.fromkeys([*inputs, "last_hidden_state"], axes),
            dynamo=False,
        )
    partial.replace(target / "model.onnx")

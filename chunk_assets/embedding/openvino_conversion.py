"""A program that converts a model: `python -m chunk_assets.embedding.openvino_conversion TASK`.

TASK is JSON: `{"model": FOLDER, "target": FOLDER}`. Into the target it writes the graph, or why
OpenVINO cannot run the model. What may pass (no memory, no room, a damaged file) is its exit code.
"""

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from chunk_assets.embedding.openvino_library import silence_telemetry
from chunk_assets.embedding.openvino_model import MODEL_FILE, REFUSED_FILE

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer

# Rows and tokens of the inputs on which both must agree; the largest is bounded by the model.
_CHECKED_SHAPES = [(1, 3), (3, 8), (2, 31), (1, 128), (5, 67)]
# The largest difference of a component of unit vectors; float32 sums differ by 1e-6.
_TOLERANCE = 1e-4


def main() -> None:
    """Convert one model."""
    silence_telemetry()
    warnings.filterwarnings("ignore")
    task = json.loads(sys.argv[1])
    target = Path(task["target"])
    try:
        _convert(task["model"], target)
    except _CannotRunError as reason:
        for file in target.iterdir():
            file.unlink()
        (target / REFUSED_FILE).write_text(str(reason), encoding="utf-8")


class _CannotRunError(Exception):
    """The model itself is the reason, so another try would end the same."""


def _convert(model_folder: str, target: Path) -> None:
    import openvino
    import torch
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(
        model_folder, device="cpu", local_files_only=True, model_kwargs={"dtype": torch.float32}
    ).eval()
    with torch.inference_mode():
        example = torch.ones((2, 9), dtype=torch.int64)
        try:
            graph = openvino.convert_model(_steps(model), example_input=(example,) * 3)
        except MemoryError:
            raise
        except Exception as error:
            raise _CannotRunError(" ".join(str(error).split())[:500]) from error
    openvino.save_model(graph, target / MODEL_FILE, compress_to_fp16=False)
    compiled = openvino.Core().compile_model(
        target / MODEL_FILE, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )
    transformer: Any = model[0]
    longest = int(model.get_max_seq_length() or max(tokens for _, tokens in _CHECKED_SHAPES))
    random = np.random.default_rng(0)
    for rows, tokens in _CHECKED_SHAPES:
        shape = rows, min(tokens, longest)
        ids = random.integers(0, transformer.auto_model.config.vocab_size, shape)
        mask = np.ones_like(ids)
        mask[-1, shape[1] - shape[1] // 4 :] = 0  # the last row ends in padding
        pooled = mask.copy()
        pooled[:, : shape[1] // 3] = 0  # as if a third were the prompt
        for inputs in ((ids, mask, mask), (ids, mask, pooled)):
            with torch.inference_mode():
                expected = _steps(model)(*map(torch.from_numpy, inputs)).numpy()
            found = compiled(list(inputs))[0]
            difference = float(np.abs(_unit(found) - _unit(expected)).max())
            if not difference < _TOLERANCE:
                raise _CannotRunError(
                    f"its vectors differ from torch's by {difference:.2g} on {rows} inputs of "
                    f"{ids.shape[1]} tokens"
                )


def _steps(model: "SentenceTransformer") -> "torch.nn.Module":
    """The model as a function of token ids, of which of them are no padding, and which to pool."""
    import torch

    class Steps(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.steps = torch.nn.ModuleList(model)

        def forward(
            self, input_ids: torch.Tensor, attention_mask: torch.Tensor, pooled: torch.Tensor
        ) -> Any:  # noqa: ANN401
            transformer, *others = self.steps
            features = {"input_ids": input_ids, "attention_mask": attention_mask}
            features = transformer(features)
            features["attention_mask"] = pooled
            for step in others:
                features = step(features)
            return features["sentence_embedding"]

    return Steps()


def _unit(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


if __name__ == "__main__":
    main()

"""A sentence-transformers model, loaded once."""

from typing import TYPE_CHECKING, Any

from chunk_assets.embedding.config import Precision
from chunk_assets.embedding.model_files import ModelFiles
from chunk_assets.errors import EmbeddingError

if TYPE_CHECKING:
    import torch


class TorchModel:
    """A transformer whose products run in one precision; all else of the model is float32.

    What layers hand on to each other, norms, pooling and what follows it are not rounded: with all
    weights in bfloat16 the least cosine to float32 was 0.99984, so it is 0.9999 and more, in the
    same time. Attention runs in torch's own kernels wherever transformers offers
    that for the model.

    Args:
        files: where it is.
        device: `cpu`, `cuda:N`, …
        precision: what the transformer multiplies in.

    Raises:
        EmbeddingError: if it cannot be loaded.
    """

    def __init__(self, files: ModelFiles, device: str, precision: Precision) -> None:
        from transformers.utils import logging

        self._files = files
        self._precision = precision
        bar_was_on = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            self._transformer, self._others = _load(files, device, precision)
        except Exception as error:
            remedy = (
                "Fetch it again if it is damaged; a model that brings its own code needs backend: "
                "custom."
            )
            if device != "cpu":
                remedy = (
                    f"If this machine has no such device, or its torch is not built for one, set "
                    f"device: auto. {remedy}"
                )
            raise EmbeddingError(
                f"model {files.source!r} cannot be loaded from {files.folder} on {device} in "
                f"{precision}: {error}. {remedy}"
            ) from error
        finally:
            if bar_was_on:
                logging.enable_progress_bar()  # type: ignore[no-untyped-call]

    @property
    def vocabulary(self) -> int:
        """How many token ids there are."""
        return int(self._transformer.auto_model.get_input_embeddings().num_embeddings)

    def compile(self) -> None:
        """Have torch compile the transformer when it next runs."""
        import torch

        network = self._transformer.auto_model
        # Not `network.compile()`: sentence-transformers calls `forward` itself.
        network.forward = torch.compile(network.forward, dynamic=True)

    def pooled(
        self, token_ids: "torch.Tensor", mask: "torch.Tensor | None", prompt_tokens: int
    ) -> "torch.Tensor":
        """Pooled vectors in float32, not normalized: shape (rows, dimension).

        Args:
            token_ids: with special tokens, padded on the right: shape (rows, tokens).
            mask: 1 where a token is its row's own, else 0; None without padding, since attention
                without a mask has the faster kernel. Given one, transformers looks once, before
                the first layer, whether it is needed at all; that waits for the copy of the mask.
            prompt_tokens: what a model that pools without the prompt leaves out of each row. On a
                GPU that waits for the transformer to finish.
        """
        import torch

        dtype = getattr(torch, self._precision)
        mixed = torch.autocast(token_ids.device.type, dtype, enabled=dtype != torch.float32)
        with torch.inference_mode():
            features: dict[str, Any] = {"input_ids": token_ids}
            if mask is not None:
                features["attention_mask"] = mask
            with mixed:
                features = self._transformer(features)
            features = {
                key: value.float()
                if isinstance(value, torch.Tensor) and value.is_floating_point()
                else value
                for key, value in features.items()
            }
            if prompt_tokens:
                features["prompt_length"] = prompt_tokens
            for module, described in zip(self._others, self._files.modules[1:], strict=True):
                if described.kind != "Normalize":
                    features = module(features)
            vectors: torch.Tensor = features["sentence_embedding"]
        return vectors


def _load(files: ModelFiles, device: str, precision: Precision) -> tuple[Any, list[Any]]:
    import torch
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(
        str(files.folder),
        device=device,
        local_files_only=True,
        model_kwargs={"dtype": torch.float32},
    ).eval()
    transformer, *others = model
    if precision != "float32":
        for module in transformer.modules():
            if isinstance(module, torch.nn.Linear):
                module.to(getattr(torch, precision))
    return transformer, others

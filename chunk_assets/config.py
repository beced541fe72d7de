"""The model of `chunk_assets.yaml`."""

import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import (
    AfterValidator,
    Field,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from chunk_assets.chunking.strategy import Strategy
from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.environment import Secret, expand
from chunk_assets.errors import ConfigurationError
from chunk_assets.evaluation.config import GoldSetConfig
from chunk_assets.parsing.config import ParsingOptions
from chunk_assets.retrieval.config import RetrievalConfig
from chunk_assets.sources.config import SourceConfig
from chunk_assets.strict_model import StrictModel
from chunk_assets.validation import explain, json_schema_of, nearest
from partitions.buckets import MAX_BUCKETS
from resources.schemas import SHARED_TABLES
from resources.vector_store_config import EmbeddedStore, VectorStoreConfig

CONFIG_ENVIRONMENT_VARIABLE = "CHUNK_ASSETS_CONFIG"
DEFAULT_FILE = "chunk_assets.yaml"


_NAME = re.compile(r"^[a-z][a-z0-9_]*$")
_MAX_NAME = 40


def checked_name(name: str) -> str:
    """The name of an embedder, strategy, corpus or gold set.

    Raises:
        ValueError: if it is none, saying what a name is and how it might be written.
    """
    if not _NAME.fullmatch(name) or len(name) > _MAX_NAME:
        near = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_0123456789")[:_MAX_NAME].strip("_")
        raise ValueError(
            f"{name!r} is no name: a name begins with a letter and has up to {_MAX_NAME} "
            f"lower-case letters, digits and '_'{f'; write {near!r}, for example' if near else ''}"
        )
    if "__" in name or name.endswith("_"):
        raise ValueError(
            f"{name!r}: names are joined by '__' into index and collection names, so a name holds "
            "no '__' and does not end in '_'"
        )
    return name


Name = Annotated[
    str,
    AfterValidator(checked_name),
    WithJsonSchema({"type": "string", "pattern": _NAME.pattern, "maxLength": _MAX_NAME}),
]


class CorpusConfig(StrictModel):
    """A pile of documents, the ways to cut and embed it, and the questions that judge them."""

    description: str = ""
    """Shown in the UI; changing it rebuilds nothing."""
    source: SourceConfig
    """Where the documents come from."""
    parsing: ParsingOptions = ParsingOptions()
    """How they become text."""
    buckets: Annotated[int, Field(ge=1, le=MAX_BUCKETS)] = 8
    """How many parts the corpus is split into (partitions of every per-document asset)."""
    strategies: list[str] | None = None
    """Names from `strategies:`; default: all of them."""
    embedders: list[str] | None = None
    """Names from `embedders:`; default: all of them."""
    serve: str | None = None
    """The index that the corpus's alias points to; default: first strategy with first embedder."""
    gold: dict[Name, GoldSetConfig] = Field(default_factory=dict)
    """Gold sets by name."""
    retrieval: RetrievalConfig = RetrievalConfig()
    """How a query is answered, in evaluation and in search alike."""


class Configuration(StrictModel):
    """All of `chunk_assets.yaml`."""

    version: Literal[1] = 1
    """The format of this file."""
    storage: Annotated[str, StringConstraints(min_length=1)] = ".chunk_assets"
    """A folder (relative to this file) or a URI that Delta Lake can write (`s3://bucket/path`)."""
    storage_options: dict[str, Secret] = Field(default_factory=dict)
    """Options of the object store; each value as `${NAME}`."""
    vector_store: VectorStoreConfig = EmbeddedStore()
    """Where the collections are."""
    embedders: Annotated[dict[Name, EmbedderConfig], Field(min_length=1)]
    """Embedding models by name."""
    strategies: Annotated[dict[Name, Strategy], Field(min_length=1)]
    """Ways to cut by name."""
    corpora: Annotated[dict[Name, CorpusConfig], Field(min_length=1)]
    """Corpora by name."""

    @model_validator(mode="after")
    def _names_exist(self) -> Self:
        for corpus_name, corpus in self.corpora.items():
            where = f"corpora.{corpus_name}"
            if corpus_name in SHARED_TABLES:
                raise ValueError(
                    f"{where}: {corpus_name!r} is the name of a table that all corpora share; give "
                    "the corpus another name"
                )
            _check_names(f"{where}.strategies", corpus.strategies, self.strategies)
            _check_names(f"{where}.embedders", corpus.embedders, self.embedders)
            if corpus.serve is not None:
                strategies = corpus.strategies or list(self.strategies)
                embedders = corpus.embedders or list(self.embedders)
                indexes = [f"{s}__{e}" for s in strategies for e in embedders]
                _check_names(f"{where}.serve", [corpus.serve], indexes)
        return self


def _check_names(where: str, names: list[str] | None, defined: Any) -> None:  # noqa: ANN401
    if names is None:
        return
    if not names:
        raise ValueError(f"{where}: the list is empty; leave the key out to take all")
    for name in names:
        if name not in defined:
            raise ValueError(f"{where}: {name!r} is not defined; {nearest(name, defined)}")
    if len(set(names)) < len(names):
        raise ValueError(f"{where}: a name stands twice in {names}")


class _UniqueKeyLoader(yaml.SafeLoader):
    """PyYAML keeps the last of two equal keys in silence; a configuration must not lose one."""


def _unique_mapping(loader: _UniqueKeyLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen = set()
    for key_node, _ in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise ConfigurationError(
                f"line {line}: a key is a mapping or a list; expected a name, quoted if it holds "
                "braces or brackets"
            )
        key = loader.construct_object(key_node)
        if key in seen:
            raise ConfigurationError(f"line {line}: the key {key!r} stands twice; keep one of them")
        seen.add(key)
    loader.flatten_mapping(node)
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


_UniqueKeyLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _unique_mapping)


def config_path(path: str | Path | None = None) -> Path:
    """The file to read: the argument, else `$CHUNK_ASSETS_CONFIG`, else `./chunk_assets.yaml`."""
    return Path(path or os.environ.get(CONFIG_ENVIRONMENT_VARIABLE) or DEFAULT_FILE).absolute()


def load_configuration(path: Path) -> Configuration:
    """Read and validate a configuration file.

    Raises:
        ConfigurationError: if it does not exist, is no YAML, or does not fit the model; the
            message lists every mistake with its place and what is allowed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigurationError(
            f"There is no configuration at {path}. Write one with `chunk-assets init DIR`, or name "
            f"one with --config or {CONFIG_ENVIRONMENT_VARIABLE}."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error
    try:
        value = yaml.load(text, Loader=_UniqueKeyLoader)  # noqa: S506 - derives from SafeLoader
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{path} is not valid YAML: {error}") from error
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}, {error}") from None
    if not isinstance(value, dict):
        raise ConfigurationError(
            f"{path} holds {'nothing' if value is None else type(value).__name__}; expected "
            "a mapping with the keys embedders, strategies and corpora"
        )
    try:
        return Configuration.model_validate(value)
    except ValidationError as error:
        mistakes = explain(error, json_schema_of(Configuration))
        raise ConfigurationError(f"{path} is not valid:\n{mistakes}") from None


def storage_root(configuration: Configuration, path: Path) -> str:
    """`storage:` with variables expanded; a relative folder lies beside the configuration file."""
    storage = expand(configuration.storage)
    return storage if "://" in storage else str((path.parent / storage).absolute())

"""Everything an asset is given, built lazily from one configuration file."""

import operator
import os
import subprocess
from collections.abc import Callable, Mapping
from functools import cache, cached_property, reduce
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from chunk_assets.chunking.strategy import Strategy, strategy_fingerprint
from chunk_assets.config import Configuration, load_configuration, storage_root
from chunk_assets.corpus import Corpus, Index, corpora_of
from chunk_assets.embedding.config import PACKAGE_PREFIX, EmbedderConfig
from chunk_assets.embedding.embedder import Embedder
from chunk_assets.embedding.registry import build_embedder
from chunk_assets.embedding.remote_probe_store import keep_probes
from chunk_assets.embedding.tokenizer import Tokenizer
from chunk_assets.environment import expand
from chunk_assets.errors import ConfigurationError
from chunk_assets.lineage.identity import Fingerprint, fingerprint
from chunk_assets.lineage.sql_models import SqlModel
from chunk_assets.parsing.config import parser_fingerprint
from chunk_assets.retrieval.vector_store import VectorStore
from chunk_assets.sources.config import build_source
from chunk_assets.sources.source import Source
from partitions.stages import column_values
from resources.listings import Listings
from resources.probes import Probes
from resources.quarantine import Quarantine
from resources.run_log import RunLog
from resources.schemas import PARTITIONED_BY
from resources.tables import Tables
from resources.vector_store_config import build_vector_store
from resources.warehouse import Warehouse


class Platform:
    """One configuration with the tables, models and stores it names.

    Building one reads the configuration and nothing else; every part is made on first use, so a
    run that embeds nothing loads no model.
    """

    def __init__(self, configuration: Configuration, path: Path) -> None:
        self.configuration = configuration
        self.path = path
        self.storage = storage_root(configuration, path)
        self.corpora: dict[str, Corpus] = corpora_of(configuration)
        self._sources: dict[str, Source] = {}
        self._embedders: dict[str, Embedder] = {}
        self.on_progress: Callable[[str, int, int], None] = lambda unit, done, total: None
        """Told the unit, what is done and the total of long work inside a partition."""

    @classmethod
    def from_file(cls, path: Path) -> "Platform":
        """Read a configuration file.

        Raises:
            ConfigurationError: if it is missing or wrong.
        """
        platform = cls(load_configuration(path), path)
        platform.check_limits(at_hand_only=True)
        return platform

    @cached_property
    def tables(self) -> Tables:
        """The Delta tables."""
        options = self.configuration.storage_options
        return Tables(self.storage, {key: expand(value) for key, value in options.items()})

    @cached_property
    def run_log(self) -> RunLog:
        """What was materialized from what."""
        return RunLog(self.tables)

    @cached_property
    def quarantine(self) -> Quarantine:
        """What could not be processed."""
        return Quarantine(self.tables)

    @cached_property
    def warehouse(self) -> Warehouse:
        """DuckDB over the tables."""
        return Warehouse(self.tables, axes_of=self.corpora.get)

    def read(
        self,
        corpus: Corpus,
        stage: str,
        columns: list[str] | None = None,
        where: Mapping[str, str] | None = None,
    ) -> pa.Table:
        """Rows of all partitions of a stage that the configuration defines.

        Those of a strategy that was removed, or of a bucket when there were more, stay stored; a
        reader of several partitions must not see them.
        """
        values = column_values(corpus)
        defined = [pc.field(name).isin(values[name]) for name in PARTITIONED_BY[stage]]
        return self.tables.read(
            corpus.table(stage), columns, where, filter=reduce(operator.and_, defined)
        )

    @property
    def sql_models(self) -> dict[str, SqlModel]:
        """The SQL models that are assets, in an order in which they can run."""
        return self.warehouse.models

    def upstream_marts(self, model: SqlModel) -> list[str]:
        """The stored models that a model reads."""
        return [name for name in model.depends_on if name in self.sql_models]

    @cached_property
    def vector_store(self) -> VectorStore:
        """The collections."""
        return build_vector_store(self.configuration.vector_store, Path(self.local_folder))

    @cached_property
    def listings(self) -> Listings:
        """The listings of the sources."""
        counts = {name: corpus.config.buckets for name, corpus in self.corpora.items()}
        return Listings(counts, self.source)

    @property
    def local_folder(self) -> str:
        """Where things that must be local lie (the embedded store, Dagster's instance)."""
        return str(self.path.parent / ".chunk_assets") if "://" in self.storage else self.storage

    def corpus(self, name: str) -> Corpus:
        """A corpus by name.

        Raises:
            ConfigurationError: if the configuration has none of that name.
        """
        if name not in self.corpora:
            known = ", ".join(sorted(self.corpora))
            raise ConfigurationError(f"There is no corpus {name!r}; {self.path} defines: {known}")
        return self.corpora[name]

    def source(self, corpus: str) -> Source:
        """The source of a corpus."""
        if corpus not in self._sources:
            config = self.corpus(corpus).config.source
            own = [self.path, Path(self.local_folder), Path(self.local_folder) / "dagster"]
            own += [Path(home)] if (home := os.environ.get("DAGSTER_HOME")) else []
            self._sources[corpus] = build_source(config, self.path.parent, own)
        return self._sources[corpus]

    def embedder(self, name: str) -> Embedder:
        """An embedder by name; its model loads when it first embeds."""
        if name not in self._embedders:
            embedder = build_embedder(name, self.embedder_config(name))
            keep_probes(embedder, Probes(lambda: self.tables))
            self._embedders[name] = embedder
        return self._embedders[name]

    def embedder_config(self, name: str) -> EmbedderConfig:
        """The settings of an embedder, relative paths resolved."""
        config = self.configuration.embedders[name]
        if config.model.startswith(("./", "../")):
            # Relative to the file that says so, wherever the command is run.
            folder = str((self.path.parent / config.model).resolve())
            config = config.model_copy(update={"model": folder})
        if config.remote is not None:
            remote = config.remote.beside(self.path.parent)
            config = config.model_copy(update={"remote": remote})
        return config

    def tokenizer(self, corpus: Corpus, strategy: str) -> Tokenizer | None:
        """What a strategy's sizes are counted with; None unless its unit is tokens.

        Raises:
            ConfigurationError: if several embedders with different tokenizers share the strategy
                and it names none of them.
        """
        config: Strategy = corpus.strategy_configs[strategy]
        if config.unit != "tokens":
            return None
        if config.tokenizer is not None:
            if config.tokenizer not in self.configuration.embedders:
                known = ", ".join(sorted(self.configuration.embedders))
                raise ConfigurationError(
                    f"strategies.{strategy}.tokenizer: {config.tokenizer!r} is no embedder; name "
                    f"one of: {known}"
                )
            return self.embedder(config.tokenizer).tokenizer
        first, *others = [self.embedder(name).tokenizer for name in corpus.embedder_configs]
        if not all(_are_equal(first, other) for other in others):
            names = ", ".join(corpus.embedder_configs)
            raise ConfigurationError(
                f"strategies.{strategy}: corpus {corpus.name!r} indexes it with embedders of "
                f"different tokenizers ({names}); say which one counts: tokenizer: NAME"
            )
        return first

    def reference_tokenizer(self, corpus: Corpus) -> Tokenizer:
        """What retrieved texts are measured with, the same for all indexes of a corpus."""
        return self.embedder(next(iter(corpus.embedder_configs))).tokenizer

    def strategy_fingerprint(self, corpus: Corpus, strategy: str) -> Fingerprint:
        """The identity of a strategy in a corpus."""
        tokenizer = self.tokenizer(corpus, strategy)
        return strategy_fingerprint(
            corpus.strategy_configs[strategy], None if tokenizer is None else tokenizer.fingerprint
        )

    def parser_fingerprint(self, corpus: Corpus) -> Fingerprint:
        """The identity of how a corpus is parsed."""
        return parser_fingerprint(corpus.config.parsing)

    def index_fingerprint(self, corpus: Corpus, index: Index) -> Fingerprint:
        """The identity of what a collection's points are made with."""
        return fingerprint(
            "index",
            {
                "strategy": self.strategy_fingerprint(corpus, index.strategy),
                "embedder": self.embedder(index.embedder).fingerprint,
                "sparse": corpus.config.retrieval.bm25.fingerprint,
            },
        )

    def collection_name(self, corpus: Corpus, index: Index) -> str:
        """`handbook__hierarchy__minilm__3f9a`: a changed configuration is another collection."""
        return f"{corpus.name}__{index.name}__{self.index_fingerprint(corpus, index)[:8]}"

    def gold_path(self, corpus: Corpus, gold_set: str) -> Path:
        """The file of a gold set; a relative path lies beside the configuration file."""
        return self.path.parent / expand(str(corpus.config.gold[gold_set].path))

    def check_limits(self, *, at_hand_only: bool = False) -> None:
        """Refuse strategies whose token limit a model of theirs cannot hold.

        Args:
            at_hand_only: leave out models that may have to be downloaded, or that code of the
                user's makes, to know their limit.

        Raises:
            ConfigurationError: naming strategy, embedder and both numbers.
        """
        for corpus in self.corpora.values():
            if at_hand_only and not all(map(_is_at_hand, corpus.embedder_configs.values())):
                continue
            for index in corpus.indexes.values():
                self._check_limit(corpus, index)

    def _check_limit(self, corpus: Corpus, index: Index) -> None:
        strategy = corpus.strategy_configs[index.strategy]
        tokenizer = self.tokenizer(corpus, index.strategy)
        embedder = self.embedder(index.embedder)
        if tokenizer is None or not _are_equal(tokenizer, embedder.tokenizer):
            return  # another unit: what exceeds the model is pooled and flagged when embedded
        if strategy.maximum > embedder.max_tokens:
            raise ConfigurationError(
                f"strategies.{index.strategy}: max_tokens is {strategy.maximum}, but the model of "
                f"embedder {index.embedder!r} holds {embedder.max_tokens} tokens of text. Lower "
                f"max_tokens to {embedder.max_tokens} or less, or name another embedder in "
                f"corpora.{corpus.name}.embedders."
            )


def _are_equal(one: Tokenizer, other: Tokenizer) -> bool:
    # A fingerprint reads the whole vocabulary; most corpora have one embedder.
    return one is other or one.fingerprint == other.fingerprint


def _is_at_hand(config: EmbedderConfig) -> bool:
    files = config.model if config.remote is None else config.remote.tokenizer
    on_disk = files.startswith((PACKAGE_PREFIX, "./", "../", "/", "~"))
    return config.backend != "custom" and on_disk


@cache
def git_commit(folder: Path) -> str:
    """The commit that is checked out in a folder; empty outside a repository."""
    try:
        result = subprocess.run(
            ["git", "rev-parse", "HEAD"],  # noqa: S607 - the user's own git
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""

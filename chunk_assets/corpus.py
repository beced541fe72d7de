"""A corpus as the configuration defines it: its buckets, strategies, indexes and gold sets."""

from dataclasses import dataclass
from functools import cached_property

from chunk_assets.chunking.strategy import Strategy
from chunk_assets.config import Configuration, CorpusConfig
from chunk_assets.embedding.config import EmbedderConfig
from partitions.buckets import bucket_names


@dataclass(frozen=True, slots=True)
class Index:
    """A strategy with an embedder: exactly one collection."""

    name: str
    strategy: str
    embedder: str


@dataclass(frozen=True)
class Corpus:
    """One entry of `corpora:` with everything it refers to."""

    name: str
    config: CorpusConfig
    strategy_configs: dict[str, Strategy]
    embedder_configs: dict[str, EmbedderConfig]

    @cached_property
    def buckets(self) -> list[str]:
        """Bucket names, in order."""
        return bucket_names(self.config.buckets)

    @cached_property
    def strategies(self) -> list[str]:
        """Strategy names, in the order of the configuration."""
        return list(self.strategy_configs)

    @cached_property
    def indexes(self) -> dict[str, Index]:
        """Every strategy with every embedder."""
        pairs = [(s, e) for s in self.strategy_configs for e in self.embedder_configs]
        return {f"{s}__{e}": Index(f"{s}__{e}", s, e) for s, e in pairs}

    @cached_property
    def index_strategies(self) -> dict[str, str]:
        """Index name → its strategy."""
        return {index.name: index.strategy for index in self.indexes.values()}

    @cached_property
    def gold_sets(self) -> list[str]:
        """Gold set names, in the order of the configuration."""
        return list(self.config.gold)

    @property
    def served_index(self) -> str:
        """The index that the corpus's alias points to."""
        return self.config.serve or next(iter(self.indexes))

    def table(self, stage: str) -> str:
        """The name of a stage's table."""
        return f"{self.name}/{stage}"


def corpora_of(configuration: Configuration) -> dict[str, Corpus]:
    """Every corpus of a configuration, by name."""
    return {
        name: Corpus(
            name=name,
            config=config,
            strategy_configs={
                key: configuration.strategies[key]
                for key in config.strategies or configuration.strategies
            },
            embedder_configs={
                key: configuration.embedders[key]
                for key in config.embedders or configuration.embedders
            },
        )
        for name, config in configuration.corpora.items()
    }

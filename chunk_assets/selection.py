"""`--select corpus/strategy/bucket`: which partitions a command is about."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from chunk_assets.corpus import Corpus
from chunk_assets.errors import ConfigurationError
from chunk_assets.validation import nearest
from partitions.stages import StagePartition, split

_WITHOUT_STRATEGY = ("raw_documents", "documents")
_WITH_BUCKET = ("raw_documents", "documents", "chunks", "embeddings")
_CONFIGURATION = ("strategy_config", "embedder_config")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One `corpus/strategy/bucket`; every part may hold `*`, and later parts may be left out."""

    corpus: str
    strategy: str = "*"
    bucket: str = "*"


@dataclass(frozen=True, slots=True)
class Selection:
    """What at least one pattern includes; no pattern includes everything."""

    patterns: tuple[Pattern, ...] = (Pattern("*"),)

    def includes_corpus(self, corpus: str) -> bool:
        """Whether anything of a corpus is selected."""
        return any(fnmatchcase(corpus, pattern.corpus) for pattern in self.patterns)

    def includes(self, corpus: Corpus, work: StagePartition) -> bool:
        """Whether a partition is selected.

        A strategy selects its chunks, its indexes and all that they are made from. A bucket
        selects what is partitioned by bucket alone: a collection is made from all buckets.
        """
        return any(_includes(pattern, corpus, work) for pattern in self.patterns)


def _includes(pattern: Pattern, corpus: Corpus, work: StagePartition) -> bool:
    if not fnmatchcase(corpus.name, pattern.corpus):
        return False
    first, second = split(work.partition)
    if work.stage in _WITH_BUCKET:
        if not fnmatchcase(first, pattern.bucket):
            return False
    elif pattern.bucket != "*" and work.stage not in _CONFIGURATION:
        return False
    if work.stage in _WITHOUT_STRATEGY or not work.partition:
        return True
    name = second or first
    index = corpus.indexes.get(name)
    names = [name] if index is None else [name, index.strategy]
    if work.stage in ("chunks", "strategy_config"):
        names += [i.name for i in corpus.indexes.values() if i.strategy == name]
    return any(fnmatchcase(candidate, pattern.strategy) for candidate in names)


def parse_selection(texts: Sequence[str], corpora: dict[str, Corpus]) -> Selection:
    """Read `--select` values.

    Raises:
        ConfigurationError: if a part names nothing that exists.
    """
    if not texts:
        return Selection()
    patterns = []
    for text in texts:
        parts = text.strip("/").split("/")
        if len(parts) > 3 or not all(parts):
            raise ConfigurationError(
                f"--select {text!r}: expected corpus, corpus/strategy or corpus/strategy/bucket; "
                "* stands for all"
            )
        pattern = Pattern(*parts)
        matched = [c for name, c in corpora.items() if fnmatchcase(name, pattern.corpus)]
        if not matched:
            raise ConfigurationError(
                f"--select {text!r}: no corpus {pattern.corpus!r}; {nearest(parts[0], corpora)}"
            )
        known = {name for corpus in matched for name in (*corpus.strategies, *corpus.indexes)}
        _must_match(text, "strategy or index", pattern.strategy, known)
        buckets = {bucket for corpus in matched for bucket in corpus.buckets}
        _must_match(text, "bucket", pattern.bucket, buckets)
        patterns.append(pattern)
    return Selection(tuple(patterns))


def _must_match(text: str, what: str, pattern: str, known: set[str]) -> None:
    if not any(fnmatchcase(name, pattern) for name in known):
        raise ConfigurationError(
            f"--select {text!r}: no {what} {pattern!r}; {nearest(pattern, known)}"
        )

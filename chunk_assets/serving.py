"""Searching what is served: the aliases decide which collection answers."""

from collections.abc import Callable

from chunk_assets.corpus import Corpus, Index
from chunk_assets.errors import ConfigurationError, VectorStoreError
from chunk_assets.retrieval.search import SearchHit, search
from chunk_assets.validation import nearest
from partitions.stages import StagePartition
from resources.platform import Platform


def only_corpus(platform: Platform, name: str | None) -> Corpus:
    """The named corpus, or the only one there is.

    Raises:
        ConfigurationError: if none is named and there are several, or the name is unknown.
    """
    if name is not None:
        return platform.corpus(name)
    if len(platform.corpora) > 1:
        known = ", ".join(platform.corpora)
        raise ConfigurationError(f"There are several corpora ({known}); say which: --corpus NAME")
    return next(iter(platform.corpora.values()))


def index_of(corpus: Corpus, name: str | None) -> Index:
    """An index by its own name or its strategy's; the served one for None.

    Raises:
        ConfigurationError: if there is none of that name, or the strategy has several.
    """
    if name is None:
        return corpus.indexes[corpus.served_index]
    if name in corpus.indexes:
        return corpus.indexes[name]
    matching = [index for index in corpus.indexes.values() if index.strategy == name]
    if len(matching) == 1:
        return matching[0]
    if matching:
        names = ", ".join(index.name for index in matching)
        raise ConfigurationError(f"Strategy {name!r} has several indexes; name one: {names}")
    known = [*corpus.strategies, *corpus.indexes]
    raise ConfigurationError(
        f"Corpus {corpus.name!r} has no strategy or index {name!r}; {nearest(name, known)}"
    )


def search_corpus(
    platform: Platform,
    query: str,
    *,
    corpus: str | None,
    strategy: str | None,
    k: int,
    on_wait: Callable[[str], None],
) -> list[SearchHit]:
    """The best chunks for a query.

    Raises:
        ChunkAssetsError: if nothing was built yet or a name is wrong.
    """
    chosen = only_corpus(platform, corpus)
    index = index_of(chosen, strategy)
    alias = chosen.name if strategy is None else f"{chosen.name}__{index.name}"
    aliases = platform.vector_store.aliases()
    if alias not in aliases:
        raise VectorStoreError(
            f"There is no collection for {chosen.name!r} ({index.name}) yet. "
            "Build it with `chunk-assets apply`."
        )
    if strategy is None:
        index = _served(chosen, aliases, index)
    embedder = platform.embedder(index.embedder)
    with platform.vector_store.open(alias, on_wait=on_wait) as collection:
        hits = search(collection, embedder, [query], k=k, config=chosen.config.retrieval)[0]
        emptied = not hits and collection.count() == 0
    if emptied and _points_built(platform, chosen, index):
        raise VectorStoreError(
            f"The collection of {chosen.name!r} ({index.name}) was built but is empty: it was "
            "damaged. Fill it again with `chunk-assets apply`, which embeds nothing anew."
        )
    made_by = {hit.payload["embedder_fingerprint"] for hit in hits}
    if chosen.config.retrieval.mode != "sparse" and made_by - {embedder.fingerprint}:
        raise VectorStoreError(
            f"The collection of {chosen.name!r} ({index.name}) was built with another model than "
            f"embedders.{index.embedder} describes now, so that its ranking would mean nothing. "
            "Build it anew with `chunk-assets apply`."
        )
    return hits


def _points_built(platform: Platform, corpus: Corpus, index: Index) -> int:
    built = platform.run_log.state(corpus.name).get(StagePartition("collections", index.name))
    return 0 if built is None else built.counts.get("points", 0)


def _served(corpus: Corpus, aliases: dict[str, str], configured: Index) -> Index:
    """The index whose collection the corpus's alias points to, whatever the configuration says."""
    target = aliases[corpus.name]
    names = sorted(corpus.indexes, key=len, reverse=True)
    found = next((n for n in names if target.startswith(f"{corpus.name}__{n}__")), None)
    return corpus.indexes[found] if found else configured

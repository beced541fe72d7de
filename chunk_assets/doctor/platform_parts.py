"""What a configuration names: variables, sources, gold sets, storage and the vector store."""

import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from chunk_assets.corpus import Corpus
from chunk_assets.doctor.finding import Finding, survive
from chunk_assets.doctor.machine import nearest_there
from chunk_assets.environment import references
from chunk_assets.evaluation.gold import parse_gold
from resources.lock_holder import holder_of
from resources.platform import Platform
from resources.vector_store_config import EmbeddedStore, build_vector_store

SOURCES, STORES = "Sources and gold sets", "Storage"

# Enough for a server that is there; who waits for the doctor does not wait for one that is not.
_SERVER_TIMEOUT_S = 5


def unset_variables(platform: Platform, group: str) -> Iterator[Finding]:
    """Environment variables that the configuration refers to and nobody has set."""
    values = platform.configuration.model_dump(mode="json")
    for embedder in values["embedders"].values():
        embedder.pop("options", None)  # a factory reads them, as they are
    named = {name for text in _texts(values) for name in references(text)}
    for config in platform.configuration.embedders.values():
        if config.remote is not None and config.remote.key_env is not None:
            named.add(config.remote.key_env)
    for name in sorted(named):
        if name in os.environ:
            yield Finding(group, name, "ok", "set")
        else:
            yield Finding(
                group,
                name,
                "problem",
                "the configuration refers to it, and it is not set",
                f"export {name}=… before you start",
            )


def source_findings(platform: Platform, corpus: Corpus) -> Iterator[Finding]:
    """Whether a corpus's documents can be listed, and its gold sets read."""
    yield from survive(SOURCES, corpus.name, lambda: _source(platform, corpus))
    yield from gold_findings(platform, corpus)


def gold_findings(platform: Platform, corpus: Corpus) -> Iterator[Finding]:
    """Whether a corpus's gold sets can be read."""
    for name in corpus.config.gold:
        yield from survive(
            SOURCES,
            f"{corpus.name}, gold set {name}",
            partial(_gold, platform, corpus, name),
        )


def storage_findings(platform: Platform) -> Iterator[Finding]:
    """Tables, Dagster's records, the vector store, and who else is at work."""
    yield from survive(STORES, "tables", lambda: _tables(platform))
    yield from survive(STORES, "Dagster's records", lambda: _dagster(platform))
    yield from survive(STORES, "vector store", lambda: _vector_store(platform))
    holder = holder_of(Path(platform.local_folder) / "apply.holder")
    if holder is not None:
        yield Finding(
            STORES,
            "apply",
            "warning",
            f"{holder} is at work on this storage",
            "nothing: another `chunk-assets apply` waits until it is done",
        )


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _source(platform: Platform, corpus: Corpus) -> Iterator[Finding]:
    items = platform.source(corpus.name).list_items()
    facts = {"documents": len(items)}
    if items:
        yield Finding(SOURCES, corpus.name, "ok", f"{len(items):,} documents", facts=facts)
        return
    yield Finding(
        SOURCES,
        corpus.name,
        "warning",
        "its source lists no document",
        f"check source, include and exclude under corpora.{corpus.name}",
        facts,
    )


def _gold(platform: Platform, corpus: Corpus, name: str) -> Iterator[Finding]:
    path = platform.gold_path(corpus, name)
    what = f"{corpus.name}, gold set {name}"
    if not path.is_file():
        yield Finding(
            SOURCES,
            what,
            "problem",
            f"there is no file {path}",
            f"write it, or correct corpora.{corpus.name}.gold.{name}.path",
        )
        return
    text = path.read_text(encoding="utf-8")
    queries = parse_gold(text, str(path), corpus.config.gold[name].scope)
    yield Finding(
        SOURCES, what, "ok", f"{len(queries):,} questions", facts={"questions": len(queries)}
    )


def _tables(platform: Platform) -> Iterator[Finding]:
    if "://" not in platform.storage:
        yield _writable("tables", Path(platform.storage))
        return
    there = platform.tables.exists("runs")  # contacts the object store
    yield Finding(
        STORES,
        "tables",
        "ok",
        f"{platform.storage} can be read{'' if there else '; nothing is stored yet'}",
    )


def _dagster(platform: Platform) -> Iterator[Finding]:
    home = os.environ.get("DAGSTER_HOME") or Path(platform.local_folder) / "dagster"
    yield _writable("Dagster's records", Path(home))


def _writable(name: str, folder: Path) -> Finding:
    place = nearest_there(folder)
    if not (place.is_dir() and os.access(place, os.W_OK | os.X_OK)):
        return Finding(
            STORES,
            name,
            "problem",
            f"{folder}: {place} is no folder that can be written",
            "correct its permissions, or name another folder",
        )
    state = "" if folder.exists() else "; nothing is stored yet"
    return Finding(STORES, name, "ok", f"{folder}{state}")


def _vector_store(platform: Platform) -> Iterator[Finding]:
    config = platform.configuration.vector_store
    if isinstance(config, EmbeddedStore):
        folder = Path(platform.local_folder) / config.folder.expanduser()
        yield _writable("vector store", folder)
        for record in sorted((folder / "collections").glob("*.holder")):
            holder = holder_of(record)
            if holder is not None:
                yield Finding(
                    STORES,
                    f"collection {record.stem}",
                    "warning",
                    f"{holder} has it open",
                    "nothing: others wait for it; a Qdrant server (vector_store.kind: server) "
                    "takes several at once",
                )
        store = platform.vector_store
    else:
        once = {"retries": 0, "timeout_s": min(config.timeout_s, _SERVER_TIMEOUT_S)}
        store = build_vector_store(config.model_copy(update=once), Path(platform.local_folder))
    names, aliases = store.names(), store.aliases()
    yield Finding(
        STORES,
        "collections",
        "ok",
        ", ".join(names) or "none yet",
        facts={"collections": [*names], "aliases": {**aliases}},
    )
    for alias, name in aliases.items():
        if name in names:
            yield Finding(STORES, f"alias {alias}", "ok", f"serves {name}")
        else:
            yield Finding(
                STORES,
                f"alias {alias}",
                "problem",
                f"points to collection {name}, which is not there",
                "run `chunk-assets apply`, which fills it again without embedding",
            )

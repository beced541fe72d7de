"""Searching what is served: the aliases decide, names are checked, another model is refused."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from small_platform import SmallPlatform, guide

from chunk_assets.errors import ChunkAssetsError, ConfigurationError, VectorStoreError
from chunk_assets.retrieval.search import SearchHit
from chunk_assets.serving import index_of, only_corpus, search_corpus

DOCS = {"source": {"kind": "files", "root": "docs"}, "buckets": 1}
EMBEDDERS = {
    name: {"backend": "custom", "factory": "counting_embedder:build", "options": {"seed": seed}}
    for seed, name in enumerate(("counting", "other"))
}


def find(
    small: SmallPlatform, query: str, *, strategy: str | None = None, k: int = 3
) -> list[SearchHit]:
    return search_corpus(
        small.platform(), query, corpus=None, strategy=strategy, k=k, on_wait=print
    )


@pytest.fixture
def several(tmp_path: Path) -> Iterator[SmallPlatform]:
    """Two corpora of two strategies and two embedders; nothing is built."""
    with dg.DagsterInstance.ephemeral() as instance:
        yield SmallPlatform(
            tmp_path, instance, extra={"embedders": EMBEDDERS, "corpora": {"a": DOCS, "b": DOCS}}
        )


def test_the_only_corpus_need_not_be_named(small: SmallPlatform) -> None:
    assert only_corpus(small.platform(), None).name == "guides"


def test_one_of_several_corpora_must_be_named(several: SmallPlatform) -> None:
    with pytest.raises(ConfigurationError, match=r"several corpora \(a, b\); say which"):
        only_corpus(several.platform(), None)
    assert only_corpus(several.platform(), "b").name == "b"


def test_an_index_goes_by_its_own_name_or_by_that_of_a_strategy_that_has_only_one(
    small: SmallPlatform, several: SmallPlatform
) -> None:
    corpus = small.platform().corpus("guides")
    assert index_of(corpus, "sentences").name == "sentences__counting"
    assert index_of(corpus, "hierarchy__counting").name == "hierarchy__counting"
    assert index_of(corpus, None).name == "hierarchy__counting"
    with pytest.raises(ConfigurationError, match="has several indexes; name one: sentences__count"):
        index_of(several.platform().corpus("a"), "sentences")
    with pytest.raises(ConfigurationError, match="did you mean 'sentences'"):
        index_of(corpus, "sentence")


def test_before_it_is_built_a_corpus_says_how_to_build_it(small: SmallPlatform) -> None:
    with pytest.raises(VectorStoreError, match=r"no collection for 'guides' .*chunk-assets apply"):
        find(small, "pump")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallPlatform]:
    with dg.DagsterInstance.ephemeral() as instance:
        small = SmallPlatform(tmp_path_factory.mktemp("serving"), instance, corpus={"buckets": 1})
        small.write({f"{name}.md": guide(name) for name in ("pump", "boiler")})
        assert not small.apply().failed
        yield small


@pytest.mark.slow
def test_a_search_finds_what_it_asks_for_with_its_source(built: SmallPlatform) -> None:
    hits = find(built, "boiler step 2 valve")
    assert [hit.rank for hit in hits] == [1, 2, 3]
    assert hits[0].uri == "boiler.md"
    text = (built.docs / "boiler.md").read_text()
    assert text[hits[0].start : hits[0].end] == hits[0].text


@pytest.mark.slow
def test_a_strategy_answers_with_its_own_chunks(built: SmallPlatform) -> None:
    own = set(
        built.platform()
        .tables.read("guides/chunks", ["chunk_id"], where={"strategy": "sentences"})["chunk_id"]
        .to_pylist()
    )
    assert {hit.chunk_id for hit in find(built, "pump", strategy="sentences", k=50)} == own


@pytest.mark.slow
def test_the_alias_decides_what_is_served_whatever_the_configuration_says(
    built: SmallPlatform,
) -> None:
    store = built.platform().vector_store
    hierarchy, sentences = (store.aliases()[f"guides__{s}__counting"] for s in built.strategies)
    assert store.aliases()["guides"] == hierarchy
    store.set_alias("guides", sentences)
    try:
        served = find(built, "pump")
    finally:
        store.set_alias("guides", hierarchy)
    assert served == find(built, "pump", strategy="sentences")


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"seed": 5}, {"dimension": 32}])
def test_a_model_that_did_not_make_the_vectors_is_refused(
    built: SmallPlatform, options: dict[str, int]
) -> None:
    with pytest.raises(VectorStoreError, match=r"dimension|another model"):
        find(replace(built, embedder_options=options), "pump")


@pytest.mark.slow
def test_a_strategy_that_was_edited_still_answers_with_what_is_built(built: SmallPlatform) -> None:
    edited = {**built.strategies, "hierarchy": {"chunker": "hierarchy", "max_words": 20}}
    assert find(replace(built, strategies=edited), "pump") == find(built, "pump")


@pytest.mark.slow
@pytest.mark.parametrize(("query", "k"), [("  ", 3), ("pump", 0)])
def test_a_search_without_words_or_without_places_is_refused(
    built: SmallPlatform, query: str, k: int
) -> None:
    with pytest.raises(ChunkAssetsError):
        find(built, query, k=k)

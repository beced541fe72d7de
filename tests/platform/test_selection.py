"""`--select corpus/strategy/bucket`: what it is read as, and what it includes."""

from collections.abc import Iterator

import dagster as dg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_platform import SmallPlatform

from chunk_assets.corpus import Corpus
from chunk_assets.errors import ConfigurationError
from chunk_assets.selection import Pattern, Selection, parse_selection
from partitions.stages import STAGES, StagePartition, partitions_of, upstream_of

EMBEDDERS = {
    name: {"backend": "custom", "factory": "counting_embedder:build", "options": {"seed": seed}}
    for seed, name in enumerate(("counting", "other"))
}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Corpus]]:
    """Two corpora of two strategies, two embedders and two buckets; the first one has gold."""
    docs = {"source": {"kind": "files", "root": "docs"}, "buckets": 2}
    gold = {"gold": {"easy": {"path": "easy.jsonl"}, "hierarchy": {"path": "h.jsonl"}}}
    corpora = {"guides": {**docs, **gold}, "wiki": {**docs, "buckets": 3}}
    with dg.DagsterInstance.ephemeral() as instance:
        small = SmallPlatform(
            tmp_path_factory.mktemp("selection"),
            instance,
            extra={"embedders": EMBEDDERS, "corpora": corpora},
        )
        yield small.platform().corpora


def selected(corpora: dict[str, Corpus], *texts: str, corpus: str = "guides") -> set[str]:
    """The partitions of a corpus that `--select` takes, SQL models included."""
    selection = parse_selection(texts, corpora)
    works = [work for stage in STAGES for work in partitions_of(corpora[corpus], stage)]
    works.append(StagePartition("leaderboard", ""))
    return {str(work) for work in works if selection.includes(corpora[corpus], work)}


def everything(corpora: dict[str, Corpus], corpus: str = "guides") -> set[str]:
    works = [work for stage in STAGES for work in partitions_of(corpora[corpus], stage)]
    return {str(work) for work in works} | {"leaderboard"}


@pytest.mark.parametrize("texts", [[], ["*"], ["guides"], ["guides/*"], ["g*/*/*"], ["guides/"]])
def test_everything_of_a_corpus(corpora: dict[str, Corpus], texts: list[str]) -> None:
    assert selected(corpora, *texts) == everything(corpora)


def test_another_corpus_is_left_out(corpora: dict[str, Corpus]) -> None:
    assert selected(corpora, "wiki") == set()
    assert selected(corpora, "wiki", corpus="wiki") == everything(corpora, "wiki")
    assert parse_selection(["wiki"], corpora).includes_corpus("wiki")
    assert not parse_selection(["wiki"], corpora).includes_corpus("guides")


def test_a_strategy_takes_all_it_is_made_from_and_all_that_is_made_of_it(
    corpora: dict[str, Corpus],
) -> None:
    assert selected(corpora, "guides/sentences") == {
        *("raw_documents/b00", "raw_documents/b01", "documents/b00", "documents/b01"),
        "strategy_config/sentences",
        *("chunks/b00|sentences", "chunks/b01|sentences"),
        *("embedder_config/sentences__counting", "embedder_config/sentences__other"),
        *("embeddings/b00|sentences__counting", "embeddings/b01|sentences__counting"),
        *("embeddings/b00|sentences__other", "embeddings/b01|sentences__other"),
        *("collections/sentences__counting", "collections/sentences__other"),
        *("retrieval_runs/easy|sentences__counting", "retrieval_runs/easy|sentences__other"),
        *("evaluations/easy|sentences__counting", "evaluations/easy|sentences__other"),
        *(
            "retrieval_runs/hierarchy|sentences__counting",
            "retrieval_runs/hierarchy|sentences__other",
        ),
        *("evaluations/hierarchy|sentences__counting", "evaluations/hierarchy|sentences__other"),
        "leaderboard",
    }


def test_an_index_takes_its_own_embeddings_and_the_chunks_of_its_strategy(
    corpora: dict[str, Corpus],
) -> None:
    taken = selected(corpora, "guides/sentences__other")
    assert {"chunks/b00|sentences", "strategy_config/sentences"} <= taken
    assert {"embeddings/b00|sentences__other", "collections/sentences__other"} <= taken
    assert not {name for name in taken if "counting" in name}
    assert not {name for name in taken if name.endswith("|hierarchy")}


def test_a_bucket_takes_what_is_partitioned_by_bucket_and_the_configuration(
    corpora: dict[str, Corpus],
) -> None:
    assert selected(corpora, "guides/hierarchy__other/b01") == {
        *("raw_documents/b01", "documents/b01", "strategy_config/hierarchy"),
        *("chunks/b01|hierarchy", "embedder_config/hierarchy__other"),
        "embeddings/b01|hierarchy__other",
    }


def test_several_patterns_take_what_any_of_them_takes(corpora: dict[str, Corpus]) -> None:
    one, other = "guides/hierarchy/b00", "guides/sentences/b01"
    both = selected(corpora, one, other)
    assert both == selected(corpora, one) | selected(corpora, other)
    assert "chunks/b01|hierarchy" not in both


def test_a_star_stands_for_any_part_of_a_name(corpora: dict[str, Corpus]) -> None:
    names = [f"guides/{s}__other/{b}" for s in ("hierarchy", "sentences") for b in ("b00", "b01")]
    assert selected(corpora, "guides/*__other/b0*") == selected(corpora, *names)


@given(
    strategy=st.sampled_from(["*", "hierarchy", "sentences__other", "*counting", "s*"]),
    bucket=st.sampled_from(["*", "b00", "b01", "*0"]),
)
def test_whatever_a_selected_partition_reads_is_selected_too(
    corpora: dict[str, Corpus], strategy: str, bucket: str
) -> None:
    # Otherwise `apply` would build it on something out of date.
    corpus = corpora["guides"]
    selection = Selection((Pattern("guides", strategy, bucket),))
    for stage in STAGES:
        for work in partitions_of(corpus, stage):
            if selection.includes(corpus, work):
                for upstream in upstream_of(corpus, work):
                    assert selection.includes(corpus, upstream), f"{work} reads {upstream}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("guide", "no corpus 'guide'; did you mean 'guides'?"),
        ("zebra", "no corpus 'zebra'; allowed: guides, wiki"),
        ("guides/hierarhy", "no strategy or index 'hierarhy'; did you mean 'hierarchy'?"),
        ("guides/hierarchy__othr", "did you mean 'hierarchy__other'?"),
        ("guides/hierarchy/b02", "no bucket 'b02'; did you mean"),
        ("guides/hierarchy/zebra", "no bucket 'zebra'; allowed: b00, b01"),
        ("guides//b00", "expected corpus, corpus/strategy or corpus/strategy/bucket"),
        ("guides/a/b/c", "expected corpus"),
        ("", "expected corpus"),
    ],
)
def test_what_names_nothing_is_refused_with_the_nearest_name(
    corpora: dict[str, Corpus], text: str, said: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_selection([text], corpora)
    assert f"--select {text!r}: " in str(caught.value)
    assert said in str(caught.value)


def test_a_bucket_need_only_exist_in_one_of_the_corpora_meant(corpora: dict[str, Corpus]) -> None:
    assert selected(corpora, "*/hierarchy/b02", corpus="wiki") >= {"documents/b02"}
    assert "documents/b00" not in selected(corpora, "*/hierarchy/b02")

"""What a configuration comes to: limits, tokenizers, fingerprints and names."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from chunk_assets.errors import ConfigurationError
from resources.platform import Platform, git_commit

COUNTING: dict[str, Any] = {
    "backend": "custom",
    "factory": "counting_embedder:build",
}


def platform(folder: Path, **changes: Any) -> Platform:  # noqa: ANN401
    configuration = {
        "embedders": {"counting": COUNTING},
        "strategies": {"long": {"chunker": "hierarchy", "max_tokens": 200}},
        "corpora": {"guides": {"source": {"kind": "files", "root": "docs"}}},
        **changes,
    }
    path = folder / "chunk_assets.yaml"
    path.write_text(yaml.safe_dump(configuration), encoding="utf-8")
    return Platform.from_file(path)


def strategy(**settings: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"strategies": {"long": {"chunker": "hierarchy", **settings}}}


def refusal(folder: Path, **changes: Any) -> str:  # noqa: ANN401
    with pytest.raises(ConfigurationError) as caught:
        platform(folder, **changes).check_limits()
    return str(caught.value)


def test_building_one_creates_nothing(tmp_path: Path) -> None:
    built = platform(tmp_path)
    assert built.tables.read("runs").num_rows == 0
    assert built.run_log.state("guides") == {}
    assert [path.name for path in tmp_path.iterdir()] == ["chunk_assets.yaml"]


def test_a_limit_that_the_default_model_cannot_hold_is_refused_with_both_numbers(
    tmp_path: Path,
) -> None:
    message = refusal(tmp_path, embedders={"minilm": {}}, **strategy(max_tokens=300))
    assert "strategies.long: max_tokens is 300" in message
    assert "'minilm' holds 254 tokens" in message
    assert "corpora.guides.embedders" in message


def test_the_limit_of_a_model_that_is_at_hand_is_checked_when_the_configuration_is_read(
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigurationError, match="max_tokens is 300"):
        platform(tmp_path, embedders={"minilm": {}}, **strategy(max_tokens=300))


@pytest.mark.parametrize("limit", [1, 254])
def test_a_limit_that_the_model_holds_is_accepted(tmp_path: Path, limit: int) -> None:
    platform(tmp_path, embedders={"minilm": {}}, **strategy(max_tokens=limit)).check_limits()


def test_the_default_limit_of_a_strategy_fits_the_default_model(tmp_path: Path) -> None:
    platform(tmp_path, embedders={"minilm": {}}, **strategy()).check_limits()


def test_a_smaller_model_makes_the_limit_smaller(tmp_path: Path) -> None:
    small = {"small": {**COUNTING, "max_tokens": 100}}
    message = refusal(tmp_path, embedders=small, **strategy(max_tokens=99))
    assert "99" in message
    assert "98" in message


def test_a_limit_in_words_is_not_compared_with_tokens(tmp_path: Path) -> None:
    # What exceeds the model is pooled and flagged when it is embedded.
    platform(tmp_path, **strategy(max_words=5_000)).check_limits()


def test_every_embedder_with_the_strategys_tokenizer_must_hold_its_limit(tmp_path: Path) -> None:
    both = {"wide": COUNTING, "narrow": {**COUNTING, "max_tokens": 64}}
    message = refusal(tmp_path, embedders=both, **strategy(max_tokens=100))
    assert "'narrow' holds 62 tokens" in message


@pytest.fixture
def other_tokenizer(tmp_path: Path) -> dict[str, Any]:
    """An embedder whose tokenizer counts otherwise than the default one's."""
    module = tmp_path / "letters_embedder.py"
    module.write_text(
        "from counting_embedder import CountingEmbedder\n"
        "class Letters:\n"
        "    name = fingerprint = 'letters'\n"
        "    def count(self, texts): return [len(text) for text in texts]\n"
        "class Embedder(CountingEmbedder):\n"
        "    tokenizer = Letters()\n"
        "def build(name, config): return Embedder(name, config)\n"
    )
    return {"backend": "custom", "factory": "letters_embedder:build"}


def test_embedders_with_different_tokenizers_demand_that_one_is_named(
    tmp_path: Path, other_tokenizer: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    both = {"counting": COUNTING, "letters": other_tokenizer}
    message = refusal(tmp_path, embedders=both)
    assert "strategies.long" in message
    assert "counting, letters" in message
    assert "tokenizer: NAME" in message
    named = platform(tmp_path, embedders=both, **strategy(max_tokens=200, tokenizer="counting"))
    named.check_limits()
    tokenizer = named.tokenizer(named.corpus("guides"), "long")
    assert tokenizer is not None
    assert tokenizer.fingerprint == named.embedder("counting").tokenizer.fingerprint


def test_embedders_that_share_a_tokenizer_need_not_name_one(tmp_path: Path) -> None:
    both = {"one": COUNTING, "two": {**COUNTING, "options": {"seed": 1}}}
    platform(tmp_path, embedders=both).check_limits()


def test_a_tokenizer_that_is_no_embedder_is_refused_with_those_there_are(tmp_path: Path) -> None:
    message = refusal(tmp_path, **strategy(max_tokens=200, tokenizer="countin"))
    assert "strategies.long.tokenizer: 'countin' is no embedder" in message
    assert "counting" in message


def test_a_strategy_in_words_has_no_tokenizer(tmp_path: Path) -> None:
    built = platform(tmp_path, **strategy(max_words=50))
    assert built.tokenizer(built.corpus("guides"), "long") is None


def test_an_unknown_corpus_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no corpus 'guide'; .* defines: guides"):
        platform(tmp_path).corpus("guide")


def name_of(platform: Platform) -> str:
    corpus = platform.corpus("guides")
    return platform.collection_name(corpus, next(iter(corpus.indexes.values())))


def test_a_collection_is_named_after_its_index_and_what_it_is_made_with(tmp_path: Path) -> None:
    name = name_of(platform(tmp_path))
    corpus, strategy, embedder, fingerprint = name.split("__")
    assert (corpus, strategy, embedder) == ("guides", "long", "counting")
    assert len(fingerprint) == 8


@pytest.mark.parametrize(
    "change",
    [
        strategy(max_tokens=150),
        {"embedders": {"counting": {**COUNTING, "options": {"seed": 1}}}},
        {
            "corpora": {
                "guides": {
                    "source": {"kind": "files", "root": "docs"},
                    "retrieval": {"bm25": {"k": 2.0}},
                }
            }
        },
    ],
    ids=["strategy", "embedder", "sparse vectors"],
)
def test_another_way_to_make_points_is_another_collection(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    before = name_of(platform(tmp_path))
    assert name_of(platform(tmp_path, **change)) != before


@pytest.mark.parametrize(
    "change",
    [
        strategy(max_tokens=200, description="a note"),
        {"embedders": {"counting": {**COUNTING, "description": "a note", "threads": 1}}},
        {
            "corpora": {
                "guides": {
                    "source": {"kind": "files", "root": "elsewhere"},
                    "retrieval": {"mode": "dense", "rrf_k": 10},
                    "description": "a note",
                    "buckets": 3,
                }
            }
        },
    ],
    ids=["strategy", "embedder", "corpus"],
)
def test_what_decides_no_point_keeps_the_collection(tmp_path: Path, change: dict[str, Any]) -> None:
    before = name_of(platform(tmp_path))
    assert name_of(platform(tmp_path, **change)) == before


def test_a_gold_set_lies_beside_the_configuration_or_where_a_variable_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOLD", "/mnt/gold")
    source = {"kind": "files", "root": "docs"}
    gold = {"near": {"path": "gold/q.jsonl"}, "far": {"path": "${GOLD}/q.jsonl"}}
    built = platform(tmp_path, corpora={"guides": {"source": source, "gold": gold}})
    corpus = built.corpus("guides")
    assert built.gold_path(corpus, "near") == tmp_path / "gold" / "q.jsonl"
    assert built.gold_path(corpus, "far") == Path("/mnt/gold/q.jsonl")


def test_what_must_be_local_stays_beside_the_configuration_of_a_bucket(tmp_path: Path) -> None:
    assert platform(tmp_path).local_folder == str(tmp_path / ".chunk_assets")
    remote = platform(tmp_path, storage="s3://bucket/path")
    assert remote.local_folder == str(tmp_path / ".chunk_assets")
    assert remote.tables.uri("vectors") == "s3://bucket/path/tables/vectors"


def test_the_commit_of_a_repository_is_known_and_elsewhere_there_is_none(tmp_path: Path) -> None:
    git_commit.cache_clear()
    assert git_commit(tmp_path) == ""
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, capture_output=True)
    git_commit.cache_clear()
    assert len(git_commit(tmp_path)) == 40


def test_a_store_that_refers_to_a_missing_variable_is_refused_when_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("QDRANT_KEY", raising=False)
    store = {"kind": "server", "url": "http://localhost:1", "api_key": "${QDRANT_KEY}"}
    built = platform(tmp_path, vector_store=store)
    with pytest.raises(ConfigurationError, match="QDRANT_KEY is not set"):
        assert built.vector_store

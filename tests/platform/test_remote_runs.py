"""A corpus embedded by an API, through real Dagster runs."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from embedding_server import EmbeddingServer
from small_platform import STRATEGIES, SmallPlatform, guide

from chunk_assets.embedding.config import DEFAULT_MODEL
from chunk_assets.embedding.remote_probe import PROBE_TEXTS
from chunk_assets.errors import EmbeddingError
from chunk_assets.retrieval.search import SearchHit
from chunk_assets.serving import search_corpus

pytestmark = pytest.mark.slow

KEY = "sk-0123456789"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    monkeypatch.setenv("OUR_KEY", KEY)
    with EmbeddingServer(key=KEY, noise=0.005) as running:
        yield running


@pytest.fixture
def built(small: SmallPlatform, server: EmbeddingServer) -> SmallPlatform:
    small.strategies = {"hierarchy": STRATEGIES["hierarchy"]}
    small.extra = {"embedders": {"api": settings(server)}}
    small.corpus = {"buckets": 1}
    small.write({f"{name}.md": guide(name) for name in ("pump", "crane")})
    report = small.apply()
    assert not report.failed, [result.message for result in report.failed]
    return small


def settings(server: EmbeddingServer, **more: object) -> dict[str, Any]:
    return {
        "backend": "openai",
        "model": "words",
        "max_tokens": 128,
        "remote": {
            "base_url": server.url,
            "api_key_env": "OUR_KEY",
            "dimension": 32,
            "tokenizer": DEFAULT_MODEL,
        },
        **more,
    }


def search(small: SmallPlatform) -> list[SearchHit]:
    question = "crane needs care in step 2"
    return search_corpus(
        small.platform(), question, corpus=None, strategy=None, k=3, on_wait=lambda _: None
    )


def assert_no_file_holds_the_key(folder: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def passages(server: EmbeddingServer) -> Counter[str]:
    """What was sent besides the probes."""
    return Counter(text for text in server.texts if not text.startswith(PROBE_TEXTS))


def test_every_text_is_sent_once_and_a_second_run_sends_nothing(
    built: SmallPlatform, server: EmbeddingServer
) -> None:
    chunks = built.platform().tables.read("guides/chunks")["embed_text"].to_pylist()
    assert passages(server) == dict.fromkeys(chunks, 1)

    server.requests.clear()
    report = built.apply()
    assert report.results == []
    assert server.requests == []

    assert search(built)[0].uri == "crane.md"
    assert len(server.requests) == 2, "the probes and the question"
    assert_no_file_holds_the_key(built.folder)
    [row] = built.platform().tables.read("guides/embedder_config").to_pylist()
    assert '"api_key_env":"OUR_KEY"' in row["configuration"]


def test_a_model_that_was_replaced_embeds_nothing_until_it_has_a_new_revision(
    built: SmallPlatform, server: EmbeddingServer
) -> None:
    server.requests.clear()
    built.write({"pump.md": guide("pump").replace("the lamp turns green", "the bell rings", 1)})
    server.seed = 1
    before = built.platform().tables.read("vectors").num_rows
    report = built.apply()

    assert any("is not the model that made the stored vectors" in r.message for r in report.failed)
    assert passages(server).total() == 0
    assert built.platform().tables.read("vectors").num_rows == before
    with pytest.raises(EmbeddingError, match="is not the model"):
        search(built)

    built.extra = {"embedders": {"api": settings(server, revision="2")}}
    report = built.apply()
    assert not report.failed
    chunks = built.platform().tables.read("guides/chunks").num_rows
    assert report.totals["embeddings"]["embedded"] == passages(server).total() == chunks
    assert search(built)[0].uri == "crane.md"

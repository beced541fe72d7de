"""An embedder behind an API, against a real server that answers well."""

import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from embedding_server import EmbeddingServer, changed, compressed, page
from remote_bench import RemoteBench

from chunk_assets.embedding.config import DEFAULT_MODEL, EmbedderConfig
from chunk_assets.embedding.openai_embedder import OpenAIEmbedder
from chunk_assets.embedding.remote_probe import PROBE_TEXTS
from chunk_assets.embedding.remote_tokenizer import load_api_tokenizer
from chunk_assets.embedding.unit_vectors import defect
from chunk_assets.errors import EmbeddingError

TEXTS = [f"text {number} {'word ' * (number % 7)}" for number in range(40)]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
def bench(server: EmbeddingServer) -> RemoteBench:
    return RemoteBench(server)


def test_every_text_gets_its_own_unit_vector(bench: RemoteBench) -> None:
    vectors = bench.embedder(batch_items=7).embed_passages(TEXTS)

    assert vectors.dtype == np.float32
    assert [defect(vector) for vector in vectors] == [None] * 40
    np.testing.assert_allclose(vectors, bench.expected(TEXTS), atol=1e-6)


def test_no_texts_are_no_request(bench: RemoteBench) -> None:
    assert bench.embedder().embed_passages([]).shape == (0, 32)
    assert bench.embedder().embed_queries([]).shape == (0, 32)
    assert bench.server.requests == []


def test_answers_in_another_order_go_to_the_right_texts(bench: RemoteBench) -> None:
    embedder = bench.verified()
    bench.server.then(changed(lambda value: value["data"].reverse()))
    vectors = embedder.embed_passages(TEXTS)
    np.testing.assert_allclose(vectors, bench.expected(TEXTS), atol=1e-6)


def test_requests_hold_so_many_texts_and_tokens(bench: RemoteBench) -> None:
    embedder = bench.verified(batch_items=6, batch_tokens=40)
    embedder.embed_passages(TEXTS)

    sizes = [len(request.texts) for request in bench.server.requests]
    tokens = [sum(map(bench.server.tokens, r.texts)) for r in bench.server.requests]
    assert max(sizes) == 6
    assert 34 < max(tokens) <= 40
    assert sum(sizes) == 40


def test_so_many_requests_are_under_way_at_once(bench: RemoteBench) -> None:
    embedder = bench.verified(batch_items=1, concurrency=3)
    bench.server.delay_s = 0.02
    bench.server.most_at_once = 0
    embedder.embed_passages(TEXTS[:12])
    assert bench.server.most_at_once == 3


def test_prompts_and_parameters_are_those_of_passages_and_of_queries(bench: RemoteBench) -> None:
    embedder = bench.verified(
        passage_prompt="passage: ",
        query_prompt="query: ",
        passage_parameters={"input_type": "passage"},
        query_parameters={"input_type": "query"},
    )
    embedder.embed_passages(["a text"])
    embedder.embed_queries(["a question"])

    passage, query = (request.json for request in bench.server.requests)
    assert passage == {"model": "m", "input": ["passage: a text"], "input_type": "passage"}
    assert query == {"model": "m", "input": ["query: a question"], "input_type": "query"}


def test_a_shorter_vector_is_asked_for_where_the_model_can_shorten_it(bench: RemoteBench) -> None:
    embedder = bench.embedder(dimension=8, send_dimensions=True)
    assert embedder.embed_passages(["a text"]).shape == (1, 8)
    assert {request.json["dimensions"] for request in bench.server.requests} == {8}


def test_vectors_in_base64_are_those_in_numbers(bench: RemoteBench) -> None:
    numbers = bench.embedder().embed_passages(TEXTS)
    packed = bench.embedder(encoding_format="base64").embed_passages(TEXTS)
    assert bench.server.requests[-1].json["encoding_format"] == "base64"
    assert np.array_equal(numbers, packed)


def test_compressed_answers_are_read(bench: RemoteBench) -> None:
    embedder = bench.verified()
    bench.server.then(compressed)
    np.testing.assert_allclose(embedder.embed_passages(TEXTS), bench.expected(TEXTS), atol=1e-6)


def test_the_type_of_the_content_may_be_wrong_if_the_content_is_right(bench: RemoteBench) -> None:
    embedder = bench.verified()
    bench.server.headers["Content-Type"] = "text/plain"
    assert embedder.embed_passages(["a text"]).shape == (1, 32)


@pytest.mark.parametrize(
    "text",
    [
        "猫 👩‍👩‍👧 \u200b",
        "line\nbreak\ttab",
        'quote " and \\',
        "\x00\x07",
        "lone \ud800 surrogate",
        "\ufeff",
    ],
    ids=ascii,
)
def test_any_text_can_be_sent(bench: RemoteBench, text: str) -> None:
    embedder = bench.verified()
    embedder.embed_passages([text])
    assert bench.server.texts == [text.replace("\ud800", "\ufffd")]


def test_a_text_that_is_too_long_is_refused_before_anything_is_sent(bench: RemoteBench) -> None:
    embedder = bench.verified(max_tokens=32, passage_prompt="about the pump: ")
    assert embedder.max_tokens == 32 - 2 - 4
    embedder.embed_passages(["word " * 26])
    with pytest.raises(EmbeddingError, match=r"text 2 of 2 makes an input of 33 tokens, but the"):
        embedder.embed_passages(["short", "word " * 27])
    assert len(bench.server.texts) == 1


def test_a_query_is_cut_where_the_model_ends(bench: RemoteBench) -> None:
    embedder = bench.verified(max_tokens=32, query_prompt="question: ")
    embedder.embed_queries(["word " * 100])
    [sent] = bench.server.texts
    assert sent.startswith("question: word word")
    assert bench.server.tokens(sent) == 32


def test_a_prompt_that_leaves_no_room_is_told(bench: RemoteBench) -> None:
    embedder = bench.embedder(max_tokens=16, passage_prompt="word " * 20)
    with pytest.raises(EmbeddingError, match="passage_prompt takes 20 of the model's 16 tokens"):
        embedder.max_tokens  # noqa: B018 - a property that raises


def test_what_the_server_charges_is_counted(bench: RemoteBench) -> None:
    embedder = bench.verified(batch_items=10)
    before = embedder.usage
    embedder.embed_passages(TEXTS)
    used = embedder.usage - before
    assert used.tokens == sum(map(bench.server.tokens, TEXTS))
    assert (used.requests, used.retries) == (4, 0)


def test_what_a_server_does_not_charge_is_counted_here(bench: RemoteBench) -> None:
    bench.server.counts = False
    embedder = bench.verified()
    before = embedder.usage
    embedder.embed_passages(TEXTS)
    assert (embedder.usage - before).tokens == sum(map(bench.server.tokens, TEXTS))


def test_what_a_gateway_charges_goes_before_what_is_counted_here(bench: RemoteBench) -> None:
    embedder = bench.verified()
    before = embedder.usage
    bench.server.then(changed(lambda value: value.update(usage={"total_tokens": 777})))
    embedder.embed_passages(TEXTS)
    assert (embedder.usage - before).tokens == 777


def test_what_is_known_of_an_embedder_asks_the_server_nothing(bench: RemoteBench) -> None:
    embedder = bench.embedder()
    assert len(embedder.fingerprint) == 32
    assert (embedder.name, embedder.dimension, embedder.max_tokens) == ("api", 32, 254)
    assert embedder.tokenizer.count(["a word"]) == [2]
    assert bench.server.requests == []


TOKENIZERS = {name: load_api_tokenizer(name) for name in (DEFAULT_MODEL, "openai:cl100k_base")}


def fingerprint(**settings: object) -> str:
    config = {"backend": "openai", "model": "m", "max_tokens": 256}
    remote = {"dimension": 32, "tokenizer": DEFAULT_MODEL}
    for name, value in settings.items():
        (config if name in EmbedderConfig.model_fields else remote)[name] = value
    validated = EmbedderConfig.model_validate({**config, "remote": remote})
    return OpenAIEmbedder("any", validated, TOKENIZERS[str(remote["tokenizer"])]).fingerprint


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "other"},
        {"revision": "2"},
        {"dimension": 16},
        {"max_tokens": 128},
        {"passage_prompt": "p: "},
        {"query_prompt": "q: "},
        {"passage_parameters": {"input_type": "passage"}},
        {"query_parameters": {"input_type": "query"}},
        {"overflow": "truncate"},
        {"tokenizer": "openai:cl100k_base"},
    ],
    ids=str,
)
def test_a_setting_that_decides_vectors_changes_the_fingerprint(settings: dict[str, Any]) -> None:
    assert fingerprint(**settings) != fingerprint()


@pytest.mark.parametrize(
    "settings",
    [
        {"base_url": "http://elsewhere/v1"},
        {"api_key_env": "OTHER_KEY"},
        {"headers": {"x-team": "search"}},
        {"batch_items": 3},
        {"batch_tokens": 300},
        {"concurrency": 1},
        {"requests_per_minute": 10},
        {"tokens_per_minute": 1000},
        {"timeout_s": 1.0},
        {"max_attempts": 1},
        {"deadline_s": 1.0},
        {"encoding_format": "base64"},
        {"send_dimensions": True},
        {"min_probe_cosine": 0.9},
        {"price_per_million_tokens": 0.02},
        {"description": "x"},
        {"passage_prompt": ""},
    ],
    ids=str,
)
def test_a_setting_that_decides_no_vector_leaves_the_fingerprint(settings: dict[str, Any]) -> None:
    assert fingerprint(**settings) == fingerprint()


def test_a_copy_in_another_process_is_the_same_and_carries_no_key(
    bench: RemoteBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_KEY", "sk-0123456789")
    bench.server.key = "sk-0123456789"
    embedder = bench.verified(api_key_env="OUR_KEY")
    pickled = pickle.dumps(embedder)
    copy = pickle.loads(pickled)  # noqa: S301 - made just now

    assert b"0123" not in pickled
    assert isinstance(copy, OpenAIEmbedder)
    assert copy.fingerprint == embedder.fingerprint
    assert np.array_equal(copy.embed_passages(TEXTS), embedder.embed_passages(TEXTS))


def test_the_first_call_sends_the_probe_texts_and_no_other_does(bench: RemoteBench) -> None:
    embedder = bench.embedder()
    embedder.embed_passages(["one"])
    embedder.embed_queries(["two"])
    assert [request.texts for request in bench.server.requests] == [
        list(PROBE_TEXTS),
        ["one"],
        ["two"],
    ]


def test_what_is_known_of_an_embedder_loads_no_http_library() -> None:
    code = (
        "import sys\n"
        "from chunk_assets.embedding.config import EmbedderConfig\n"
        "from chunk_assets.embedding.registry import build_embedder, describe\n"
        "remote = {'dimension': 8, 'tokenizer': 'openai:cl100k_base'}\n"
        "config = EmbedderConfig(backend='openai', model='m', max_tokens=99, remote=remote)\n"
        "embedder = build_embedder('api', config)\n"
        "str(describe(config)), embedder.fingerprint, embedder.dimension, embedder.max_tokens\n"
        "heavy = {'httpx2', 'anyio', 'ssl', 'tokenizers', 'bpe_openai', 'torch'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_answer_of_a_proxy_is_told_with_its_beginning(bench: RemoteBench) -> None:
    embedder = bench.embedder(max_attempts=1)
    bench.server.then(page(200, "<html><title>Sign in</title></html>"))
    with pytest.raises(EmbeddingError, match=r"no JSON; it begins '<html><title>Sign in"):
        embedder.embed_passages(["a text"])

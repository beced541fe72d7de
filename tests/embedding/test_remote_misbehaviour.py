"""An embedder behind an API, against a real server that does everything wrong."""

import logging
import os
import signal
import ssl
import threading
import traceback
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embedding_server import (
    Behaviour,
    EmbeddingServer,
    Limiter,
    Request,
    changed,
    close_after_the_answer,
    drip,
    drop_connection,
    end_in_the_body,
    good,
    half_compressed,
    hang,
    page,
    reset_in_the_body,
    status,
    write_certificate,
)
from remote_bench import SPEED, RemoteBench

from chunk_assets.embedding.embedder import Vectors
from chunk_assets.embedding.work import Block, EmbedReport, embed_missing
from chunk_assets.errors import ChunkAssetsError, EmbeddingError
from chunk_assets.lineage.identity import VectorKey

TEXTS = [f"text {number} {'word ' * (number % 7)}" for number in range(40)]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
def bench(server: EmbeddingServer) -> RemoteBench:
    return RemoteBench(server)


def error(message: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "code": code}}


def without(field: str) -> Behaviour:
    def change(value: dict[str, Any]) -> None:
        del value["data"][0][field]

    return changed(change)


def with_index(index: int) -> Behaviour:
    return changed(lambda value: value["data"][0].update(index=index))


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(status(500, error("boom")), id="500"),
        pytest.param(page(502, "<html>Bad gateway</html>"), id="502 page of a proxy"),
        pytest.param(status(503, error("overloaded")), id="503"),
        pytest.param(status(408, error("timeout")), id="408"),
        pytest.param(status(409, error("conflict")), id="409"),
        pytest.param(status(425, error("early")), id="425"),
        pytest.param(status(429, error("slow down")), id="429"),
        pytest.param(status(429, error("slow down"), {"Retry-After": "1"}), id="429 and a wait"),
        pytest.param(status(429, error("slow"), {"retry-after-ms": "700"}), id="429 and ms"),
        pytest.param(
            status(429, error("slow"), {"Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"}),
            id="429 and a date that is over",
        ),
        pytest.param(status(200, error("overloaded")), id="200 with an error"),
        pytest.param(status(200, {"error": {"code": 429, "message": "slow"}}), id="200 with 429"),
        pytest.param(page(200, "<html>Sign in</html>"), id="200 page of a proxy"),
        pytest.param(page(200, "", "application/json"), id="200 without a body"),
        pytest.param(page(200, '{"data": [', "application/json"), id="200 with half of JSON"),
        pytest.param(changed(lambda value: {"data": []}), id="no vectors"),
        pytest.param(changed(lambda value: value["data"].pop() and None), id="a vector missing"),
        pytest.param(changed(lambda v: v["data"].append(v["data"][0])), id="a vector too many"),
        pytest.param(with_index(3), id="an index twice"),
        pytest.param(with_index(99), id="an index of no text"),
        pytest.param(without("index"), id="an index missing"),
        pytest.param(drop_connection, id="no answer"),
        pytest.param(reset_in_the_body, id="reset in the body"),
        pytest.param(end_in_the_body, id="end in the body"),
        pytest.param(half_compressed, id="damaged gzip"),
    ],
)
def test_what_another_attempt_may_mend_is_sent_again(
    bench: RemoteBench, behaviour: Behaviour
) -> None:
    embedder = bench.verified(batch_items=10, concurrency=1)
    bench.server.then(good, behaviour)
    vectors = embedder.embed_passages(TEXTS)

    np.testing.assert_allclose(vectors, bench.expected(TEXTS), atol=1e-6)
    assert embedder.usage.retries == 1
    sent = [request.texts for request in bench.server.requests]
    assert sent == [TEXTS[:10], TEXTS[10:20], TEXTS[10:20], TEXTS[20:30], TEXTS[30:]]


@pytest.mark.parametrize("behaviour", [hang, drip])
def test_an_attempt_ends_when_its_time_is_over(bench: RemoteBench, behaviour: Behaviour) -> None:
    embedder = bench.verified(timeout_s=1.5)
    bench.server.then(behaviour)
    vectors = embedder.embed_passages(TEXTS[:3])

    np.testing.assert_allclose(vectors, bench.expected(TEXTS[:3]), atol=1e-6)
    assert embedder.usage.retries == 1


def test_connections_that_are_closed_in_between_do_no_harm(bench: RemoteBench) -> None:
    embedder = bench.verified(batch_items=4, concurrency=1)
    bench.server.then(*[close_after_the_answer] * 9)
    vectors = embedder.embed_passages(TEXTS)
    np.testing.assert_allclose(vectors, bench.expected(TEXTS), atol=1e-6)


def test_a_server_that_drops_half_of_the_requests_gets_them_all_answered(
    bench: RemoteBench,
) -> None:
    embedder = bench.verified(batch_items=2, max_attempts=40)
    bench.server.then(*[drop_connection, good] * 25)
    vectors = embedder.embed_passages(TEXTS)

    np.testing.assert_allclose(vectors, bench.expected(TEXTS), atol=1e-6)
    assert set(Counter(bench.server.answered[1:]).values()) <= {1, 5}, "nothing is paid for twice"
    assert embedder.usage.retries >= 15


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        (status(400, error("bad input")), r"refuses with 400: bad input\. One of 3 texts"),
        (status(422, {"detail": [{"msg": "no"}]}), "refuses with 422:"),
        (
            status(401, error("Incorrect key")),
            "Incorrect key. No key was sent: name the environment variable that holds it in api_k",
        ),
        (status(403, error("forbidden")), "refuses with 403: forbidden"),
        (
            status(404, error("The model `m` does not exist")),
            r"http://127\.0\.0\.1:\d+/v1/embeddings \(model 'm'\) refuses with 404: .*base_url",
        ),
        (page(404, "<html>nginx</html>"), "refuses with 404: <html>nginx</html>"),
        (
            status(422, {"detail": [{"input": "text 0 " * 50_000}]}),
            r'refuses with 422: \[\{"input": "text 0 (text 0 ){30,50}.{0,9}…\. One of 3 texts',
        ),
        (
            status(429, error("You exceeded your current quota", "insufficient_quota")),
            "no credit left, and waiting brings none: add some",
        ),
        (status(402, error("Payment required")), "no credit left"),
        (
            status(307, {}, {"Location": "https://elsewhere.example/v1/embeddings"}),
            "redirects to https://elsewhere.example/v1/embeddings, but .* correct it",
        ),
        (
            changed(lambda v: [item.update(embedding=[1.0, 2.0]) for item in v["data"]] and None),
            r"returned a vector of 2 components, but remote\.dimension is 32\. Correct it",
        ),
        (
            changed(lambda v: v["data"][1].update(embedding=[1.0] * 31)),
            "returned a vector of 31 components",
        ),
        (
            changed(lambda v: v["data"][1].update(embedding=[float("nan")] * 32)),
            "returned no vector for a text: its vector holds NaN, .* begins 'text 1 word",
        ),
        (changed(lambda v: v["data"][1].update(embedding=[0] * 32)), "its vector is zero"),
        (changed(lambda v: v["data"][1].update(embedding=None)), "its vector is null"),
        (changed(lambda v: v["data"][1].update(embedding=["1"] * 32)), "holds str instead of num"),
    ],
)
def test_what_no_attempt_can_mend_is_told_at_once(
    bench: RemoteBench, behaviour: Behaviour, message: str
) -> None:
    embedder = bench.verified()
    bench.server.then(behaviour)
    with pytest.raises(EmbeddingError, match=message):
        embedder.embed_passages(TEXTS[:3])
    assert len(bench.server.requests) == 1
    assert embedder.usage.retries == 0


def test_after_an_error_no_further_text_is_sent(bench: RemoteBench) -> None:
    embedder = bench.verified(batch_items=5, concurrency=1)
    bench.server.then(good, status(403, error("not this model")))
    with pytest.raises(EmbeddingError, match="403: not this model"):
        embedder.embed_passages(TEXTS)
    assert len(bench.server.requests) == 2


def test_an_error_ends_the_waits_of_other_requests(bench: RemoteBench) -> None:
    embedder = bench.verified(batch_items=20, concurrency=2)
    bench.server.then(
        status(429, error("slow down"), {"Retry-After": "500"}),
        status(403, error("not this model")),
    )
    with pytest.raises(EmbeddingError, match="403: not this model"):
        embedder.embed_passages(TEXTS)
    assert len(bench.server.requests) == 2


def test_a_wrong_key_names_the_variable_it_came_from(
    bench: RemoteBench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OUR_KEY", "sk-wrong")
    caplog.set_level(logging.DEBUG)
    bench.server.key = "sk-right"
    with pytest.raises(EmbeddingError, match="came from the environment variable OUR_KEY"):
        bench.embedder(api_key_env="OUR_KEY").embed_passages(["a text"])
    assert bench.server.requests[0].headers["Authorization"] == "Bearer sk-wrong"
    assert "sk-wrong" not in caplog.text


def test_failures_end_after_so_many_attempts(bench: RemoteBench) -> None:
    embedder = bench.verified(max_attempts=4)
    bench.server.then(*[status(500, error("boom"))] * 9)
    with pytest.raises(EmbeddingError, match=r"no answer to 4 requests .* the last one: 500: boom"):
        embedder.embed_passages(["a text"])
    assert len(bench.server.requests) == 4


def test_failures_end_at_the_deadline(bench: RemoteBench) -> None:
    embedder = bench.verified(max_attempts=100, deadline_s=20)
    bench.server.then(*[status(500, error("boom"))] * 99)
    with pytest.raises(EmbeddingError, match=r"no answer to \d+ requests .* deadline_s 20"):
        embedder.embed_passages(["a text"])
    assert len(bench.server.requests) < 8


def test_a_server_that_is_not_there_is_told() -> None:
    with EmbeddingServer() as server:
        bench = RemoteBench(server)
        embedder = bench.embedder(max_attempts=2)
    with pytest.raises(EmbeddingError, match=r"no answer to 2 requests .* Check that the server r"):
        embedder.embed_passages(["a text"])


def test_being_told_to_wait_is_no_failure(bench: RemoteBench) -> None:
    embedder = bench.verified(max_attempts=1)
    bench.server.then(*[status(429, error("slow down"), {"Retry-After": "1"})] * 5)
    embedder.embed_passages(["a text"])
    assert embedder.usage.retries == 5


def test_a_server_that_never_stops_asking_to_wait_is_told_at_the_deadline(
    bench: RemoteBench,
) -> None:
    embedder = bench.verified(deadline_s=30)
    bench.server.then(*[status(429, error("slow down"), {"Retry-After": "9"})] * 50)
    with pytest.raises(EmbeddingError, match=r"wait.*deadline_s"):
        embedder.embed_passages(["a text"])
    assert len(bench.server.requests) <= 4


def test_a_wait_of_a_day_is_told_instead_of_kept(bench: RemoteBench) -> None:
    embedder = bench.verified(batch_items=5, concurrency=1)
    bench.server.then(status(429, error("daily limit"), {"Retry-After": "86400"}))
    for _ in range(2):
        with pytest.raises(
            EmbeddingError, match=r"asks to wait 86,\d+ s, but a request may take 6"
        ):
            embedder.embed_passages(TEXTS)
    assert len(bench.server.requests) == 1, "the second call knows without asking"


def gaps(requests: list[Request]) -> list[float]:
    """Between arrivals, in seconds of the client's clock."""
    times = [request.arrived for request in requests]
    return [SPEED * (late - early) for early, late in pairwise(times)]


@pytest.mark.parametrize(
    "headers",
    [
        {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20s"},
        {"x-ratelimit-remaining-tokens": "3", "x-ratelimit-reset-tokens": "0m20s"},
        {
            "x-ratelimit-limit-tokens": "100000",
            "x-ratelimit-remaining-tokens": "0",
            "x-ratelimit-reset-tokens": "1h20000s",
        },
    ],
    ids=["requests", "tokens", "tokens that fill up"],
)
def test_when_the_server_says_nothing_is_left_the_next_request_waits(
    bench: RemoteBench, headers: dict[str, str]
) -> None:
    embedder = bench.verified(batch_items=20, concurrency=1, deadline_s=86400.0)
    bench.server.then(lambda request: request.send_json(200, request.answer(), headers))
    embedder.embed_passages(TEXTS)
    assert [gap >= 20 for gap in gaps(bench.server.requests)] == [True]


def test_a_wait_holds_all_requests(bench: RemoteBench) -> None:
    embedder = bench.verified(batch_items=1, concurrency=3)
    slow = status(429, error("slow down"), {"Retry-After": "40"})
    bench.server.then(slow, slow, slow)
    embedder.embed_passages(TEXTS[:6])
    assert gaps(bench.server.requests[2:])[0] >= 39


def test_own_limits_space_requests(bench: RemoteBench) -> None:
    embedder = bench.verified(batch_items=10, requests_per_minute=2)
    embedder.embed_passages(TEXTS)
    assert len(bench.server.requests) == 4
    assert min(gaps(bench.server.requests)) > 15


def test_a_storm_of_requests_calms_down_to_what_the_server_takes(bench: RemoteBench) -> None:
    embedder = bench.verified(batch_items=1, concurrency=16)
    bench.server.limiter = Limiter(requests=4, window_s=0.05, speed=SPEED)
    vectors = embedder.embed_passages(TEXTS)

    np.testing.assert_allclose(vectors, bench.expected(TEXTS), atol=1e-6)
    assert set(Counter(bench.server.answered).values()) <= {1, 5}
    assert bench.server.limiter.refused > 0
    assert embedder.usage.retries == bench.server.limiter.refused


def refused(server: EmbeddingServer, most: int) -> int:
    return sum(len(request.texts) > most for request in server.requests)


def test_a_server_that_takes_fewer_texts_is_given_fewer_from_then_on(bench: RemoteBench) -> None:
    embedder = bench.verified(batch_items=20, concurrency=1)
    bench.server.most_items = 6
    vectors = embedder.embed_passages(TEXTS)

    np.testing.assert_allclose(vectors, bench.expected(TEXTS), atol=1e-6)
    assert refused(bench.server, 6) == 2, "20, then 10; never again"
    embedder.embed_passages([f"{text} again" for text in TEXTS])
    assert refused(bench.server, 6) == 2
    assert embedder.usage.retries == 0


def test_a_server_that_takes_fewer_tokens_is_given_fewer_from_then_on(bench: RemoteBench) -> None:
    embedder = bench.verified(batch_items=20, concurrency=1)
    bench.server.most_request_tokens = 60
    vectors = embedder.embed_passages(TEXTS)

    np.testing.assert_allclose(vectors, bench.expected(TEXTS), atol=1e-6)
    refusals = len(bench.server.requests)
    embedder.embed_passages([f"{text} again" for text in TEXTS])
    assert refusals < 25
    sizes = [sum(map(bench.server.tokens, r.texts)) for r in bench.server.requests[refusals:]]
    assert max(sizes) <= 60


def test_a_body_that_is_too_large_for_a_proxy_is_halved(bench: RemoteBench) -> None:
    embedder = bench.verified(batch_items=40, concurrency=1)
    bench.server.then(page(413, "<html>Request Entity Too Large</html>"))
    vectors = embedder.embed_passages(TEXTS)
    np.testing.assert_allclose(vectors, bench.expected(TEXTS), atol=1e-6)


def test_one_text_that_is_too_long_for_the_server_is_found_and_the_others_are_not_paid_twice(
    bench: RemoteBench,
) -> None:
    embedder = bench.verified(concurrency=1)
    bench.server.most_tokens = 50
    texts = [*TEXTS[:15], "long " * 60, *TEXTS[15:]]
    with pytest.raises(
        EmbeddingError, match=r"maximum context length is 50 .* has 62 tokens and b"
    ):
        embedder.embed_passages(texts)
    before = len(bench.server.requests)
    assert len(embedder.embed_passages(TEXTS[:15])) == 15
    assert len(bench.server.requests) == before, "they were kept"


def keyed(texts: list[str]) -> list[tuple[VectorKey, str]]:
    return [(VectorKey(f"key{position:03}"), text) for position, text in enumerate(texts)]


def embedded(
    bench: RemoteBench, texts: list[str], **settings: object
) -> tuple[EmbedReport, dict[VectorKey, Vectors]]:
    blocks: list[Block] = []
    embedder = bench.verified(**settings)
    report = embed_missing(keyed(texts), embedder, overflow="pool", store=blocks.append)
    return report, {
        key: vector
        for block in blocks
        for key, vector in zip(block.keys, block.vectors, strict=True)
    }


def assert_answered_once(server: EmbeddingServer, texts: list[str]) -> None:
    counts = Counter(server.answered)
    assert {text: counts[text] for text in texts} == dict.fromkeys(texts, 1)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_text_that_the_server_refuses_is_quarantined_and_the_others_are_paid_for_once(
    bench: RemoteBench, concurrency: int
) -> None:
    bench.server.poison = "POISON"
    texts = [f"{t} POISON" if i in (7, 23) else t for i, t in enumerate(TEXTS)]
    report, vectors = embedded(bench, texts, batch_items=4, concurrency=concurrency)

    assert {failure.key for failure in report.failed} == {"key007", "key023"}
    assert all("'$.input' is invalid" in failure.reason for failure in report.failed)
    assert report.texts_embedded == len(vectors) == 38
    for key, text in keyed(texts):
        if key in vectors:
            np.testing.assert_allclose(vectors[key], bench.expected([text])[0], atol=1e-6)
    assert_answered_once(bench.server, [text for text in texts if "POISON" not in text])


@pytest.mark.parametrize("vector", [None, [float("nan")] * 32, [0.0] * 32, ["x"] * 32], ids=str)
def test_a_text_without_a_vector_is_quarantined_and_the_others_are_paid_for_once(
    bench: RemoteBench, vector: object
) -> None:
    bench.server.bad_vector_on, bench.server.bad_vector = "BAD", vector
    texts = [*TEXTS, "a BAD text"]
    report, vectors = embedded(bench, texts, batch_items=8)

    [failure] = report.failed
    assert failure.key == "key040"
    assert "its vector" in failure.reason
    assert len(vectors) == 40
    assert_answered_once(bench.server, TEXTS)


def test_a_server_that_goes_away_stops_the_work_and_keeps_what_is_stored(
    bench: RemoteBench,
) -> None:
    embedder = bench.verified(max_attempts=2)
    blocks: list[Block] = []

    def store(block: Block) -> None:
        blocks.append(block)
        if len(blocks) == 2:
            bench.server.then(*[status(503, error("gone"))] * 100)

    with pytest.raises(EmbeddingError, match="503: gone"):
        embed_missing(keyed(TEXTS), embedder, overflow="pool", store=store, block_tokens=40)
    assert len(blocks) == 2
    assert len(bench.server.requests) == 2 + 2 + 2, "two blocks, a block that fails, a sentence"


def test_a_server_that_cuts_texts_in_silence_is_told(bench: RemoteBench) -> None:
    embedder = bench.verified()
    bench.server.reads_tokens = 60
    embedder.embed_passages(["word " * 58])
    with pytest.raises(EmbeddingError, match=r"counts 60 tokens where .* counts 102 \(1 texts\)"):
        embedder.embed_passages(["word " * 100])


def test_a_server_that_does_not_count_special_tokens_is_believed(bench: RemoteBench) -> None:
    embedder = bench.verified()
    bench.server.then(changed(lambda value: value.update(usage={"prompt_tokens": 3})))
    assert embedder.embed_passages(["a", "b", "c"]).shape == (3, 32)


def test_half_of_a_key_is_in_no_error(bench: RemoteBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_KEY", "sk-0123456789")
    embedder = bench.verified(api_key_env="OUR_KEY", max_attempts=1)
    for length in range(285, 300):
        bench.server.then(page(500, "x" * length + " sk-0123456789 is wrong"))
        with pytest.raises(EmbeddingError) as caught:
            embedder.embed_passages(["a text"])
        assert "sk-" not in str(caught.value)


def test_a_server_with_another_count_of_its_own_is_believed(bench: RemoteBench) -> None:
    # As where the configured tokenizer is only near to the model's.
    bench.server.count_share = 0.5
    embedder = bench.embedder()
    assert embedder.embed_passages(["word " * 100]).shape == (1, 32)


@pytest.mark.parametrize(
    "behaviour",
    [
        status(400, error("the header was Bearer sk-0123456789")),
        status(500, error("echo sk-0123456789")),
        page(502, "echo sk-0123456789"),
        page(200, "echo sk-0123456789"),
        status(307, {}, {"Location": "https://h/?key=sk-0123456789"}),
        status(429, error("sk-0123456789", "insufficient_quota")),
        status(429, error("sk-0123456789")),
        status(404, {"sk-0123456789": 1}),
        changed(lambda v: v["data"][0].update(index="sk-0123456789")),
        drop_connection,
    ],
)
def test_a_key_is_in_no_error_and_no_log(
    bench: RemoteBench,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    behaviour: Behaviour,
) -> None:
    monkeypatch.setenv("OUR_KEY", "sk-0123456789")
    caplog.set_level(logging.INFO)
    bench.server.key = "sk-0123456789"
    embedder = bench.verified(
        api_key_env="OUR_KEY", headers={"x-key": "${OUR_KEY}"}, max_attempts=1, deadline_s=1
    )
    bench.server.then(behaviour, behaviour, behaviour)
    with pytest.raises(ChunkAssetsError) as caught:
        embedder.embed_passages(["a text"])
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caplog.text
    assert "0123" not in told
    assert bench.server.requests[0].headers["x-key"] == "sk-0123456789"


def test_an_interrupt_ends_a_request_that_hangs(bench: RemoteBench) -> None:
    embedder = bench.verified(timeout_s=600.0)

    def interrupt(request: Request) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        hang(request)

    bench.server.then(interrupt)
    with pytest.raises(KeyboardInterrupt):
        embedder.embed_passages(["a text"])


def test_an_interrupt_ends_a_long_wait(bench: RemoteBench) -> None:
    embedder = bench.verified(deadline_s=86400.0)

    def interrupt(request: Request) -> None:
        request.send_json(429, error("slow down"), {"Retry-After": "86000"})
        os.kill(os.getpid(), signal.SIGINT)

    bench.server.then(interrupt)
    with pytest.raises(KeyboardInterrupt):
        embedder.embed_passages(["a text"])


def test_several_threads_share_an_embedder(bench: RemoteBench) -> None:
    embedder = bench.embedder(batch_items=5)
    results: dict[int, Vectors] = {}

    def work(number: int) -> None:
        results[number] = embedder.embed_passages(TEXTS)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for vectors in results.values():
        np.testing.assert_allclose(vectors, bench.expected(TEXTS), atol=1e-6)
    assert len(results) == 4
    assert embedder.usage.requests == 4 * 8 + 1, "the probe texts are sent once"


def test_a_certificate_that_is_not_trusted_is_told_without_another_attempt(
    tmp_path: Path,
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(write_certificate(tmp_path / "server.pem"))
    with EmbeddingServer(tls=context) as server:
        embedder = RemoteBench(server).embedder()
        with pytest.raises(EmbeddingError, match=r"certificate that is not trusted .*SSL_CERT_FIL"):
            embedder.embed_passages(["a text"])
        assert embedder.usage.retries == 0

"""The body of an answer, and what a failed one means."""

import base64
import json
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunk_assets.embedding.remote_answer import (
    Answer,
    ApiError,
    MalformedAnswerError,
    WrongDimensionError,
    read_answer,
    read_error,
)
from chunk_assets.embedding.remote_failure import Meaning, meaning_of


def body(*vectors: object, usage: object = None, indices: list[Any] | None = None) -> bytes:
    data = [
        {"object": "embedding", "index": index, "embedding": vector}
        for index, vector in zip(indices or range(len(vectors)), vectors, strict=True)
    ]
    return json.dumps({"data": data, **({} if usage is None else {"usage": usage})}).encode()


def read(content: bytes, texts: int = 1, *, base64_allowed: bool = False) -> Answer:
    return read_answer(content, texts, 2, base64_allowed=base64_allowed)


@given(order=st.permutations(range(5)))
def test_vectors_are_put_in_the_order_of_their_index(order: list[int]) -> None:
    vectors = [[np.cos(angle), np.sin(angle)] for angle in order]
    answer = read(body(*vectors, indices=list(order)), 5)
    expected = [[np.cos(angle), np.sin(angle)] for angle in range(5)]
    np.testing.assert_allclose(answer.vectors, expected, atol=1e-6)
    assert answer.defects == {}


def test_vectors_are_scaled_to_length_one() -> None:
    assert read(body([3.0, 4])).vectors.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]]


def test_vectors_in_base64_are_the_same_to_the_last_bit() -> None:
    packed = base64.b64encode(struct.pack("<2f", 0.6, 0.8)).decode()
    numbers = [float(np.float32(0.6)), float(np.float32(0.8))]
    as_text = read(body(packed), base64_allowed=True).vectors
    assert as_text.tobytes() == read(body(numbers)).vectors.tobytes()


def test_numbers_are_taken_where_base64_was_asked_for_and_ignored() -> None:
    assert read(body([1, 0]), base64_allowed=True).vectors.tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("content", "texts", "message"),
    [
        (b"", 1, "no JSON"),
        (b"<html><body>Bad gateway</body></html>", 1, "no JSON"),
        (b'{"data": [{"index": 0, "embed', 1, "no JSON"),
        (b"[]", 1, "no list `data`"),
        (b"{}", 1, "no list `data`"),
        (b'{"data": {}}', 1, "no list `data`"),
        (b"[" * 100_000, 1, "no JSON"),
        (body(), 1, "0 vectors for 1 texts"),
        (body([1, 0]), 2, "1 vectors for 2 texts"),
        (body([1, 0], [1, 0]), 1, "2 vectors for 1 texts"),
        (body([1, 0], [0, 1], indices=[0, 0]), 2, "`index` is 0 for 2 texts, or stands twice"),
        (body([1, 0], [0, 1], indices=[1, 2]), 2, "`index` is 2"),
        (body([1, 0], [0, 1], indices=[0, None]), 2, "`index` is None"),
        (body([1, 0], [0, 1], indices=[0, "1"]), 2, "`index` is '1'"),
        (body([1, 0], indices=[-1]), 1, "`index` is -1"),
        (b'{"data": [7]}', 1, "`index` is None"),
        (body({"a": 1}), 1, "a vector is dict, expected a list"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_no_answer_is_malformed(content: bytes, texts: int, message: str) -> None:
    with pytest.raises(MalformedAnswerError) as caught:
        read(content, texts)
    assert message in str(caught.value)


@pytest.mark.parametrize("packed", ["???", "AAAA", "AAAAAAA="], ids=["text", "3 bytes", "5 bytes"])
def test_what_is_no_base64_of_numbers_is_malformed(packed: str) -> None:
    with pytest.raises(MalformedAnswerError, match="no base64 of float32"):
        read(body(packed), base64_allowed=True)


@pytest.mark.parametrize("vector", [[1.0], [1.0, 0.0, 0.0], []], ids=str)
def test_another_dimension_is_told(vector: list[float]) -> None:
    with pytest.raises(WrongDimensionError, match=f"{len(vector)} components"):
        read(body([1, 0], vector), 2)


@pytest.mark.parametrize(
    ("vector", "reason"),
    [
        ([float("nan"), 1.0], "its vector holds NaN, null or infinity"),
        ([float("inf"), 1.0], "its vector holds NaN, null or infinity"),
        ([None, 1.0], "its vector holds NaN, null or infinity"),
        ([0, 0.0], "its vector is zero"),
        (None, "its vector is null"),
        (["0.5", 1.0], "its vector holds str instead of numbers"),
        ([True, 1.0], "its vector holds bool instead of numbers"),
        ([[0.5], 1.0], "its vector holds list instead of numbers"),
        ([10**400, 1.0], "its vector holds a number that is too large"),
        ([1e300, 1.0], "its vector holds a number that is too large"),
        ("AAAAAAAAAAA=", "its vector is text, though numbers were asked for"),
    ],
    ids=str,
)
def test_a_text_whose_vector_is_none_is_told_and_the_others_stay(
    vector: object, reason: str
) -> None:
    answer = read(body([1, 0], vector, [0, 1]), 3)
    assert answer.defects == {1: reason}
    assert answer.vectors[[0, 2]].tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 7, "total_tokens": 9}, 7),
        ({"total_tokens": 9}, 9),
        ({"prompt_tokens": 0, "total_tokens": 9}, 9),
        ({"prompt_tokens": 0, "total_tokens": 0}, None),
        ({"prompt_tokens": "7"}, None),
        ({}, None),
        ([], None),
        (None, None),
    ],
    ids=str,
)
def test_what_is_charged_is_read_where_it_stands(usage: object, tokens: int | None) -> None:
    assert read(body([1, 0], usage=usage)).tokens == tokens


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (
            b'{"error": {"message": "no", "type": "t", "code": "c", "param": null}}',
            ApiError("no", "c", "t"),
        ),
        (b'{"error": "no", "error_type": "Validation"}', ApiError("no", kind="Validation")),
        (
            b'{"message": "no", "code": 413, "type": "Validation"}',
            ApiError("no", "413", "Validation", 413),
        ),
        (b'{"object": "error", "message": "no", "code": null}', ApiError("no")),
        (b'{"error": {"code": 429, "message": "slow"}}', ApiError("slow", "429", "", 429)),
        (b'{"detail": [{"loc": ["body"]}]}', ApiError('[{"loc": ["body"]}]')),
        (b'{"data": []}', None),
        (b"<html>", None),
        (b"[]", None),
        (b'{"error": 7}', None),
        (b"{}", None),
    ],
    ids=str,
)
def test_an_error_is_read_in_every_spelling(content: bytes, error: ApiError | None) -> None:
    assert read_error(content) == error


def said(message: str, code: str = "") -> ApiError:
    return ApiError(message, code, "invalid_request_error")


@pytest.mark.parametrize(
    ("status", "error", "meaning"),
    [
        (500, None, Meaning.TRANSIENT),
        (529, None, Meaning.TRANSIENT),
        (408, None, Meaning.TRANSIENT),
        (409, None, Meaning.TRANSIENT),
        (425, None, Meaning.TRANSIENT),
        (503, None, Meaning.TRANSIENT),
        (200, said("boom"), Meaning.TRANSIENT),
        (200, ApiError("slow", status=429), Meaning.BUSY),
        (429, None, Meaning.BUSY),
        (429, said("Rate limit reached", "rate_limit_exceeded"), Meaning.BUSY),
        (429, said("You exceeded your current quota", "insufficient_quota"), Meaning.QUOTA),
        (402, None, Meaning.QUOTA),
        (401, None, Meaning.FORBIDDEN),
        (403, None, Meaning.FORBIDDEN),
        (404, None, Meaning.NOT_FOUND),
        (405, None, Meaning.NOT_FOUND),
        (301, None, Meaning.REDIRECTED),
        (307, None, Meaning.REDIRECTED),
        (400, said("'$.input' is invalid"), Meaning.REFUSED),
        (422, None, Meaning.REFUSED),
        (424, None, Meaning.REFUSED),
        (413, None, Meaning.TOO_MANY_TOKENS),
        (
            400,
            said("Requested 416735 tokens, max 300000 tokens per request"),
            Meaning.TOO_MANY_TOKENS,
        ),
        (400, said("Too many tokens in batch. Max is 16384 got 17555"), Meaning.TOO_MANY_TOKENS),
        (400, said("Too many inputs. The max number of inputs is 16."), Meaning.TOO_MANY_TEXTS),
        (400, said("array too long", "array_above_max_length"), Meaning.TOO_MANY_TEXTS),
        (413, said("batch size 64 > maximum allowed batch size 32"), Meaning.TOO_MANY_TEXTS),
        (422, said("batch size 64 > maximum allowed batch size 32"), Meaning.TOO_MANY_TEXTS),
        (413, said("`inputs` must have less than 512 tokens. Given: 600"), Meaning.TEXT_TOO_LONG),
        (400, said("This model's maximum context length is 8192 tokens"), Meaning.TEXT_TOO_LONG),
        (400, said("the input length exceeds the context length"), Meaning.TEXT_TOO_LONG),
        (400, said("prefill 744 tokens exceed n_ctx_per_seq"), Meaning.TEXT_TOO_LONG),
    ],
    ids=str,
)
def test_a_failure_means_what_servers_mean_by_it(
    status: int, error: ApiError | None, meaning: Meaning
) -> None:
    assert meaning_of(status, error, told_to_wait=False) is meaning


def test_a_server_that_is_unavailable_for_a_while_is_busy() -> None:
    assert meaning_of(503, None, told_to_wait=True) is Meaning.BUSY


def test_a_vector_of_nan_in_base64_is_told() -> None:
    packed = base64.b64encode(struct.pack("<2f", float("nan"), 1)).decode()
    assert read(body(packed), base64_allowed=True).defects[0].startswith("its vector holds NaN")


def test_an_answer_nested_without_end_tells_no_error() -> None:
    assert read_error(b"[" * 200_000) is None

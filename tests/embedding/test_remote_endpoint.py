"""Where a request goes and what it carries; no secret is ever shown."""

import pytest

from chunk_assets.embedding.remote_config import RemoteConfig
from chunk_assets.embedding.remote_endpoint import Endpoint, resolve_endpoint
from chunk_assets.errors import ConfigurationError

KEY = "sk-0123456789"


def resolve(**settings: object) -> Endpoint:
    remote = {"dimension": 8, "tokenizer": "openai:cl100k_base", **settings}
    return resolve_endpoint("api", RemoteConfig.model_validate(remote))


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("http://h:8080/v1", "http://h:8080/v1/embeddings"),
        ("http://h/v1/", "http://h/v1/embeddings"),
        ("http://h", "http://h/embeddings"),
        ("http://h/v1/embeddings", "http://h/v1/embeddings"),
        (
            "https://r.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
            "https://r.openai.azure.com/openai/deployments/d/embeddings?api-version=2024-10-21",
        ),
    ],
)
def test_embeddings_follow_the_base_and_a_query_stays(base_url: str, url: str) -> None:
    assert resolve(base_url=base_url).url == url


def test_variables_are_read_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY", "https://gateway.example.com/v1")
    monkeypatch.setenv("GATEWAY_KEY", KEY)
    endpoint = resolve(base_url="${GATEWAY}", headers={"api-key": "${GATEWAY_KEY}", "x-team": "a"})

    assert endpoint.url == "https://gateway.example.com/v1/embeddings"
    assert endpoint.headers["api-key"] == KEY
    assert endpoint.headers["x-team"] == "a"
    assert "Authorization" not in endpoint.headers


def test_the_key_is_sent_as_bearer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    assert resolve().headers["Authorization"] == f"Bearer {KEY}"


def test_a_key_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match=r"OPENAI_API_KEY, which is not set\. .*export"):
        resolve()


def test_a_key_that_is_empty_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY, which is empty"):
        resolve()


@pytest.mark.parametrize("key", [f"{KEY}\nX-Evil: 1", f"{KEY} two", f"{KEY}é"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ConfigurationError, match="variable OPENAI_API_KEY holds a char") as caught:
        resolve()
    assert "0123" not in str(caught.value)


def test_a_header_that_cannot_be_sent_is_refused_without_showing_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OURS", f"{KEY}\r\nX-Evil: 1")
    with pytest.raises(ConfigurationError, match=r"headers\.api-key: .*OURS") as caught:
        resolve(base_url="http://h", headers={"api-key": "${OURS}"})
    assert "0123" not in str(caught.value)


@pytest.mark.parametrize(
    "url", [f"https://u:{KEY}@h/v1", f"https://h/v1?key={KEY}", "gateway", "ftp://h/v1"]
)
def test_a_variable_that_stands_for_no_plain_url_is_refused_without_showing_it(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("GATEWAY", url)
    with pytest.raises(ConfigurationError, match=r"base_url: .*\$\{GATEWAY\}") as caught:
        resolve(base_url="${GATEWAY}")
    assert "0123" not in str(caught.value)


def test_secrets_are_neither_printed_nor_left_in_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", KEY)
    monkeypatch.setenv("LONGER", f"{KEY}-and-more")
    endpoint = resolve(
        base_url="http://h", api_key_env="LONGER", headers={"x-key": "token ${OURS}"}
    )

    assert "0123" not in repr(endpoint)
    assert endpoint.scrub(f"<{KEY}> <{KEY}-and-more> <Bearer {KEY}>") == "<***> <***> <Bearer ***>"

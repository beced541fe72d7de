"""What the settings of an API accept, and that no key can stand in them."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.registry import describe
from chunk_assets.embedding.remote_config import RemoteConfig
from chunk_assets.validation import explain, json_schema_of

REMOTE: dict[str, Any] = {"dimension": 8, "tokenizer": "openai:cl100k_base"}
API: dict[str, Any] = {"backend": "openai", "model": "some-model", "max_tokens": 512}
KEY = "sk-proj-0123456789abcdef"


def mistakes(settings: dict[str, Any]) -> str:
    with pytest.raises(ValidationError) as caught:
        EmbedderConfig.model_validate(settings)
    return explain(caught.value, json_schema_of(EmbedderConfig))


def test_a_few_settings_are_enough() -> None:
    config = EmbedderConfig.model_validate({**API, "remote": REMOTE})

    assert config.remote is not None
    assert config.remote.base_url == "https://api.openai.com/v1"
    assert config.remote.key_env == "OPENAI_API_KEY"


def test_the_key_of_openai_is_sent_to_no_other_server() -> None:
    elsewhere = RemoteConfig(base_url="http://localhost:8080/v1", **REMOTE)
    named = RemoteConfig(base_url="http://localhost:8080/v1", api_key_env="OUR_KEY", **REMOTE)

    assert elsewhere.key_env is None
    assert named.key_env == "OUR_KEY"
    assert RemoteConfig(base_url="https://api.openai.com/v1/", **REMOTE).key_env is not None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({**API}, "remote is not set; expected `remote: {dimension: …, tokenizer: …}`"),
        ({"remote": REMOTE}, "remote is only read by backend 'openai', but backend is 'auto'"),
        ({**API, "remote": REMOTE, "max_tokens": None}, "max_tokens is not set"),
        ({**API, "remote": REMOTE, "model": "package:x"}, "the name by which the API knows its"),
        ({**API, "remote": REMOTE, "device": "cuda"}, "device ('cuda') is not read by"),
        ({**API, "remote": REMOTE, "precision": "float32"}, "remove precision"),
        ({**API, "remote": REMOTE, "threads": 2}, "remove threads"),
        ({**API, "remote": REMOTE, "factory": "a:b"}, "only read by backend 'custom'"),
        ({**API, "remote": {"dimension": 8}}, "remote.tokenizer: this key is required"),
        ({**API, "remote": {"tokenizer": "x"}}, "remote.dimension: this key is required"),
        ({**API, "remote": {**REMOTE, "batch_tokens": 9}}, "unknown key 'batch_tokens'"),
        ({**API, "remote": {**REMOTE, "base_url": "localhost:80"}}, "is no URL; expected http"),
        ({**API, "remote": {**REMOTE, "base_url": "http://h/v1#x"}}, "has a fragment"),
        (
            {**API, "remote": {**REMOTE, "base_url": "http://h/v1?key=${KEY}"}},
            "a secret belongs in headers",
        ),
        ({**API, "remote": {**REMOTE, "headers": {"a b": "x"}}}, "no name of a header"),
        ({**API, "remote": {**REMOTE, "headers": {"Host": "x"}}}, "written by the backend"),
        (
            {**API, "remote": {**REMOTE, "headers": {"authorization": "Bearer ${A}"}}},
            "are the same header",
        ),
        (
            {**API, "remote": {**REMOTE, "passage_parameters": {"input": []}}},
            "input: this field is written by the backend",
        ),
        (
            {**API, "remote": {**REMOTE, "query_parameters": {"truncate": True}}},
            "lets the server cut texts in silence",
        ),
        (
            {**API, "remote": {**REMOTE, "passage_parameters": {"truncate_prompt_tokens": -1}}},
            "leave long texts to `overflow`",
        ),
        ({**API, "remote": {**REMOTE, "concurrency": 0}}, "greater than or equal to 1"),
        ({**API, "remote": {**REMOTE, "timeout_s": 0}}, "greater than 0"),
        ({**API, "remote": {**REMOTE, "encoding_format": "int8"}}, "'float' or 'base64'"),
    ],
)
def test_a_mistake_is_told(settings: dict[str, Any], message: str) -> None:
    assert message in mistakes(settings)


@pytest.mark.parametrize(
    "remote",
    [
        {"api_key": KEY},
        {"api_key_env": KEY},
        {"api_key_env": KEY.replace("-", "_")},
        {"headers": {"api-key": KEY}},
        {"headers": {"Authorization": f"Bearer {KEY}"}},
        {"headers": {"X-Token": KEY}},
        {"base_url": f"https://user:{KEY}@api.example.com/v1"},
    ],
    ids=str,
)
def test_a_key_in_the_file_is_refused_and_not_repeated(remote: dict[str, Any]) -> None:
    told = mistakes({**API, "remote": {**REMOTE, **remote}})
    assert "0123456789" not in told


@pytest.mark.parametrize("value", [False, None, "NONE", "none"])
def test_a_parameter_that_switches_cutting_off_may_stand(value: object) -> None:
    remote = RemoteConfig(passage_parameters={"truncate": value, "input_type": "passage"}, **REMOTE)
    assert remote.passage_parameters["truncate"] == value


def test_a_version_of_the_model_may_be_named_whatever_the_model_is_called() -> None:
    config = EmbedderConfig.model_validate(
        {**API, "model": "/models/bge", "revision": "2", "remote": REMOTE}
    )
    assert config.revision == "2"


def test_a_relative_path_of_a_tokenizer_starts_at_the_folder_of_the_file() -> None:
    remote = RemoteConfig(dimension=8, tokenizer="./tokenizers/ours")
    assert remote.beside(Path("/etc/rag")).tokenizer == "/etc/rag/tokenizers/ours"
    assert RemoteConfig(**REMOTE).beside(Path("/etc/rag")).tokenizer == REMOTE["tokenizer"]


def test_every_setting_is_described() -> None:
    assert [n for n, f in RemoteConfig.model_fields.items() if not f.description] == []


def test_the_choice_names_model_and_url_and_neither_device_nor_precision() -> None:
    config = EmbedderConfig.model_validate({**API, "remote": REMOTE})
    assert str(describe(config)) == "openai (some-model at https://api.openai.com/v1)"

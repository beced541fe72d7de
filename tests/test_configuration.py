"""The configuration file: what is refused, and how it is said."""

from pathlib import Path
from textwrap import dedent

import pytest

from chunk_assets.config import Configuration, load_configuration
from chunk_assets.errors import ConfigurationError

VALID = """
    embedders:
      minilm: {}
    strategies:
      hierarchy: {chunker: hierarchy, max_tokens: 200}
    corpora:
      handbook:
        source: {kind: files, root: docs}
"""


def load(tmp_path: Path, text: str) -> Configuration:
    path = tmp_path / "chunk_assets.yaml"
    path.write_text(dedent(text), encoding="utf-8")
    return load_configuration(path)


def mistake(tmp_path: Path, text: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load(tmp_path, text)
    return str(caught.value)


def test_a_minimal_file_gets_every_default(tmp_path: Path) -> None:
    configuration = load(tmp_path, VALID)
    resolved = configuration.model_dump(mode="json")
    assert resolved["corpora"]["handbook"]["buckets"] == 8
    assert resolved["vector_store"]["kind"] == "embedded"
    assert resolved["corpora"]["handbook"]["retrieval"]["mode"] == "hybrid"


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (VALID.replace("source:", "sourc:"), "unknown key 'sourc'; did you mean 'source'?"),
        (VALID.replace("root:", "rooot:"), "unknown key 'rooot'; did you mean 'root'?"),
        (VALID.replace("max_tokens", "max_token"), "unknown key 'max_token'; did you mean"),
        (VALID.replace("chunker: hierarchy", "chunker: hierarchi"), "did you mean 'hierarchy'?"),
        (VALID.replace("kind: files", "kind: fils"), "did you mean 'files'?"),
        (VALID.replace("handbook:", "Handbook:"), "corpora.Handbook"),
        (VALID.replace("handbook:", "hand__book:"), "names are joined by '__'"),
        (VALID + "        buckets: 65\n", "buckets"),
        (VALID + "        strategies: [hierarhy]\n", "did you mean 'hierarchy'?"),
        (VALID + "        serve: hierarchy__mini\n", "did you mean 'hierarchy__minilm'?"),
        (VALID + "    corpora: {}\n", "stands twice"),
        ("- a list", "expected a mapping"),
        ("", "holds nothing"),
        ("a: [", "is not valid YAML"),
    ],
)
def test_a_mistake_is_named_with_its_place_and_the_nearest_valid_name(
    tmp_path: Path, broken: str, said: str
) -> None:
    assert said in mistake(tmp_path, broken)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    message = mistake(
        tmp_path, VALID.replace("root:", "rooot:").replace("max_tokens", "max_token")
    )
    assert "rooot" in message
    assert "max_token" in message


def test_a_missing_file_says_how_to_write_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="chunk-assets init"):
        load_configuration(tmp_path / "chunk_assets.yaml")


def test_a_secret_written_out_is_refused_without_repeating_it(tmp_path: Path) -> None:
    store = "    vector_store: {kind: server, url: 'http://localhost:6333', api_key: hunter2}\n"
    message = mistake(tmp_path, VALID + store)
    assert "${NAME}" in message
    assert "hunter2" not in message


def test_a_secret_stays_the_name_of_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QDRANT_KEY", "hunter2")
    store = "    vector_store: {kind: server, url: 'http://h:6333', api_key: '${QDRANT_KEY}'}\n"
    assert "hunter2" not in load(tmp_path, VALID + store).model_dump_json()

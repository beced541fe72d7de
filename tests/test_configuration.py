"""The configuration file: what is refused, and how it is said."""

from pathlib import Path
from textwrap import dedent

import pytest

from chunk_assets.config import (
    CONFIG_ENVIRONMENT_VARIABLE,
    Configuration,
    config_path,
    load_configuration,
    storage_root,
)
from chunk_assets.corpus import corpora_of
from chunk_assets.environment import expand
from chunk_assets.errors import ConfigurationError
from chunk_assets.resolved import resolved
from resources.vector_store_config import EmbeddedStore

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
        (
            VALID.replace("handbook:", "My Handbook:"),
            "corpora.My Handbook: 'My Handbook' is no name: a name begins with a letter and has up "
            "to 40 lower-case letters, digits and '_'; write 'my_handbook', for example",
        ),
        (VALID.replace("handbook:", f"{'a' * 41}:"), f"write {'a' * 40!r}, for example"),
        (VALID.replace("handbook:", '"1":'), "corpora.1: '1' is no name"),
        (VALID.replace("handbook:", "hand__book:"), "names are joined by '__'"),
        (VALID.replace("handbook:", "runs:"), "give the corpus another name"),
        (VALID.replace("handbook:", "{handbook}:"), "line 7: a key is a mapping or a list"),
        (VALID.replace("handbook:", "? [handbook]\n      :"), "line 7: a key is a mapping"),
        (VALID.replace("kind: files, ", ""), "source: kind: this key is required; allowed: files"),
        (VALID.replace("{kind: files, root: docs}", "docs"), "source: expected a mapping"),
        (VALID.replace("{kind: files, root: docs}", "{kind: files}"), "source.root: this key is"),
        (VALID.replace("max_tokens: 200", "max_tokens: 0"), "max_tokens: Input should be greater"),
        (VALID.replace("200", "200, overlap: 200"), "overlap (200) is not smaller than max_tokens"),
        (VALID.replace("minilm: {}", "minilm:"), "embedders.minilm: expected a mapping"),
        (
            VALID.replace("minilm: {}", "{}").replace("embedders:\n      {}", "embedders: {}"),
            "least 1",
        ),
        (VALID + "        buckets: 65\n", "buckets: Input should be less than or equal to 64"),
        (VALID + "        buckets: 0\n", "buckets: Input should be greater than or equal to 1"),
        (VALID + "        strategies: []\n", "the list is empty; leave the key out to take all"),
        (VALID + "        embedders: [minilm, minilm]\n", "a name stands twice"),
        (VALID + "        embedders: [minilmm]\n", "did you mean 'minilm'?"),
        (VALID + "        gold: {q: {}}\n", "gold.q.path: this key is required"),
        (VALID + "        retrieval: {mode: hybird}\n", "'hybrid', 'dense' or 'sparse'"),
        (
            VALID + "        parsing: {formats: {'*.x': markdwn}}\n",
            "'markdown', 'restructuredtext'",
        ),
        (VALID + "    version: 2\n", "version: Input should be 1 (given: 2)"),
        (VALID + "    vector_store: {kind: servr}\n", "did you mean 'server'?"),
        (VALID + "        strategies: [hierarhy]\n", "did you mean 'hierarchy'?"),
        (VALID + "        strategies: [Hierarchy]\n", "'Hierarchy' is not defined; did you mean"),
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


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("buckets: '8'", "buckets: expected a whole number (given: the text '8'; leave out its"),
        ("buckets: true", "buckets: expected a whole number (given: true)"),
        ("buckets: 8.0", "buckets: expected a whole number (given: 8.0)"),
        ("buckets: [8]", "buckets: expected a whole number, not a list"),
        ("buckets:", "buckets: expected a whole number (given: nothing)"),
        ("description: 8", "description: expected text (given: 8); put it in quotes"),
        ("description: no", "description: expected text (given: false); put it in quotes"),
        ("retrieval: {rrf_k: '60'}", "retrieval.rrf_k: expected a whole number"),
        ("retrieval: {bm25: {k: '1.2'}}", "retrieval.bm25.k: expected a number (given: the text"),
        ("retrieval: {bm25: {stemmer: 1}}", "bm25.stemmer: expected true or false (given: 1)"),
        ("retrieval: {bm25: {stemmer: 'yes'}}", "bm25.stemmer: expected true or false"),
        ("parsing: {normalize: {nfc: 'true'}}", "normalize.nfc: expected true or false"),
        ("gold: {q: {path: g.jsonl, ks: ['5']}}", "gold.q.ks.0: expected a whole number"),
        ("gold: {q: {path: g.jsonl, confidence: '0.9'}}", "gold.q.confidence: expected a number"),
        ("gold: {q: {path: 5}}", "gold.q.path"),
    ],
)
def test_a_value_of_another_type_is_refused_and_told(tmp_path: Path, key: str, said: str) -> None:
    assert said in mistake(tmp_path, VALID + f"        {key}\n")


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (
            VALID.replace("root: docs", "root: docs, follow_links: 'false'"),
            "follow_links: expected",
        ),
        (VALID.replace("root: docs", "root: docs, max_bytes: '9'"), "max_bytes: expected a whole"),
        (VALID.replace("root: docs", "root: docs, include: '*.md'"), "include: expected a list"),
        (VALID.replace("root: docs", "root: docs, exclude: [1]"), "exclude.0: expected text"),
        (VALID.replace("root: docs", "root: 2024"), "source.root: expected text (given: 2024)"),
        (VALID.replace("minilm: {}", "minilm: {batch_tokens: '9'}"), "minilm.batch_tokens: expect"),
        (VALID.replace("max_tokens: 200", "max_tokens: '200'"), "hierarchy.max_tokens: expected"),
        (VALID + "    vector_store: {lock_timeout_s: '9'}\n", "lock_timeout_s: expected a number"),
        (VALID + "    vector_store: {hnsw: {m: '16'}}\n", "vector_store.hnsw.m: expected a whole"),
        (VALID + "    version: '1'\n", "version: Input should be 1 (given: '1')"),
    ],
)
def test_so_it_is_everywhere_in_the_file(tmp_path: Path, broken: str, said: str) -> None:
    assert said in mistake(tmp_path, broken)


def test_what_a_file_can_only_write_as_a_list_or_as_text_is_taken(tmp_path: Path) -> None:
    text = VALID.replace("root: docs", "root: docs, include: ['*.md']").replace(
        "max_tokens: 200", "max_tokens: 200, context: [title], overlap: 0.1"
    )
    text += "        gold: {q: {path: gold.jsonl, ks: [5, 1], confidence: 0.9}}\n"
    text += "    vector_store: {folder: elsewhere, lock_timeout_s: 9}\n"
    configuration = load(tmp_path, text)
    gold = configuration.corpora["handbook"].gold["q"]
    assert (gold.path, gold.ks) == (Path("gold.jsonl"), (1, 5))
    assert isinstance(configuration.vector_store, EmbeddedStore)
    assert configuration.vector_store.folder == Path("elsewhere")
    assert configuration.vector_store.lock_timeout_s == 9


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    message = mistake(tmp_path, VALID.replace("root:", "rooot:").replace("max_tokens", "max_token"))
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


@pytest.mark.parametrize("key", ["api_key: 123456789", "api_key: [hunter2]", "api_key: 'a${KEY}'"])
def test_no_secret_is_repeated_whatever_its_type(tmp_path: Path, key: str) -> None:
    store = f"    vector_store: {{kind: server, url: 'http://localhost:6333', {key}}}\n"
    message = mistake(tmp_path, VALID + store)
    assert "vector_store.api_key: a secret is given as ${NAME}" in message
    assert key.partition(": ")[2].strip("[]'") not in message


def test_a_password_in_an_address_is_refused_without_repeating_it(tmp_path: Path) -> None:
    message = mistake(
        tmp_path, VALID + "    vector_store: {kind: server, url: 'http://me:hunter2@host:6333'}\n"
    )
    assert "no user, password or query" in message
    assert "hunter2" not in message


def test_a_secret_of_the_object_store_is_refused_without_repeating_it(tmp_path: Path) -> None:
    message = mistake(tmp_path, VALID + "    storage_options: {AWS_SECRET: hunter2}\n")
    assert "storage_options.AWS_SECRET: a secret is given as ${NAME}" in message
    assert "hunter2" not in message


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "chunk_assets.yaml"
    path.write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(ConfigurationError, match=r"chunk_assets\.yaml cannot be read"):
        load_configuration(path)


def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_configuration(tmp_path)


def test_yaml_cannot_make_python_objects(tmp_path: Path) -> None:
    message = mistake(tmp_path, VALID + "    version: !!python/object/apply:os.getcwd []\n")
    assert "is not valid YAML" in message


def test_the_argument_names_the_file_before_the_environment_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CONFIG_ENVIRONMENT_VARIABLE, str(tmp_path / "of_environment.yaml"))
    assert config_path(tmp_path / "of_argument.yaml").name == "of_argument.yaml"
    assert config_path().name == "of_environment.yaml"


def test_without_argument_and_environment_the_file_lies_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(CONFIG_ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    assert config_path() == tmp_path / "chunk_assets.yaml"


@pytest.mark.parametrize(
    ("storage", "root"),
    [
        ("data", "{folder}/data"),
        ("/mnt/data", "/mnt/data"),
        ("s3://bucket/path", "s3://bucket/path"),
        ("s3://${BUCKET}/path", "s3://mine/path"),
    ],
)
def test_a_relative_storage_folder_lies_beside_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, storage: str, root: str
) -> None:
    monkeypatch.setenv("BUCKET", "mine")
    configuration = load(tmp_path, VALID + f"    storage: '{storage}'\n")
    path = tmp_path / "chunk_assets.yaml"
    assert storage_root(configuration, path) == root.format(folder=tmp_path)


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_SET", raising=False)
    with pytest.raises(ConfigurationError, match=r"environment variable NOT_SET is not set"):
        expand("s3://${NOT_SET}/x")


def test_what_only_looks_like_a_variable_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SET", "value")
    assert expand("$SET ${} ${1} ${SET}") == "$SET ${} ${1} value"


SEVERAL = """
    embedders:
      one: {}
      two: {max_tokens: 100}
    strategies:
      long: {chunker: hierarchy, max_tokens: 90}
      short: {chunker: hierarchy, max_tokens: 50}
    corpora:
      all_of_it:
        source: {kind: files, root: docs}
      part:
        source: {kind: files, root: docs}
        strategies: [short]
        embedders: [two]
        serve: short__two
"""


def test_a_corpus_takes_all_strategies_and_embedders_unless_it_names_some(tmp_path: Path) -> None:
    corpora = corpora_of(load(tmp_path, SEVERAL))
    assert list(corpora["all_of_it"].indexes) == [
        "long__one",
        "long__two",
        "short__one",
        "short__two",
    ]
    assert list(corpora["part"].indexes) == ["short__two"]


def test_the_first_index_is_served_unless_another_is_named(tmp_path: Path) -> None:
    corpora = corpora_of(load(tmp_path, SEVERAL))
    assert corpora["all_of_it"].served_index == "long__one"
    assert corpora["part"].served_index == "short__two"


def test_an_index_that_a_corpus_does_not_have_cannot_be_served(tmp_path: Path) -> None:
    message = mistake(tmp_path, SEVERAL.replace("serve: short__two", "serve: long__two"))
    assert "corpora.part.serve: 'long__two' is not defined; did you mean 'short__two'?" in message


def test_a_resolved_configuration_loads_to_the_same_and_leaves_nothing_open(tmp_path: Path) -> None:
    configuration = load(tmp_path, VALID.replace(", max_tokens: 200", ""))
    shown = resolved(configuration)
    assert shown["strategies"]["hierarchy"]["max_tokens"] == 200
    assert shown["corpora"]["handbook"]["strategies"] == ["hierarchy"]
    assert shown["corpora"]["handbook"]["serve"] == "hierarchy__minilm"
    again = Configuration.model_validate(shown)
    assert resolved(again) == shown
    assert again.strategies["hierarchy"].resolved() == (
        configuration.strategies["hierarchy"].resolved()
    )

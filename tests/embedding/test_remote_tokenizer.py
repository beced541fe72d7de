"""The tokenizer of a model that runs elsewhere."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunk_assets.embedding import remote_tokenizer
from chunk_assets.embedding.config import DEFAULT_MODEL
from chunk_assets.embedding.remote_tokenizer import encodable, load_api_tokenizer
from chunk_assets.errors import EmbeddingError

TEXT = "Straßenbahn 東京 👩‍👩‍👧 naïve\n\n  def f(x): return x ** 2"


@pytest.fixture(scope="module")
def cl100k() -> remote_tokenizer.ApiTokenizer:
    pytest.importorskip("bpe_openai", exc_type=ImportError)
    return load_api_tokenizer("openai:cl100k_base")


@pytest.fixture(autouse=True)
def _deprecations_of_the_package(recwarn: pytest.WarningsRecorder) -> None:
    """It reads its data in a deprecated way when imported."""


def test_openais_tokens_are_counted(cl100k: remote_tokenizer.ApiTokenizer) -> None:
    # From OpenAI's cookbook: "How to count tokens with tiktoken".
    assert cl100k.count(
        ["tiktoken is great!", "antidisestablishmentarianism", "", "2 + 2 = 4"]
    ) == [
        6,
        6,
        0,
        7,
    ]
    assert cl100k.special_tokens == 0


def test_control_tokens_in_a_text_are_ordinary(cl100k: remote_tokenizer.ApiTokenizer) -> None:
    assert cl100k.count(["<|endoftext|>"]) == [7]


@given(text=st.text(max_size=80))
def test_offsets_cover_the_text_in_order(text: str) -> None:
    tokenizer = load_api_tokenizer("openai:cl100k_base")
    offsets = tokenizer.offsets(text)
    assert len(offsets) == tokenizer.count([text])[0]
    if text:
        assert offsets[0, 0] == 0
        assert offsets[-1, 1] == len(text)
        assert (np.diff(offsets[:, 0]) >= 0).all()
        assert (offsets[1:, 0] <= offsets[:-1, 1]).all(), "no character lies between tokens"


def test_the_tokens_of_a_long_text_are_those_of_the_whole(
    cl100k: remote_tokenizer.ApiTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"{TEXT} lorem ipsum, {'word ' * 5}\n" * 20
    whole = cl100k.offsets(text)
    monkeypatch.setattr(remote_tokenizer, "_CHARACTERS_AT_ONCE", 50)
    assert cl100k.count([text]) == [len(whole)]
    assert np.array_equal(cl100k.offsets(text), whole)


def test_a_text_of_more_than_a_million_characters_is_counted(
    cl100k: remote_tokenizer.ApiTokenizer,
) -> None:
    assert cl100k.count(["word " * 240_000]) == [240_001]


def test_a_lone_surrogate_is_counted_as_the_character_that_is_sent(
    cl100k: remote_tokenizer.ApiTokenizer,
) -> None:
    assert encodable("a\ud800b\udfff") == "a\ufffdb\ufffd"
    assert cl100k.count(["a\ud800b"]) == cl100k.count(["a\ufffdb"])
    assert cl100k.offsets("a\ud800b")[-1].tolist() == [2, 3]


def test_vocabularies_differ_in_their_fingerprint() -> None:
    one, other = (load_api_tokenizer(f"openai:{name}") for name in ("cl100k_base", "o200k_base"))
    assert one.fingerprint != other.fingerprint
    assert one.name == "openai:cl100k_base"


def test_an_unknown_vocabulary_is_told(cl100k: remote_tokenizer.ApiTokenizer) -> None:
    with pytest.raises(EmbeddingError, match="'openai:cl200k'; there are: openai:cl100k_base"):
        load_api_tokenizer("openai:cl200k").count(["a"])


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bpe_openai", None)
    with pytest.raises(EmbeddingError, match=r"install `chunk-assets\[openai\]`"):
        load_api_tokenizer("openai:cl100k_base").count(["a"])


def test_the_same_tokenizer_from_a_package_a_folder_and_a_file_is_one(
    model_folder: Path, tmp_path: Path
) -> None:
    shutil.copy(model_folder / "tokenizer.json", tmp_path / "ours.json")
    names = [DEFAULT_MODEL, str(model_folder), str(tmp_path / "ours.json")]
    tokenizers = [load_api_tokenizer(name) for name in names]
    assert {each.fingerprint for each in tokenizers} == {tokenizers[0].fingerprint}
    assert [each.special_tokens for each in tokenizers] == [2, 2, 2]


def test_a_folder_without_a_tokenizer_is_told(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match=r"no tokenizer\.json at"):
        load_api_tokenizer(str(tmp_path))


def test_a_path_that_is_not_there_is_told() -> None:
    with pytest.raises(EmbeddingError, match="there is no folder"):
        load_api_tokenizer("/no/such/tokenizer.json")


def test_a_hub_tokenizer_that_cannot_be_had_is_told() -> None:
    with pytest.raises(EmbeddingError, match="nor in the Hugging Face cache, and cannot be downl"):
        load_api_tokenizer("no-such/organisation-model")

import json
import math
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from chunk_assets.retrieval.bm25 import Bm25Config, Bm25Encoder
from chunk_assets.retrieval.vector_store import SparseVector

TEXT = "The quick brown foxes jumped over the lazy dogs; dogs, dogs!"


def passage(text: str, **settings: object) -> dict[int, float]:
    [vector] = Bm25Encoder(Bm25Config.model_validate(settings)).passages([text])
    return dict(zip(vector.indices, vector.values, strict=True))


def query(text: str, **settings: object) -> dict[int, float]:
    [vector] = Bm25Encoder(Bm25Config.model_validate(settings)).queries([text])
    return dict(zip(vector.indices, vector.values, strict=True))


def test_a_passage_weighs_terms_by_the_bm25_formula() -> None:
    terms = passage(TEXT, k=1.5, b=0.5, avg_len=4)
    length = 8  # quick brown fox jump lazi dog dog dog
    expected = {
        "dog": 3 * 2.5 / (3 + 1.5 * (1 - 0.5 + 0.5 * length / 4)),
        "fox": 1 * 2.5 / (1 + 1.5 * (1 - 0.5 + 0.5 * length / 4)),
    }
    assert len(terms) == 6
    for word, weight in expected.items():
        [term] = query(word)
        assert terms[term] == pytest.approx(weight, rel=1e-6)


def test_a_query_weighs_each_distinct_term_once() -> None:
    assert sorted(query("dogs dog DOG fox").values()) == [1.0, 1.0]


def test_inflected_words_share_a_term_with_their_stem() -> None:
    assert query("jumping") == query("jumped")
    assert query("jumping", stemmer=False) != query("jumped", stemmer=False)


def test_stop_words_are_no_terms() -> None:
    assert query("the of and") == {}


def test_without_a_language_every_word_counts_as_it_stands() -> None:
    assert len(query("the dogs", language=None)) == 2
    assert query("dogs", language=None) != query("dog", language=None)


def test_each_language_has_its_own_stop_words() -> None:
    assert query("der und das", language="german") == {}
    assert len(query("der und das", language="english")) == 3


def test_accents_are_kept_unless_they_are_folded() -> None:
    assert query("café") != query("cafe")
    assert query("café", ascii_folding=True) == query("cafe", ascii_folding=True)


def test_the_multilingual_tokenizer_segments_scripts_without_spaces() -> None:
    text = "東京都に住んでいます"
    assert len(query(text, tokenizer="multilingual", language=None)) > len(
        query(text, tokenizer="word", language=None)
    )


@pytest.mark.parametrize("text", ["", "   \n", "…!?", "the of and"])
def test_a_text_without_terms_gives_an_empty_vector(text: str) -> None:
    encoder = Bm25Encoder(Bm25Config())
    assert encoder.passages([text]) == encoder.queries([text]) == [SparseVector((), ())]


def test_vectors_come_in_the_order_of_the_texts() -> None:
    encoder = Bm25Encoder(Bm25Config())
    assert encoder.passages(["fox", "dog"]) == [
        *encoder.passages(["fox"]),
        *encoder.passages(["dog"]),
    ]
    assert encoder.passages([]) == []


def test_a_lone_surrogate_separates_words() -> None:
    assert query("fox\ud800dog") == query("fox dog")


@given(st.text(max_size=300))
@settings(deadline=None, max_examples=150)
def test_any_text_gives_distinct_terms_with_positive_finite_weights(text: str) -> None:
    for encode in (Bm25Encoder(Bm25Config()).passages, Bm25Encoder(Bm25Config()).queries):
        [vector] = encode([text])
        assert len(set(vector.indices)) == len(vector.indices) == len(vector.values)
        assert all(0 <= index < 2**32 for index in vector.indices)
        assert all(0 < value < math.inf for value in vector.values)


def test_terms_are_the_same_in_another_process() -> None:
    code = (
        "import json, sys\n"
        "from chunk_assets.retrieval.bm25 import Bm25Config, Bm25Encoder\n"
        "[v] = Bm25Encoder(Bm25Config()).passages([sys.argv[1]])\n"
        "sys.stdout.write(json.dumps([v.indices, v.values]))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, TEXT], capture_output=True, text=True, check=True
    )
    [here] = Bm25Encoder(Bm25Config()).passages([TEXT])
    assert json.loads(result.stdout) == [list(here.indices), list(here.values)]


def test_equal_configurations_have_one_fingerprint_and_others_another() -> None:
    assert Bm25Config().fingerprint == Bm25Config(k=1.2).fingerprint
    variants = [
        Bm25Config(),
        Bm25Config(k=1.3),
        Bm25Config(b=0.5),
        Bm25Config(avg_len=100),
        Bm25Config(language="german"),
        Bm25Config(language=None),
        Bm25Config(stemmer=False),
        Bm25Config(tokenizer="whitespace"),
        Bm25Config(ascii_folding=True),
    ]
    assert len({config.fingerprint for config in variants}) == len(variants)


@pytest.mark.parametrize(
    "settings",
    [{"k": -1}, {"b": 1.5}, {"avg_len": 0}, {"language": "klingon"}, {"tokenizer": "x"}, {"z": 1}],
)
def test_settings_outside_their_range_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Bm25Config.model_validate(settings)

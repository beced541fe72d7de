"""Texts that exceed the model."""

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Library
from tokenizers import models, pre_tokenizers, trainers

from chunk_assets.embedding.huggingface_tokenizer import HuggingFaceTokenizer
from chunk_assets.embedding.overflow import fit, pool, split_windows
from chunk_assets.embedding.tokenizer import Tokenizer
from chunk_assets.errors import EmbeddingError

LONG = "The pump hums in the yard, unbelievably. " * 12


@pytest.fixture(scope="session")
def byte_level(tmp_path_factory: pytest.TempPathFactory) -> HuggingFaceTokenizer:
    """One token a byte: most of its boundaries lie inside a character."""
    library = Library(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=256, initial_alphabet=alphabet, show_progress=False)
    library.train_from_iterator(["x"], trainer)
    path = tmp_path_factory.mktemp("bytes") / "tokenizer.json"
    library.save(str(path))
    return HuggingFaceTokenizer(path, "bytes")


WORDS = st.lists(
    st.sampled_from(
        [
            "unbelievably",
            "yard",
            "é",
            "e\u0301",
            "猫犬",
            "👩\u200d👩\u200d👧",
            "ภาษา",
            "x.y",
            "\r\n",
            "  ",
        ]
    ),
    min_size=1,
    max_size=40,
)


def clusters_are_whole(windows: list[str], text: str) -> bool:
    starts = {cluster.start() for cluster in regex.finditer(r"\X", text)} | {len(text)}
    ends = np.cumsum([len(window) for window in windows])
    return set(ends.tolist()) <= starts


@settings(max_examples=150, deadline=None)
@given(words=WORDS, max_tokens=st.integers(30, 60))
@pytest.mark.parametrize("kind", ["wordpiece", "byte_level"])
def test_windows_tile_the_text_within_the_limit_and_cut_no_character(
    request: pytest.FixtureRequest, kind: str, words: list[str], max_tokens: int
) -> None:
    tokenizer: Tokenizer = request.getfixturevalue(kind)
    text = " ".join(words * 3)
    windows = list(split_windows(text, tokenizer, max_tokens))

    assert "".join(window for window, _ in windows) == text
    assert [count for _, count in windows] == tokenizer.count([window for window, _ in windows])
    assert max(count for _, count in windows) <= max_tokens
    assert clusters_are_whole([window for window, _ in windows], text)


def test_windows_are_as_full_as_they_can_be(wordpiece: HuggingFaceTokenizer) -> None:
    counts = [count for _, count in split_windows("word " * 100, wordpiece, 30)]
    assert counts == [30, 30, 30, 10]


def test_a_character_larger_than_the_model_is_cut_between_code_points(
    byte_level: HuggingFaceTokenizer,
) -> None:
    text = "a" + "\u0301" * 40  # one grapheme cluster of 81 tokens
    windows = list(split_windows(text, byte_level, 16))

    assert "".join(window for window, _ in windows) == text
    assert max(count for _, count in windows) <= 16


def test_a_text_that_fits_is_one_window_without_a_flag(wordpiece: HuggingFaceTokenizer) -> None:
    fitted = fit("short", 1, wordpiece, max_tokens=16, overflow="error")
    assert (fitted.windows, fitted.window_tokens, fitted.flags) == (("short",), (1,), ())


def test_pooling_embeds_every_token(wordpiece: HuggingFaceTokenizer) -> None:
    [tokens] = wordpiece.count([LONG])
    fitted = fit(LONG, tokens, wordpiece, max_tokens=50, overflow="pool")

    assert fitted.flags == ("pooled",)
    assert "".join(fitted.windows) == LONG
    assert fitted.tokens_embedded == tokens


def test_truncation_keeps_the_beginning_and_counts_it(wordpiece: HuggingFaceTokenizer) -> None:
    [tokens] = wordpiece.count([LONG])
    fitted = fit(LONG, tokens, wordpiece, max_tokens=50, overflow="truncate")

    assert fitted.flags == ("truncated",)
    assert LONG.startswith(fitted.windows[0])
    assert fitted.tokens_embedded == 50 < tokens


def test_an_error_names_both_numbers(wordpiece: HuggingFaceTokenizer) -> None:
    [tokens] = wordpiece.count([LONG])
    with pytest.raises(EmbeddingError, match=rf"has {tokens} tokens, but the model takes 50"):
        fit(LONG, tokens, wordpiece, max_tokens=50, overflow="error")


def test_windows_weigh_what_they_hold() -> None:
    vectors = np.eye(2, dtype=np.float32)
    assert pool(vectors, [3, 4]).tolist() == pytest.approx([0.6, 0.8])


def test_windows_that_cancel_each_other_leave_nothing() -> None:
    vectors = np.array([[1, 0], [-1, 0]], dtype=np.float32)
    assert pool(vectors, [5, 5]).tolist() == [0, 0]

"""What counts as a word."""

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from chunk_assets.chunking.code_points import classify
from chunk_assets.chunking.words import LONGEST_WORD, bounded_words, count_words, word_spans


def words(text: str) -> list[str]:
    found = word_spans(text, classify(text))
    spans = zip(found.starts.tolist(), found.stops.tolist(), strict=True)
    return [text[start:stop] for start, stop in spans]


def pieces(text: str) -> list[str]:
    found = bounded_words(text, word_spans(text, classify(text)))
    spans = zip(found.starts.tolist(), found.stops.tolist(), strict=True)
    return [text[start:stop] for start, stop in spans]


def test_words_stand_between_blanks() -> None:
    assert words("Don't  stop:\tit's\u00a0ex.org/a\r\nnow. ") == [
        "Don't",
        "stop:",
        "it's",
        "ex.org/a",
        "now.",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("แมวกินปลา ในบ้าน", ["แมว", "กิน", "ปลา", "ใน", "บ้าน"]),
        ("东京你好。我们走了。", ["东京", "你好。", "我们", "走了。"]),
        ("「行こう。」と", ["「行", "こう。」", "と"]),
        ("ខ្ញុំស្រលាញ់ភាសាខ្មែរ", ["ខ្ញុំ", "ស្រលាញ់", "ភាសាខ្មែរ"]),
    ],
    ids=["Thai", "Chinese", "Japanese", "Khmer"],
)
def test_scripts_without_spaces_have_dictionary_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_hangul_and_latin_beside_han_stay_whole() -> None:
    assert words("한국어 문장 Python3") == ["한국어", "문장", "Python3"]


def test_a_run_without_blanks_counts_one_word_for_each_hundred_characters() -> None:
    assert [len(piece) for piece in pieces("k" * 250)] == [LONGEST_WORD, LONGEST_WORD, 50]


def test_a_long_run_without_blanks_is_one_word_all_the_same() -> None:
    assert words("k" * 250) == ["k" * 250]


def test_a_grapheme_cluster_longer_than_a_word_stays_whole() -> None:
    cluster = "e" + "\u0301" * 300

    assert pieces(f"a{cluster}b") == ["a", cluster, "b"]


def test_a_space_that_carries_a_mark_belongs_to_the_word_of_the_mark() -> None:
    assert words("ab \u0301cd") == ["ab", " \u0301cd"]


def test_a_sign_that_joins_the_next_character_keeps_the_space_it_joins() -> None:
    assert words("\u0600 12") == ["\u0600 ", "12"]


def test_lone_surrogates_are_characters_like_any_other() -> None:
    assert words("a\ud800 猫\udfff") == ["a\ud800", "猫\udfff"]


def test_blank_text_has_no_words() -> None:
    assert count_words(" \t\r\n\u3000\x1f") == 0


anything = st.text(
    st.characters() | st.sampled_from(" \r\n\u0301\u200dก้าำ猫。」\u0600👩🇩"), max_size=60
)


@settings(deadline=None, derandomize=True, max_examples=300)
@given(anything)
def test_words_hold_every_character_that_is_not_blank(text: str) -> None:
    assert "".join("".join(pieces(text * 3)).split()) == "".join((text * 3).split())


@settings(deadline=None, derandomize=True, max_examples=300)
@given(anything)
def test_words_start_and_end_between_grapheme_clusters(text: str) -> None:
    text = text * 3
    found = bounded_words(text, word_spans(text, classify(text)))
    edges = {*found.starts.tolist(), *found.stops.tolist()}

    assert edges <= {0, *(cluster.end() for cluster in regex.finditer(r"\X", text))}


@settings(deadline=None, derandomize=True, max_examples=300)
@given(anything)
def test_no_piece_is_longer_than_the_longest_allowed(text: str) -> None:
    for word in pieces(text * 5):
        assert len(word) <= LONGEST_WORD or regex.fullmatch(r"\X", word)

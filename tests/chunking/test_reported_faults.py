"""Inputs of the kinds that broke other tools, each with the right answer."""

import json
import random
from itertools import pairwise

import pytest
import regex
from chunking_cut import cut, texts
from chunking_documents import document, markdown, parsed
from chunking_tokenizers import byte_level, wordpiece

from chunk_assets.chunking.finish import OVERSIZE
from chunk_assets.chunking.sentences import sentence_ends
from chunk_assets.chunking.strategy import parse_strategy
from chunk_assets.errors import ConfigurationError
from chunk_assets.parsing.document import Block, BlockKind

ANY_CHUNKER = pytest.mark.parametrize("chunker", ["fixed_overlap", "sentence_aware", "hierarchy"])


def test_repeated_text_gets_the_position_of_each_copy() -> None:
    chunks = cut("ping ping", chunker="fixed_overlap", max_characters=4)

    assert [chunk.start for chunk in chunks] == [0, 5]


def test_overlapping_token_windows_over_repeated_text_move_forward() -> None:
    text = " ".join(f"item{i:02d} moves along the quay" for i in range(12))

    chunks = cut(text, wordpiece(), chunker="fixed_overlap", max_tokens=10, overlap=5)

    starts = [chunk.start for chunk in chunks]
    assert starts == sorted(set(starts))
    assert all(chunk.overlap_start for chunk in chunks[1:])


def test_a_token_window_never_cuts_inside_a_character() -> None:
    chunks = cut("ab 猫犬 🚀 ภาษา ä end", byte_level(), chunker="fixed_overlap", max_tokens=2)

    assert not any("\ufffd" in chunk.text for chunk in chunks)
    assert [chunk.text for chunk in chunks if OVERSIZE in chunk.flags] == ["猫", "犬", "🚀"]


@ANY_CHUNKER
def test_positions_are_code_points_whatever_the_bytes_are(chunker: str) -> None:
    text = "Über café – fin.\nNächste Zeile. ภาษาไทย"

    chunks = cut(text, chunker=chunker, max_characters=11, context=[])

    assert [text[chunk.start : chunk.end] for chunk in chunks] == texts(chunks)
    assert texts(chunks)[0] == "Über café –"


def test_lines_below_the_minimum_merge_and_none_is_dropped() -> None:
    text = "A long enough line here\nNo refunds.\nOK\nStop."

    chunks = cut(text, chunker="sentence_aware", max_characters=24, min_size=10)

    assert texts(chunks) == ["A long enough line here", "No refunds.\nOK\nStop."]


def test_a_line_below_the_minimum_stays_when_merging_would_break_the_maximum() -> None:
    text = "A long enough line here.\n\nOK.\n\nAnother line that is long."

    chunks = cut(text, chunker="sentence_aware", max_characters=27, min_size=10)

    assert texts(chunks) == ["A long enough line here.", "OK.", "Another line that is long."]


def test_text_before_the_first_heading_is_in_a_chunk_with_an_empty_path() -> None:
    whole = markdown("Opening words.\n\n# First\nBody.")

    chunks = cut(whole, chunker="hierarchy", max_words=50, min_section=0)

    assert [(chunk.text, chunk.heading_path) for chunk in chunks] == [
        ("Opening words.", ()),
        ("# First\nBody.", ("First",)),
    ]


@pytest.mark.parametrize("overlap", [5, 6, 1.0])
def test_an_overlap_as_large_as_the_chunk_is_refused_with_both_values(
    overlap: int | float,
) -> None:
    values = {"chunker": "fixed_overlap", "max_characters": 5, "overlap": overlap}

    with pytest.raises(ConfigurationError, match=rf"overlap \({overlap}\).*max_characters \(5\)"):
        parse_strategy(values)


def test_the_largest_overlap_allowed_still_moves_forward() -> None:
    chunks = cut("abcdefghijkl", chunker="fixed_overlap", max_characters=5, overlap=4)

    assert texts(chunks) == ["abcde", "fghij", "kl"]


def one_line_json() -> str:
    return json.dumps({"rows": [{"id": i, "v": "x" * 40} for i in range(40000)]})


@pytest.mark.parametrize("text", [one_line_json(), "k" * 1_000_000], ids=["json", "k"])
@pytest.mark.parametrize("unit", ["max_words", "max_characters"])
def test_one_huge_line_becomes_bounded_chunks(text: str, unit: str) -> None:
    block = Block(BlockKind.PARAGRAPH, 0, len(text))

    chunks = cut(document(text, [block]), chunker="sentence_aware", **{unit: 200})

    assert max(len(chunk.text) for chunk in chunks) <= 200 * 100


@pytest.mark.slow
@pytest.mark.parametrize("text", [one_line_json(), "k" * 1_000_000], ids=["json", "k"])
def test_one_huge_line_becomes_chunks_bounded_in_tokens_and_characters(text: str) -> None:
    block = Block(BlockKind.PARAGRAPH, 0, len(text))

    chunks = cut(document(text, [block]), wordpiece(), chunker="sentence_aware", max_tokens=200)

    assert max(len(chunk.text) for chunk in chunks) <= 200 * 100


@ANY_CHUNKER
@pytest.mark.parametrize("overlap", [0, 4])
def test_no_chunk_has_more_tokens_than_allowed_when_counted_alone(
    chunker: str, overlap: int
) -> None:
    pool = "hoytyof gjzsrwahyf jumps quickly over lazy harbour terminals configuring dzogbzcbn"
    text = " ".join(random.Random(12).choices(pool.split(), k=600))

    chunks = cut(text, byte_level(), chunker=chunker, max_tokens=16, overlap=overlap)

    assert max(byte_level().count([chunk.embed_text for chunk in chunks])) <= 16


def test_token_windows_stay_full_when_a_word_costs_more_at_the_start_of_a_chunk() -> None:
    pool = "hoytyof gjzsrwahyf jumps quickly over lazy harbour terminals configuring dzogbzcbn"
    text = " ".join(random.Random(12).choices(pool.split(), k=600))

    chunks = cut(text, byte_level(), chunker="fixed_overlap", max_tokens=16)

    longest_word = max(byte_level().count([f" {word}" for word in pool.split()]))
    assert min(chunk.size for chunk in chunks[:-1]) > 16 - longest_word


def test_cjk_full_stops_stay_with_their_sentence() -> None:
    chunks = cut("猫在睡觉。狗在跑步。鸟在唱歌。", chunker="sentence_aware", max_characters=12)

    assert texts(chunks) == ["猫在睡觉。狗在跑步。", "鸟在唱歌。"]


def test_cjk_closing_quotes_stay_with_their_sentence() -> None:
    chunks = cut("他说：“走吧。”我们走了。", chunker="sentence_aware", max_characters=8)

    assert texts(chunks) == ["他说：“走吧。”", "我们走了。"]


@pytest.mark.parametrize(("text", "limit"), [("กำลังน้ำที่นี่", 4), ("แมวกินปลาในบ้านสีขาวทุกเช้า", 10)])
@ANY_CHUNKER
def test_no_chunk_of_thai_starts_with_a_combining_mark(text: str, limit: int, chunker: str) -> None:
    chunks = cut(text, chunker=chunker, max_characters=limit)

    assert not any(regex.match(r"[\p{M}\u0e33]", chunk.text) for chunk in chunks)


def test_thai_is_cut_between_dictionary_words() -> None:
    chunks = cut("แมวกินปลาในบ้านสีขาวทุกเช้า", chunker="sentence_aware", max_characters=10)

    assert texts(chunks) == ["แมวกินปลา", "ในบ้านสี", "ขาวทุกเช้า"]


def test_japanese_is_cut_between_dictionary_words_with_punctuation_at_the_end() -> None:
    chunks = cut("東京都に。京都市を。", chunker="fixed_overlap", max_characters=3)

    assert texts(chunks) == ["東京都", "に。", "京都市", "を。"]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            "Dr. Ames paid $3.50 at 9 a.m. on No. 7 Quay St. See https://ex.org/v1.2?a=b. It shut.",
            [
                "Dr. Ames paid $3.50 at 9 a.m. on No. 7 Quay St.",
                "See https://ex.org/v1.2?a=b.",
                "It shut.",
            ],
        ),
        (
            "It opened in 1999. Then Plan B. It failed.",
            ["It opened in 1999.", "Then Plan B.", "It failed."],
        ),
    ],
)
def test_abbreviations_decimals_times_and_urls_end_no_sentence(
    text: str, sentences: list[str]
) -> None:
    ends = [0, *sentence_ends(text, 0, len(text)), len(text)]

    assert [text[slice(*span)].strip() for span in pairwise(ends)] == sentences


@pytest.mark.parametrize("text", ["the marker <|endoftext|> ends it", "[CLS] and </s>"])
@pytest.mark.parametrize("tokenizer", [wordpiece, byte_level])
def test_special_tokens_in_a_text_are_ordinary_text(text: str, tokenizer: object) -> None:
    assert callable(tokenizer)

    chunks = cut(text, tokenizer(), chunker="sentence_aware", max_tokens=50)

    assert texts(chunks) == [text]


def test_nul_bytes_are_gone_before_anything_is_counted() -> None:
    whole = parsed(b"ab\x00cd ef", "page.txt")

    chunks = cut(whole, chunker="fixed_overlap", max_characters=4)

    assert texts(chunks) == ["abcd", "ef"]


def test_indentation_tabs_and_blank_lines_of_code_are_kept() -> None:
    text = "# Steps\n\n```py\nif ok:\n\treturn 1\n```\n\n- a\n    - b\n"

    (chunk,) = cut(markdown(text), chunker="hierarchy", max_words=50)

    assert chunk.text == text.rstrip("\n")


def test_a_chunk_that_begins_at_an_indented_line_keeps_the_indentation() -> None:
    text = "# Steps\n\n- alpha beta\n    - gamma delta\n"

    chunks = cut(markdown(text), chunker="sentence_aware", max_words=4)

    assert "    - gamma delta" in texts(chunks)


def test_no_break_spaces_and_tabs_are_kept() -> None:
    text = "# A\nab\u00a0cd\tef"

    (chunk,) = cut(markdown(text), chunker="hierarchy", max_words=50)

    assert chunk.text == text


def test_a_table_is_cut_between_rows() -> None:
    text = "| id | unit |\n|---|---|\n" + "".join(f"| {i} | kg |\n" for i in range(20))

    chunks = cut(markdown(text), chunker="sentence_aware", max_characters=60)

    assert all(regex.fullmatch(r"(?:\|.*\|\n?)+", chunk.text) for chunk in chunks)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_blank_lines_separate_paragraphs_whatever_the_line_ends(newline: str) -> None:
    text = f"One.{newline * 2}Two.{newline * 2}Three."
    block = Block(BlockKind.PARAGRAPH, 0, len(text))

    chunks = cut(document(text, [block]), chunker="sentence_aware", max_characters=6)

    assert texts(chunks) == ["One.", "Two.", "Three."]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_parsed_files_of_any_line_end_give_the_same_chunks(newline: bytes) -> None:
    raw = newline.join([b"One.", b"", b"Two.", b"", b"Three."])

    chunks = cut(parsed(raw, "page.txt"), chunker="sentence_aware", max_characters=6)

    assert texts(chunks) == ["One.", "Two.", "Three."]


def test_each_limit_gives_other_chunks_within_it() -> None:
    text = "\n".join(f"Question {i}: name part {i}." for i in range(1, 31))

    counts = [
        len(cut(text, chunker="sentence_aware", max_characters=limit)) for limit in (50, 100, 200)
    ]

    assert counts == [26, 10, 5]


def test_right_to_left_marks_stay_in_the_text() -> None:
    text = "שלום\u200f (abc) 34. שלום"

    chunks = cut(text, chunker="sentence_aware", max_characters=18)

    assert texts(chunks) == ["שלום\u200f (abc) 34.", "שלום"]

"""Windows of fixed size."""

from chunking_cut import cut, texts
from chunking_documents import document
from chunking_tokenizers import wordpiece

NUMBERS = " ".join(str(number) for number in range(1, 11))


def test_a_window_moves_on_by_its_size_less_the_overlap() -> None:
    chunks = cut(NUMBERS, chunker="fixed_overlap", max_words=4, overlap=2)

    assert texts(chunks) == ["1 2 3 4", "3 4 5 6", "5 6 7 8", "7 8 9 10"]


def test_the_shared_part_of_a_window_is_recorded() -> None:
    chunks = cut(NUMBERS, chunker="fixed_overlap", max_words=4, overlap=2)

    shared = [
        None if chunk.overlap_start is None else NUMBERS[chunk.start : chunk.overlap_start].strip()
        for chunk in chunks
    ]
    assert shared == [None, "3 4", "5 6", "7 8"]


def test_the_last_window_is_as_short_as_what_is_left() -> None:
    chunks = cut(NUMBERS, chunker="fixed_overlap", max_words=4)

    assert texts(chunks)[-1] == "9 10"


def test_windows_of_tokens_hold_whole_words() -> None:
    text = "internationalization of tokenizers"

    chunks = cut(text, wordpiece(), chunker="fixed_overlap", max_tokens=4)

    assert texts(chunks) == ["internationalization of", "tokenizers"]


def test_windows_ignore_paragraphs() -> None:
    chunks = cut("a b c\n\nd e f", chunker="fixed_overlap", max_words=4)

    assert texts(chunks) == ["a b c\n\nd", "e f"]


def test_a_text_that_fits_is_one_window() -> None:
    assert texts(cut(NUMBERS, chunker="fixed_overlap", max_words=10, overlap=5)) == [NUMBERS]


def test_a_blank_document_has_no_windows() -> None:
    assert cut(document(" \n\t\n "), chunker="fixed_overlap") == []

"""Paragraphs, then sentences, then words."""

from chunking_cut import cut, texts
from chunking_documents import markdown


def test_whole_paragraphs_are_packed_as_far_as_they_fit() -> None:
    text = "One one.\n\nTwo two.\n\nThree three three."

    chunks = cut(text, chunker="sentence_aware", max_words=5)

    assert texts(chunks) == ["One one.\n\nTwo two.", "Three three three."]


def test_a_paragraph_that_is_too_long_is_cut_between_sentences() -> None:
    text = "One one. Two two. Three three. Four four."

    chunks = cut(text, chunker="sentence_aware", max_words=5)

    assert texts(chunks) == ["One one. Two two.", "Three three. Four four."]


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    chunks = cut("One two three four five six.", chunker="sentence_aware", max_words=4)

    assert texts(chunks) == ["One two three four", "five six."]


def test_a_word_that_is_too_long_is_cut_between_grapheme_clusters() -> None:
    chunks = cut("e\u0301" * 5, chunker="sentence_aware", max_characters=5)

    assert texts(chunks) == ["e\u0301" * 2, "e\u0301" * 2, "e\u0301"]


def test_a_long_address_that_fits_alone_is_not_cut() -> None:
    address = "https://ex.org/" + "a" * 120

    chunks = cut(f"See the page {address} now.", chunker="sentence_aware", max_characters=140)

    assert texts(chunks) == ["See the page", f"{address} now."]


def test_a_sentence_that_fits_alone_is_not_cut_to_fill_a_chunk() -> None:
    text = "A short one. This sentence has five words. The last."

    chunks = cut(text, chunker="sentence_aware", max_words=7)

    assert texts(chunks) == ["A short one.", "This sentence has five words. The last."]


def test_a_paragraph_that_must_be_cut_anyway_fills_a_chunk_that_is_nearly_empty() -> None:
    text = "Short.\n\nOne one one. Two two two. Three three three."

    chunks = cut(text, chunker="sentence_aware", max_words=7)

    assert texts(chunks) == ["Short.\n\nOne one one. Two two two.", "Three three three."]


def test_a_heading_stays_with_the_paragraph_it_heads() -> None:
    chunks = cut(
        markdown("One two three.\n\n# Title\n\nFour five six."),
        chunker="sentence_aware",
        max_words=5,
    )

    assert texts(chunks) == ["One two three.", "# Title\n\nFour five six."]


def test_code_is_cut_between_lines() -> None:
    code = "```\nif a. B:\n    run it\n    stop\n```"

    chunks = cut(markdown(code), chunker="sentence_aware", max_words=4)

    assert texts(chunks) == ["```\nif a. B:", "    run it\n    stop\n```"]


def test_list_items_stay_whole() -> None:
    text = "- one two\n- three four\n- five six"

    chunks = cut(markdown(text), chunker="sentence_aware", max_words=7)

    assert texts(chunks) == ["- one two\n- three four", "- five six"]


def test_overlap_is_whole_sentences_where_they_fit() -> None:
    text = "One one one. Two two. Three three three. Four four."

    chunks = cut(text, chunker="sentence_aware", max_words=7, overlap=3)

    assert texts(chunks) == [
        "One one one. Two two.",
        "Two two. Three three three. Four four.",
    ]


def test_overlap_is_whole_words_where_no_sentence_fits() -> None:
    text = "One two three four five. Six six six."

    chunks = cut(text, chunker="sentence_aware", max_words=5, overlap=2)

    assert texts(chunks) == ["One two three four five.", "four five. Six six six."]


def test_overlap_gives_way_before_a_sentence_is_cut() -> None:
    text = "One one one one. Two two two two two."

    chunks = cut(text, chunker="sentence_aware", max_words=6, overlap=3)

    assert texts(chunks) == ["One one one one.", "one. Two two two two two."]

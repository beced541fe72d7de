"""Chunks below the minimum."""

from chunking_cut import cut, texts
from chunking_documents import markdown


def test_a_small_chunk_joins_the_one_before_it() -> None:
    text = "# A\n\nOne two three.\n\n# B\n\nSmall."

    chunks = cut(markdown(text), chunker="hierarchy", max_words=9, min_section=0, min_size=5)

    assert texts(chunks) == [text]


def test_a_small_chunk_at_the_beginning_joins_the_one_after_it() -> None:
    text = "# A\n\nSmall.\n\n# B\n\nOne two three."

    chunks = cut(markdown(text), chunker="hierarchy", max_words=9, min_section=0, min_size=5)

    assert texts(chunks) == [text]


def test_a_small_chunk_joins_its_own_section_before_another() -> None:
    text = "# A\n\nOne two three. Four four four.\n\n# B\n\nFive."

    chunks = cut(
        markdown(text), chunker="hierarchy", max_words=8, min_section=0, min_size=4, context=[]
    )

    assert texts(chunks) == ["# A\n\nOne two three. Four four four.", "# B\n\nFive."]


def test_a_small_chunk_stays_when_its_neighbours_are_full() -> None:
    text = "# A\n\nOne two three.\n\n# B\n\nSmall.\n\n# C\n\nOne two three."

    chunks = cut(markdown(text), chunker="hierarchy", max_words=7, min_section=0, min_size=4)

    assert "# B\n\nSmall." in texts(chunks)


def test_a_joined_chunk_keeps_the_overlap_of_the_first() -> None:
    text = "# A\n\nOne one one one. Two.\n\n# B\n\nThree."
    sizes = {"max_words": 6, "overlap": 1, "min_size": 2, "min_section": 0}

    chunks = cut(markdown(text), chunker="hierarchy", context=[], **sizes)

    assert texts(chunks) == ["# A\n\nOne one one one.", "one. Two.\n\n# B\n\nThree."]
    assert chunks[1].overlap_start == text.index("Two.")

"""Sections."""

from chunking_cut import cut, texts
from chunking_documents import document, markdown

from chunk_assets.chunking.chunk import Chunk

GUIDE = """# Guide

## Install

Open the box and take the pump out of it with both hands.

## Use

Turn the pump on and wait until the lamp turns green.

### Stop

Turn the pump off and wait until the lamp turns red.
"""


def paths(chunks: list[Chunk]) -> list[tuple[str, ...]]:
    return [chunk.heading_path for chunk in chunks]


def test_each_section_is_a_chunk_with_its_heading_path() -> None:
    chunks = cut(markdown(GUIDE), chunker="hierarchy", max_words=25, min_section=3)

    assert paths(chunks) == [("Guide", "Install"), ("Guide", "Use"), ("Guide", "Use", "Stop")]


def test_the_model_is_given_the_headings_that_the_text_does_not_show() -> None:
    chunks = cut(markdown(GUIDE), chunker="hierarchy", max_words=25, min_section=3)

    assert [chunk.embed_text.removesuffix(chunk.text) for chunk in chunks] == [
        "",  # "# Guide" and "## Install" stand in the text
        "Guide\n\n",
        "Guide > Use\n\n",
    ]


def test_a_heading_without_text_joins_its_first_subsection() -> None:
    chunks = cut(markdown(GUIDE), chunker="hierarchy", max_words=25, min_section=1)

    assert texts(chunks)[0].startswith("# Guide\n\n## Install\n\nOpen")


def test_no_section_joins_another_when_the_shortest_allowed_is_nothing() -> None:
    chunks = cut(markdown(GUIDE), chunker="hierarchy", max_words=25, min_section=0)

    assert texts(chunks)[0] == "# Guide"


def test_a_section_that_is_too_long_is_cut_into_numbered_parts() -> None:
    text = "# Long\n\n" + "\n\n".join(f"Paragraph {n} has five words." for n in range(5))

    chunks = cut(markdown(text), chunker="hierarchy", max_words=13, min_section=0)

    assert [chunk.flags for chunk in chunks] == [("part:1/3",), ("part:2/3",), ("part:3/3",)]


def test_every_part_of_a_section_is_given_its_heading() -> None:
    text = "# Long\n\n" + "\n\n".join(f"Paragraph {n} has five words." for n in range(5))

    chunks = cut(markdown(text), chunker="hierarchy", max_words=13, min_section=0)

    assert all(chunk.embed_text.removeprefix("# ").startswith("Long\n\n") for chunk in chunks)


def test_a_short_section_joins_its_neighbour_under_the_same_parent() -> None:
    text = "# A\n\nLong enough to stand for itself.\n\n## B\n\nTiny.\n\n## C\n\nTiny too.\n"

    chunks = cut(markdown(text), chunker="hierarchy", max_words=10, min_section=6)

    assert texts(chunks) == [
        "# A\n\nLong enough to stand for itself.",
        "## B\n\nTiny.\n\n## C\n\nTiny too.",
    ]


def test_a_short_subsection_joins_the_text_of_its_parent() -> None:
    text = "# A\n\nLong enough to stand for itself.\n\n## B\n\nTiny.\n"

    chunks = cut(markdown(text), chunker="hierarchy", max_words=12, min_section=6)

    assert (texts(chunks), paths(chunks)) == ([text.strip()], [("A",)])


def test_joined_sections_have_the_heading_path_they_share() -> None:
    text = "# A\n\nLong enough to stand for itself.\n\n## B\n\nTiny.\n\n## C\n\nTiny too.\n"

    chunks = cut(markdown(text), chunker="hierarchy", max_words=10, min_section=6)

    assert paths(chunks) == [("A",), ("A",)]


def test_a_short_subsection_joins_none_under_another_parent() -> None:
    text = (
        "# A\n\nLong enough to stand for itself.\n\n## B\n\nTiny.\n\n"
        "# C\n\nLong enough to stand for itself too.\n"
    )

    chunks = cut(markdown(text), chunker="hierarchy", max_words=10, min_section=6)

    assert texts(chunks)[1] == "## B\n\nTiny."


def test_a_short_section_with_subsections_stays_with_them() -> None:
    text = "# A\n\nSome words.\n\n# C\n\nTiny.\n\n## D\n\nTiny too.\n"

    chunks = cut(markdown(text), chunker="hierarchy", max_words=11, min_section=8)

    assert texts(chunks) == ["# A\n\nSome words.", "# C\n\nTiny.\n\n## D\n\nTiny too."]


def test_a_document_without_headings_is_one_section() -> None:
    chunks = cut(document("One one.\n\nTwo two."), chunker="hierarchy", max_words=9)

    assert texts(chunks) == ["One one.\n\nTwo two."]


def test_overlap_stays_inside_a_section() -> None:
    text = "# A\n\nOne one one. Two two two.\n\n# B\n\nThree three three."

    chunks = cut(markdown(text), chunker="hierarchy", max_words=6, overlap=3, min_section=0)

    assert [chunk.overlap_start is not None for chunk in chunks] == [False, True, False]


def test_a_hash_in_a_code_block_is_no_section() -> None:
    text = "# A\n\n```\n# not a heading\n```\n"

    assert paths(cut(markdown(text), chunker="hierarchy", max_words=20)) == [("A",)]

"""What is put before the text for the embedding model."""

from chunking_cut import cut, texts
from chunking_documents import document, markdown
from chunking_tokenizers import wordpiece

from chunk_assets.parsing.document import Block, BlockKind

SECTION = "# Pump\n\n## Care\n\nOil it. Wipe it dry. Store it in the shed."


def contexts(text: str, **values: object) -> list[str]:
    chunks = cut(markdown(text), chunker="sentence_aware", **values)
    return [chunk.embed_text.removesuffix(chunk.text) for chunk in chunks]


def test_without_context_the_model_is_given_the_text_alone() -> None:
    assert contexts(SECTION, max_words=9) == ["", ""]


def test_a_heading_path_stands_before_text_that_does_not_show_it() -> None:
    assert contexts(SECTION, max_words=9, context=["heading_path"]) == ["", "Pump > Care\n\n"]


def test_a_title_comes_before_the_heading_path() -> None:
    block = Block(BlockKind.PARAGRAPH, 0, 12, heading_path=("Care",))

    (chunk,) = cut(
        document("Wipe it dry.", [block], title="Pump"),
        chunker="sentence_aware",
        max_words=9,
        context=["title", "heading_path"],
    )

    assert chunk.embed_text == "Pump > Care\n\nWipe it dry."


def test_a_title_that_is_the_first_heading_is_not_repeated() -> None:
    prefixes = contexts(SECTION, max_words=9, context=["title", "heading_path"])

    assert prefixes == ["", "Pump > Care\n\n"]


def test_text_of_several_sections_has_the_path_they_share() -> None:
    text = "# A\n\nOne.\n\n## B\n\nTwo.\n\n## C\n\nThree."

    (chunk,) = cut(markdown(text), chunker="sentence_aware", max_words=50)

    assert chunk.heading_path == ("A",)


def test_context_counts_in_the_limit() -> None:
    chunks = cut(markdown(SECTION), chunker="hierarchy", max_words=9, min_section=0)

    assert max(chunk.size for chunk in chunks) <= 9


def test_context_counts_in_tokens_of_the_whole_text() -> None:
    chunks = cut(markdown(SECTION), wordpiece(), chunker="hierarchy", max_tokens=12, min_section=0)

    assert [chunk.size for chunk in chunks] == wordpiece().count(
        [chunk.embed_text for chunk in chunks]
    )


def test_outermost_headings_go_when_a_path_is_larger_than_half_of_the_limit() -> None:
    path = ("An outermost heading of six words", "Inner one")
    text = "One two three four five."
    block = Block(BlockKind.PARAGRAPH, 0, len(text), heading_path=path)

    (chunk,) = cut(document(text, [block]), chunker="hierarchy", max_words=8)

    assert (chunk.embed_text, chunk.flags) == (f"Inner one\n\n{text}", ("context_trimmed",))


def test_the_full_path_is_recorded_when_the_context_is_trimmed() -> None:
    path = ("An outermost heading of six words", "Inner one")
    block = Block(BlockKind.PARAGRAPH, 0, 4, heading_path=path)

    (chunk,) = cut(document("One.", [block]), chunker="hierarchy", max_words=8)

    assert chunk.heading_path == path


def test_a_heading_that_is_too_large_alone_is_left_out_and_flagged() -> None:
    block = Block(BlockKind.PARAGRAPH, 0, 4, heading_path=("word " * 50,))

    (chunk,) = cut(document("One.", [block]), chunker="hierarchy", max_words=8)

    assert (chunk.embed_text, chunk.flags) == ("One.", ("context_trimmed",))


def test_context_gives_way_to_a_grapheme_cluster_that_needs_all_the_room() -> None:
    cluster = "e" + "\u0301" * 5
    block = Block(BlockKind.PARAGRAPH, 0, len(cluster), heading_path=("A",))

    (chunk,) = cut(document(cluster, [block]), chunker="hierarchy", max_characters=7)

    assert (chunk.embed_text, chunk.flags) == (cluster, ("context_trimmed",))


def test_text_outside_all_blocks_has_the_path_of_the_block_before() -> None:
    blocks = [Block(BlockKind.PARAGRAPH, 0, 4, heading_path=("A",))]

    chunks = cut(document("One. Two.", blocks), chunker="sentence_aware", max_words=1)

    assert [(chunk.text, chunk.heading_path) for chunk in chunks] == [
        ("One.", ("A",)),
        ("Two.", ("A",)),
    ]


def test_pages_are_those_of_the_blocks_in_the_chunk() -> None:
    spans = [(0, 4), (5, 9), (10, 14)]
    blocks = [Block(BlockKind.PARAGRAPH, *span, page=n) for n, span in enumerate(spans, start=1)]

    chunks = cut(document("One. Two. Six.", blocks), chunker="sentence_aware", max_words=2)

    assert texts(chunks) == ["One. Two.", "Six."]
    assert [(chunk.page_start, chunk.page_end) for chunk in chunks] == [(1, 2), (3, 3)]

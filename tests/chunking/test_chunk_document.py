"""What cutting a document demands of it."""

import pytest
from chunking_documents import document

from chunk_assets.chunking.pipeline import chunk_document
from chunk_assets.chunking.strategy import parse_strategy
from chunk_assets.errors import ChunkingError
from chunk_assets.parsing.document import Block, BlockKind

WORDS = parse_strategy({"chunker": "sentence_aware", "max_words": 5})


@pytest.mark.parametrize(
    "spans", [[(0, 4), (3, 8)], [(5, 8), (0, 4)], [(0, 99)], [(-1, 4)], [(6, 4)]], ids=str
)
def test_blocks_that_are_no_ordered_spans_of_the_text_are_refused(
    spans: list[tuple[int, int]],
) -> None:
    blocks = [Block(BlockKind.PARAGRAPH, *span) for span in spans]

    with pytest.raises(ChunkingError, match=r"doc: the paragraph block \[.*fault of the parser"):
        chunk_document(document("One two.", blocks), WORDS)


def test_counting_tokens_without_a_tokenizer_is_refused() -> None:
    strategy = parse_strategy({"chunker": "hierarchy", "max_tokens": 90})

    with pytest.raises(ChunkingError, match=r"max_tokens is 90.*no tokenizer"):
        chunk_document(document("One."), strategy)


@pytest.mark.parametrize("text", ["", " ", "\r\n\t\u3000\x1f"])
def test_a_blank_document_has_no_chunks(text: str) -> None:
    assert chunk_document(document(text), WORDS) == []


def test_text_that_is_in_no_block_is_cut_all_the_same() -> None:
    chunks = chunk_document(document("One two. Three.", []), WORDS)

    assert [chunk.text for chunk in chunks] == ["One two. Three."]

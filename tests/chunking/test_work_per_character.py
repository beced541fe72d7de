"""Work and memory stay proportional to the text."""

import tracemalloc
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from chunking_documents import document
from chunking_tokenizers import wordpiece

from chunk_assets.chunking.pipeline import chunk_document
from chunk_assets.chunking.strategy import parse_strategy
from chunk_assets.lineage.identity import Fingerprint
from chunk_assets.parsing.document import Block, BlockKind


class CharacterCounter:
    """A tokenizer that counts the characters it is given."""

    name = "counter"
    fingerprint = Fingerprint("counter")

    def __init__(self) -> None:
        self.characters = 0

    def count(self, texts: Sequence[str]) -> list[int]:
        self.characters += sum(map(len, texts))
        return wordpiece().count(texts)

    def offsets(self, text: str) -> npt.NDArray[np.int64]:
        self.characters += len(text)
        return wordpiece().offsets(text)


PROSE = "The pump hums in the yard. Then it stops, and the lamp turns green!\n\n" * 2000
LINE = '{"id": 17, "v": "' + "x" * 40 + '"}, ' * 2000


@pytest.mark.parametrize("text", [PROSE, LINE], ids=["prose", "one line"])
@pytest.mark.parametrize("chunker", ["fixed_overlap", "sentence_aware", "hierarchy"])
def test_each_character_is_tokenized_about_twice(text: str, chunker: str) -> None:
    counter = CharacterCounter()
    block = Block(BlockKind.PARAGRAPH, 0, len(text))
    strategy = parse_strategy({"chunker": chunker, "max_tokens": 100, "overlap": 0})

    chunk_document(document(text, [block]), strategy, counter)

    # Once for its offsets and once in its chunk; the first word of each chunk once more.
    assert counter.characters < 2.2 * len(text)


@pytest.mark.parametrize(
    "text", [PROSE * 8, "k" * 1_000_000, "แมวกินปลาในบ้าน" * 10_000], ids=["prose", "k", "Thai"]
)
def test_memory_is_a_small_multiple_of_the_text(text: str) -> None:
    blocks = [Block(BlockKind.PARAGRAPH, 0, len(text))]
    strategy = parse_strategy({"chunker": "sentence_aware", "max_words": 200})
    chunk_document(document("Über. 猫。"), strategy)  # fills the tables that are made once
    tracemalloc.start()

    chunk_document(document(text, blocks), strategy)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60 * len(text)

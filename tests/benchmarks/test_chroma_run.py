import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from benchmarks.chroma_data import ChromaData
from benchmarks.chroma_report import full_report
from benchmarks.chroma_run import STRATEGIES, Result, run_strategy
from chunk_assets.embedding.embedder import Vectors
from chunk_assets.evaluation.anchor import AnchoredQuery, Place
from chunk_assets.lineage.identity import Fingerprint
from chunk_assets.retrieval.config import RetrievalConfig


class Words:
    """Tokens are what stands between blanks."""

    name = "words"
    fingerprint = Fingerprint("words")

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def offsets(self, text: str) -> npt.NDArray[np.int64]:
        spans = [match.span() for match in re.finditer(r"\S+", text)]
        return np.array(spans, dtype=np.int64).reshape(-1, 2)


class BagOfWords:
    """Vectors count words in 256 hashed slots; it remembers how many passages it was given."""

    name = "bag"
    fingerprint = Fingerprint("bag")
    dimension = 256
    max_tokens = 1000
    tokenizer = Words()

    def __init__(self) -> None:
        self.passages = 0

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.passages += len(texts)
        return self.embed_queries(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()):
                vectors[row, hashlib.blake2b(word.encode(), digest_size=1).digest()[0]] += 1
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


ANSWER = "The ferry to the northern island leaves at seven."
TEXTS = {
    "a.md": "\n\n".join(f"Paragraph {n} is about bread, butter, and ovens." for n in range(90)),
    "b.md": "\n\n".join(f"Line {n} is about boats, knots, and harbours." for n in range(90)),
}
TEXTS["b.md"] += f"\n\n{ANSWER}\n"
START = TEXTS["b.md"].index(ANSWER)
DATA = ChromaData(
    TEXTS,
    (
        AnchoredQuery(
            "q",
            "When does the ferry to the northern island leave?",
            None,
            ((Place("b.md", START, START + len(ANSWER)),),),
            {},
        ),
    ),
)


def run(name: str, embedder: BagOfWords, cache: Path) -> Result:
    return run_strategy(name, DATA, embedder, RetrievalConfig(mode="dense"), cache, lambda *_: None)


@pytest.mark.parametrize("name", ["sentence_aware 200/0", "fixed_overlap 250/125"])
def test_a_question_is_answered_through_the_projects_own_chunks_and_search(
    name: str, tmp_path: Path
) -> None:
    result = run(name, BagOfWords(), tmp_path)

    assert result.chunks > 5
    assert result.mean_tokens <= STRATEGIES[name]["max_tokens"]  # type: ignore[operator]
    assert result.exact_recall.mean == 100
    assert 0 < result.precision.mean < result.precision_omega.mean < 100


def test_a_second_run_embeds_no_passage_and_gives_the_same_result(tmp_path: Path) -> None:
    first = run("sentence_aware 200/0", BagOfWords(), tmp_path)
    embedder = BagOfWords()

    assert run("sentence_aware 200/0", embedder, tmp_path) == first
    assert embedder.passages == 0


def test_the_report_has_a_row_for_each_result_and_the_published_rows_only_when_complete(
    tmp_path: Path,
) -> None:
    result = run("sentence_aware 200/0", BagOfWords(), tmp_path)

    complete = full_report([result], {"questions": 1}, complete=True)
    partial = full_report([result], {"questions": 1}, complete=False)

    assert f"| sentence_aware 200/0 | {result.mean_tokens:.0f} | {result.chunks} |" in partial
    assert "| *published: TokenText 250/125* | 250 |  | 82.4 ± 36.2 |" in complete
    assert "published:" not in partial

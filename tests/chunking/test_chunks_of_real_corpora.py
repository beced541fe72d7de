"""Every promise, held on every file of two real corpora."""

from functools import cache
from pathlib import Path

import pytest
from chunking_documents import parsed
from chunking_tokenizers import wordpiece

from chunk_assets.chunking.pipeline import chunk_document
from chunk_assets.chunking.ruler import Unit
from chunk_assets.chunking.strategy import parse_strategy
from chunk_assets.chunking.verify import violations
from chunk_assets.parsing.document import Document

STRATEGIES: list[dict[str, object]] = [
    {"chunker": "fixed_overlap"},
    {"chunker": "fixed_overlap", "max_characters": 800, "overlap": 0.25},
    {"chunker": "sentence_aware", "max_tokens": 200, "overlap": 40, "context": ["title"]},
    {"chunker": "sentence_aware", "max_words": 40, "min_size": 20},
    {"chunker": "hierarchy", "max_tokens": 100},
    {"chunker": "hierarchy", "max_characters": 600, "min_size": 200, "overlap": 100},
]


@cache
def documents(folder: Path) -> tuple[Document, ...]:
    return tuple(parsed(path.read_bytes(), path.name) for path in sorted(folder.iterdir()))


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["anthropic_docs", "qmsum"])
@pytest.mark.parametrize("values", STRATEGIES, ids=lambda v: f"{v['chunker']}-{len(v)}")
def test_no_file_of_a_real_corpus_breaks_a_promise(
    corpus: str, values: dict[str, object], shared_data: Path
) -> None:
    strategy = parse_strategy(values)
    tokenizer = wordpiece() if strategy.unit is Unit.TOKENS else None
    broken = {}
    for document in documents(shared_data / corpus / "docs"):
        chunks = chunk_document(document, strategy, tokenizer)
        broken[document.uri] = violations(
            document.text,
            [chunk.start for chunk in chunks],
            [chunk.end for chunk in chunks],
            [chunk.text for chunk in chunks],
            overlap_starts=[chunk.overlap_start for chunk in chunks],
            sizes=[chunk.size for chunk in chunks],
            maximum=strategy.maximum,
            flags=[chunk.flags for chunk in chunks],
        )

    assert {uri: found for uri, found in broken.items() if found} == {}

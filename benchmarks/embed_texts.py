"""The chunks that the benchmark of embedding embeds."""

import os
import random
from pathlib import Path

from chunk_assets.chunking.pipeline import chunk_document
from chunk_assets.chunking.strategy import parse_strategy
from chunk_assets.embedding.config import DEFAULT_MODEL
from chunk_assets.embedding.huggingface_tokenizer import load_tokenizer
from chunk_assets.embedding.model_files import locate_model
from chunk_assets.lineage.identity import document_id
from chunk_assets.parsing.document import Document
from chunk_assets.parsing.markdown import parse_markdown

SETS = ("anthropic_docs", "chroma", "code", "covidqa", "fairytaleqa", "legalbenchrag", "qmsum")
SIZES = (120, 180, 250)
"""Tokens of a chunk at most, below the 254 that the model takes, so that no peer cuts a text."""


class DataMissingError(Exception):
    """The benchmark's data is not on this machine."""


def data_folder() -> Path:
    """Where the sets lie.

    Raises:
        DataMissingError: if they are not there, with the reason.
    """
    root = os.environ.get("CHUNK_ASSETS_SHARED_DATA")
    if root is None:
        raise DataMissingError(
            f"CHUNK_ASSETS_SHARED_DATA is not set; set it to the folder that holds {SETS[0]}/docs"
        )
    missing = [name for name in SETS if not (Path(root) / name / "docs").is_dir()]
    if missing:
        raise DataMissingError(f"{root} has no folder {missing[0]}/docs")
    return Path(root)


def sample_chunks(data: Path, count: int, seed: int = 0) -> list[str]:
    """So many different chunks in random order, as many from each set as from the others.

    Args:
        data: the folder that holds the sets.
        count: how many chunks there are to be.
        seed: decides which documents, how they are cut, and the order.
    """
    source = random.Random(seed)
    share = -(-count // len(SETS))
    texts: list[str] = []
    for name in SETS:
        found: dict[str, None] = {}
        files = sorted(path for path in (data / name / "docs").rglob("*") if path.is_file())
        for path in source.sample(files, len(files)):
            found.update(dict.fromkeys(chunks_of(path, source.choice(SIZES))))
            if len(found) >= share:
                break
        texts += source.sample(list(found), min(share, len(found)))
    return source.sample(texts, min(count, len(texts)))


def chunks_of(path: Path, max_tokens: int) -> list[str]:
    """What is embedded of a document: whole sentences up to so many tokens."""
    text = path.read_text(encoding="utf-8")
    document = Document(
        document_id("bench", path.name), path.name, text, parse_markdown(text).blocks, "markdown"
    )
    strategy = parse_strategy({"chunker": "sentence_aware", "max_tokens": max_tokens})
    tokenizer = load_tokenizer(locate_model(DEFAULT_MODEL), DEFAULT_MODEL)
    return [chunk.embed_text for chunk in chunk_document(document, strategy, tokenizer)]

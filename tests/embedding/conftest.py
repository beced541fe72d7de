"""Models that load once for all tests of embedding."""

from pathlib import Path

import pytest

from chunk_assets.embedding.config import DEFAULT_MODEL, EmbedderConfig
from chunk_assets.embedding.embedder import Embedder
from chunk_assets.embedding.huggingface_tokenizer import HuggingFaceTokenizer, tokenizer_file
from chunk_assets.embedding.model_files import locate_model
from chunk_assets.embedding.registry import build_embedder


@pytest.fixture(scope="session")
def model_folder() -> Path:
    return locate_model(DEFAULT_MODEL)


@pytest.fixture(scope="session")
def wordpiece(model_folder: Path) -> HuggingFaceTokenizer:
    return HuggingFaceTokenizer(tokenizer_file(model_folder), "minilm")


# One thread: several wait for each other on a busy machine, and small inputs gain nothing.
@pytest.fixture(scope="session")
def bfloat16() -> Embedder:
    config = EmbedderConfig(backend="torch", precision="bfloat16", device="cpu", threads=1)
    return build_embedder("bfloat16", config)


@pytest.fixture(scope="session")
def float32() -> Embedder:
    config = EmbedderConfig(backend="torch", precision="float32", device="cpu", threads=1)
    return build_embedder("float32", config)

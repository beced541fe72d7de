"""The reference backend, with real models."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embedding_models import LAYOUTS, cosines, reference, sentences, tiny_model

from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.embedder import Embedder
from chunk_assets.embedding.registry import build_embedder
from chunk_assets.embedding.usage import computed_by
from chunk_assets.errors import EmbeddingError

pytestmark = pytest.mark.slow

TORCH = EmbedderConfig(backend="torch", device="cpu", threads=1)


@pytest.fixture(scope="module")
def corpus() -> list[str]:
    """Texts of 1 to 150 words: very short ones, where kernels differ, and longer ones."""
    return sentences([*([1, 2, 3, 4, 5] * 4), *range(6, 150, 24), *[40] * 6])


@pytest.fixture(params=["bfloat16", "float32"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    found: Embedder = request.getfixturevalue(request.param)
    return found


def test_a_text_alone_has_the_very_vector_it_has_in_any_batch(
    embedder: Embedder, corpus: list[str]
) -> None:
    together = embedder.embed_passages(corpus)
    alone = np.vstack([embedder.embed_passages([text]) for text in corpus])
    assert np.array_equal(together, alone)


def test_the_order_of_the_texts_changes_no_bit(embedder: Embedder, corpus: list[str]) -> None:
    order = random.Random(1).sample(range(len(corpus)), len(corpus))
    shuffled = embedder.embed_passages([corpus[position] for position in order])
    assert np.array_equal(shuffled, embedder.embed_passages(corpus)[order])


def test_another_budget_changes_no_bit(corpus: list[str], float32: Embedder) -> None:
    config = EmbedderConfig(
        backend="torch", precision="float32", device="cpu", threads=1, batch_tokens=90
    )
    small = build_embedder("small", config)
    assert np.array_equal(small.embed_passages(corpus), float32.embed_passages(corpus))


def test_another_number_of_threads_changes_no_bit(embedder: Embedder, corpus: list[str]) -> None:
    precision = computed_by(embedder).removeprefix("torch ")
    config = {"backend": "torch", "precision": precision, "device": "cpu", "threads": 2}
    two = build_embedder("two", EmbedderConfig.model_validate(config))
    vectors = embedder.embed_passages(corpus)
    assert np.array_equal(two.embed_passages(corpus), vectors)
    alone = np.vstack([two.embed_passages([text]) for text in corpus[:10]])
    assert np.array_equal(alone, vectors[:10])


def test_vectors_are_finite_float32_of_length_one(embedder: Embedder, corpus: list[str]) -> None:
    vectors = embedder.embed_passages(corpus)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(corpus), 384)
    assert np.linalg.norm(vectors.astype(np.float64), axis=1) == pytest.approx(1, abs=1e-6)


def test_float32_is_what_sentence_transformers_encodes(
    model_folder: Path, float32: Embedder, corpus: list[str]
) -> None:
    # Control tokens in a text apart: there they are told from ordinary text on purpose.
    texts = [text.replace("[SEP]", "sep") for text in corpus]
    expected = reference(model_folder).encode(texts, normalize_embeddings=True)
    assert np.abs(float32.embed_passages(texts) - expected).max() < 2e-6


def test_bfloat16_keeps_the_direction(
    bfloat16: Embedder, float32: Embedder, corpus: list[str]
) -> None:
    similar = cosines(bfloat16.embed_passages(corpus), float32.embed_passages(corpus))
    assert similar.min() > 0.9999
    assert similar.mean() > 0.9999


def test_similar_texts_are_near(bfloat16: Embedder) -> None:
    one, same, other = bfloat16.embed_passages(
        ["How do I reset my password?", "I forgot my login code.", "The soup needs more salt."]
    )
    assert one @ same > 0.4 > one @ other


def test_a_model_at_its_positions_limit_embeds_a_full_text(float32: Embedder) -> None:
    config = EmbedderConfig(
        backend="torch", precision="float32", device="cpu", threads=1, max_tokens=512
    )
    longest = build_embedder("longest", config)
    assert longest.max_tokens == 510
    assert longest.embed_passages(["word " * 510]).shape == (1, 384)


@pytest.mark.parametrize(("layout", "dimension"), LAYOUTS.values(), ids=LAYOUTS)
def test_other_layouts_give_what_sentence_transformers_encodes(
    tmp_path: Path, model_folder: Path, layout: dict[str, Any], dimension: int
) -> None:
    folder = tiny_model(tmp_path, model_folder, **layout)
    ours = build_embedder(
        "tiny",
        EmbedderConfig(
            backend="torch", model=str(folder), precision="float32", device="cpu", threads=1
        ),
    )
    texts = [text.replace("[SEP]", "SEP") for text in sentences([1, 5, 9, 20])]
    theirs = reference(folder)

    assert ours.dimension == dimension
    for mine, encode in (
        (ours.embed_passages, theirs.encode_document),
        (ours.embed_queries, theirs.encode_query),
    ):
        assert mine(texts) == pytest.approx(encode(texts, normalize_embeddings=True), abs=2e-6)


def test_a_damaged_model_is_named_with_what_to_do(tmp_path: Path, model_folder: Path) -> None:
    folder = tiny_model(tmp_path, model_folder)
    (folder / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1")
    embedder = build_embedder(
        "x", EmbedderConfig(backend="torch", model=str(folder), device="cpu", threads=1)
    )

    with pytest.raises(EmbeddingError, match=r"cannot be loaded from .*Fetch it again"):
        embedder.embed_passages(["a"])


@pytest.fixture(scope="module")
def real_texts(shared_data: Path) -> list[str]:
    """Passages of real documents, cut without regard to anything."""
    source = random.Random(2)
    files = sorted((shared_data / "anthropic_docs" / "docs").rglob("*.md"))
    texts = [path.read_text(encoding="utf-8") for path in source.sample(files, 20)]
    return [
        text[start : start + source.randrange(40, 500)]
        for text in texts
        for start in [source.randrange(len(text))]
    ]


def test_real_passages_keep_their_vectors_whatever_is_embedded_beside_them(
    bfloat16: Embedder, real_texts: list[str]
) -> None:
    # As in a resumed run, which embeds what a killed one left.
    first = bfloat16.embed_passages(real_texts)
    rest = bfloat16.embed_passages(real_texts[7:])
    assert np.array_equal(first[7:], rest)

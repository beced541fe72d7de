"""The reference backend, with real models."""

import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tiny_models import BERT, write_model

from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.embedder import Embedder, Vectors
from chunk_assets.embedding.registry import build_embedder
from chunk_assets.errors import EmbeddingError

pytestmark = pytest.mark.slow

WORDS = [
    *["the", "pump", "hums", "in", "a", "yard", "while", "valve", "nine", "leaks;", "operators"],
    *["write", "unbelievably", "quick", "reports,", "[SEP]", "nobody", "reads", "them."],
    *["Größe", "猫", "🚀", "résumé"],
]


def sentences(lengths: Sequence[int], seed: int = 0) -> list[str]:
    source = random.Random(seed)
    return [" ".join(source.choices(WORDS, k=length)) for length in lengths]


@pytest.fixture(scope="module")
def corpus() -> list[str]:
    """Texts of 1 to 150 words: very short ones, where kernels differ, and longer ones."""
    return sentences([*([1, 2, 3, 4, 5] * 4), *range(6, 150, 24), *[40] * 6])


@pytest.fixture(params=["bfloat16", "float32"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    found: Embedder = request.getfixturevalue(request.param)
    return found


def reference(folder: Path, **settings: Any) -> Any:  # noqa: ANN401 - no type information
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu", local_files_only=True, **settings)


def cosines(one: Vectors, other: Vectors) -> npt.NDArray[np.float64]:
    return np.asarray(np.sum(one.astype(np.float64) * other, axis=1))


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
    config = EmbedderConfig(precision="float32", device="cpu", threads=1, batch_tokens=90)
    small = build_embedder("small", config)
    assert np.array_equal(small.embed_passages(corpus), float32.embed_passages(corpus))


def test_another_number_of_threads_changes_no_bit(embedder: Embedder, corpus: list[str]) -> None:
    import torch

    vectors = embedder.embed_passages(corpus)
    torch.set_num_threads(2)
    try:
        assert np.array_equal(embedder.embed_passages(corpus), vectors)
        alone = np.vstack([embedder.embed_passages([text]) for text in corpus[:10]])
        assert np.array_equal(alone, vectors[:10])
    finally:
        torch.set_num_threads(1)


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
    assert similar.min() > 0.9998
    assert similar.mean() > 0.9999


def test_similar_texts_are_near(bfloat16: Embedder) -> None:
    one, same, other = bfloat16.embed_passages(
        ["How do I reset my password?", "I forgot my login code.", "The soup needs more salt."]
    )
    assert one @ same > 0.4 > one @ other


def test_a_model_at_its_positions_limit_embeds_a_full_text(float32: Embedder) -> None:
    config = EmbedderConfig(precision="float32", device="cpu", threads=1, max_tokens=512)
    longest = build_embedder("longest", config)
    assert longest.max_tokens == 510
    assert longest.embed_passages(["word " * 510]).shape == (1, 384)


def tiny_model(folder: Path, model_folder: Path, **layout: Any) -> Path:  # noqa: ANN401
    """A model with random weights in the given layout."""
    import torch
    from safetensors.torch import save_file
    from transformers import BertConfig, BertModel

    write_model(folder, config={**BERT, "hidden_dropout_prob": 0.0}, **layout)
    torch.manual_seed(0)
    config = BertConfig(**{key: value for key, value in BERT.items() if key != "model_type"})
    BertModel(config).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        shutil.copy(model_folder / name, folder)
    dense = folder / "2_Dense"
    if dense.is_dir():
        weights = {"linear.weight": torch.randn(12, 32), "linear.bias": torch.randn(12)}
        save_file(weights, dense / "model.safetensors")
    return folder


MEAN_WITHOUT_PROMPT = {"pooling_mode": "mean", "embedding_dimension": 32, "include_prompt": False}
DENSE = {
    "in_features": 32,
    "out_features": 12,
    "bias": True,
    "activation_function": "torch.nn.modules.activation.Tanh",
}


@pytest.mark.parametrize(
    ("layout", "dimension"),
    [
        (
            {
                "steps": [
                    ("Pooling", "1_Pooling", {"pooling_mode": "cls", "embedding_dimension": 32})
                ]
            },
            32,
        ),
        (
            {
                "steps": [
                    ("Pooling", "1_Pooling", MEAN_WITHOUT_PROMPT),
                    ("Dense", "2_Dense", DENSE),
                    ("Normalize", "3_Normalize", {}),
                ],
                "prompts": {"document": "represent the text: ", "query": "find: "},
            },
            12,
        ),
        (
            {
                "steps": [
                    (
                        "Pooling",
                        "1_Pooling",
                        {"pooling_mode": ["mean", "max"], "embedding_dimension": 32},
                    )
                ],
                "do_lower_case": True,
            },
            64,
        ),
    ],
    ids=["first token", "prompt left out, dense layer", "two poolings, lower case"],
)
def test_other_layouts_give_what_sentence_transformers_encodes(
    tmp_path: Path, model_folder: Path, layout: dict[str, Any], dimension: int
) -> None:
    folder = tiny_model(tmp_path, model_folder, **layout)
    ours = build_embedder(
        "tiny", EmbedderConfig(model=str(folder), precision="float32", device="cpu", threads=1)
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
    embedder = build_embedder("x", EmbedderConfig(model=str(folder), device="cpu", threads=1))

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

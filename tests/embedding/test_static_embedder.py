"""Static models: a text is the mean of its tokens' rows, whatever layout holds them."""

import json
import os
import subprocess
import sys
import types
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import safetensors
import safetensors.numpy
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.embedder import Embedder
from chunk_assets.embedding.registry import build_embedder, describe
from chunk_assets.embedding.usage import usage_of
from chunk_assets.embedding.work import Block, embed_missing
from chunk_assets.errors import ConfigurationError, EmbeddingError
from chunk_assets.lineage.identity import VectorKey

WORDS = ["[PAD]", "[UNK]", "a", "bird", "cat", "dog", "fish", "saw", "##s", "the"]
TEXTS = ["the cat saw a dog", "Birds", "fish zebra fish", "a a a bird"]
WORDLLAMA = EmbedderConfig(model="package:wordllama")

Arrays = dict[str, npt.NDArray[Any]]


def table(dtype: str = "float32", rows: int = len(WORDS)) -> npt.NDArray[Any]:
    values = np.random.default_rng(7).normal(size=(rows, 4))
    return (values * 40).astype(dtype) if dtype == "int8" else values.astype(dtype)


def write_tokenizer(folder: Path) -> None:
    vocabulary = {word: i for i, word in enumerate(WORDS)}
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]")  # noqa: S106 - no secret
    )
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))


def write_model2vec(folder: Path, tensors: Arrays | None = None) -> Path:
    """What model2vec's `save_pretrained` writes."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(folder)
    safetensors.numpy.save_file(tensors or {"embeddings": table()}, folder / "model.safetensors")
    config = {"model_type": "model2vec", "normalize": True, "seq_length": 1_000_000}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def write_sentence_transformers(folder: Path, *others: str) -> Path:
    """What sentence-transformers writes for its StaticEmbedding module."""
    place = folder / "0_StaticEmbedding"
    place.mkdir(parents=True)
    write_tokenizer(place)
    safetensors.numpy.save_file({"embedding.weight": table()}, place / "model.safetensors")
    modules = [("StaticEmbedding", place.name), *((kind, f"1_{kind}") for kind in others)]
    (folder / "modules.json").write_text(
        json.dumps([{"type": f"sentence_transformers.models.{k}", "path": p} for k, p in modules]),
        encoding="utf-8",
    )
    return folder


def build(folder: Path, **settings: object) -> Embedder:
    return build_embedder("tiny", EmbedderConfig.model_validate({"model": str(folder), **settings}))


def unit(rows: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    exact = rows.astype(np.float64)
    return np.asarray(exact / np.linalg.norm(exact, axis=-1, keepdims=True))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model2vec(tmp_path)


def test_a_vector_is_the_mean_of_the_rows_of_its_tokens(folder: Path) -> None:
    ids = [[9, 4, 7, 2, 5], [3, 8], [6, 6], [2, 2, 2, 3]]  # without the unknown zebra
    expected = unit(np.stack([table()[i].mean(axis=0) for i in ids]))

    np.testing.assert_allclose(build(folder).embed_passages(TEXTS), expected, atol=1e-7)


# What StaticModel.encode(TEXTS) of model2vec 0.10.0 gives for these tables.
LIBRARY_VECTORS: dict[str, tuple[Arrays, list[list[float]]]] = {
    "float32": (
        {"embeddings": table()},
        [
            [-0.6038, -0.0507, -0.7698, -0.2009],
            [-0.3959, -0.7886, 0.4678, -0.0509],
            [0.0606, -0.0723, -0.9735, -0.2084],
            [-0.3556, -0.7241, 0.3735, 0.4580],
        ],
    ),
    "float16": (
        {"embeddings": table("float16")},
        [
            [-0.6040, -0.0507, -0.7695, -0.2008],
            [-0.3960, -0.7886, 0.4675, -0.0509],
            [0.0606, -0.0723, -0.9736, -0.2083],
            [-0.3555, -0.7241, 0.3735, 0.4578],
        ],
    ),
    "int8": (
        {"embeddings": table("int8")},
        [
            [-0.5965, -0.0487, -0.7750, -0.2029],
            [-0.3991, -0.7867, 0.4675, -0.0570],
            [0.0585, -0.0682, -0.9747, -0.2047],
            [-0.3527, -0.7253, 0.3726, 0.4591],
        ],
    ),
    "weights of tokens": (
        {"embeddings": table(), "weights": np.linspace(0.1, 2, 10)},
        [
            [-0.4841, 0.1173, -0.8398, -0.2162],
            [-0.4886, -0.6218, 0.5479, -0.2729],
            [0.0606, -0.0723, -0.9735, -0.2084],
            [-0.3129, -0.7460, 0.3364, 0.4821],
        ],
    ),
    "tokens that share rows": (
        {
            "embeddings": table(rows=4),
            "mapping": np.array([0, 1, 2, 3, 0, 1, 2, 3, 0, 1]),
            "weights": np.linspace(0.1, 2, 10).astype("float32"),
        },
        [
            [-0.2255, -0.6863, 0.0208, 0.6911],
            [0.0657, -0.1223, -0.4231, -0.8954],
            [-0.4935, -0.6222, 0.4912, 0.3579],
            [-0.3129, -0.7460, 0.3364, 0.4821],
        ],
    ),
}


@pytest.mark.parametrize("case", LIBRARY_VECTORS)
def test_vectors_are_those_of_the_model2vec_library(tmp_path: Path, case: str) -> None:
    tensors, expected = LIBRARY_VECTORS[case]
    vectors = build(write_model2vec(tmp_path, tensors)).embed_passages(TEXTS)
    # The library rounds to the type of its table; half precision has eleven bits.
    np.testing.assert_allclose(vectors, expected, atol=5e-4)


def test_unknown_tokens_count_where_sentence_transformers_counts_them(tmp_path: Path) -> None:
    [vector] = build(write_sentence_transformers(tmp_path)).embed_passages(["fish zebra"])
    np.testing.assert_allclose(vector, unit(table()[[6, 1]].mean(axis=0)), atol=1e-7)


def test_a_word_of_a_control_token_is_ordinary_text(folder: Path) -> None:
    embedder = build(folder)
    with pytest.raises(EmbeddingError, match="knows none of its 3 tokens"):
        embedder.embed_passages(["[PAD]"])


@given(st.lists(st.lists(st.sampled_from([*WORDS[2:8], "the"]), min_size=1), min_size=1))
def test_a_text_alone_has_the_very_vector_it_has_beside_others(
    embedder_of_words: Embedder, texts: list[list[str]]
) -> None:
    joined = [" ".join(words) for words in texts]
    alone = np.vstack([embedder_of_words.embed_passages([text]) for text in joined])
    assert np.array_equal(embedder_of_words.embed_passages(joined), alone)


@pytest.fixture(scope="module")
def embedder_of_words(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    return build(write_model2vec(tmp_path_factory.mktemp("static")))


def test_a_text_of_any_length_is_embedded_whole(folder: Path) -> None:
    ids = np.random.default_rng(1).integers(2, 8, size=20_000)
    text = " ".join(WORDS[i] for i in ids)
    [vector] = build(folder).embed_passages([text])
    np.testing.assert_allclose(vector, unit(table()[ids].mean(axis=0, dtype=np.float64)), atol=1e-7)


def test_without_max_tokens_there_is_practically_no_limit(folder: Path) -> None:
    assert build(folder).max_tokens == 1_000_000


def test_a_limit_of_the_configuration_holds(folder: Path) -> None:
    embedder = build(folder, max_tokens=16)
    most = "cat saw dog " * 5 + "fish"
    embedder.embed_passages([most])
    with pytest.raises(EmbeddingError, match="it has 17 tokens, but max_tokens is 16"):
        embedder.embed_passages([most + " bird"])
    assert np.array_equal(embedder.embed_queries([most + " bird"]), embedder.embed_queries([most]))


def test_no_texts_are_no_vectors(folder: Path) -> None:
    assert build(folder).embed_passages([]).shape == (0, 4)


@pytest.mark.parametrize("text", ["zebra", "", "  "])
def test_a_text_without_a_known_token_is_refused_by_name(folder: Path, text: str) -> None:
    with pytest.raises(EmbeddingError, match=rf"'tiny': text 2 of 2: .* none .*begins {text!r}"):
        build(folder).embed_passages(["the cat", text])


def test_rows_that_cancel_each_other_are_refused(tmp_path: Path) -> None:
    rows = table()
    rows[5] = -rows[4]
    embedder = build(write_model2vec(tmp_path, {"embeddings": rows}))
    with pytest.raises(EmbeddingError, match="text 1 of 1: its vector is zero"):
        embedder.embed_passages(["cat dog"])


def test_one_text_without_a_known_token_leaves_the_others_alone(folder: Path) -> None:
    blocks: list[Block] = []
    texts = [*TEXTS, "zebra"]
    items = [(VectorKey(str(i)), text) for i, text in enumerate(texts)]
    report = embed_missing(items, build(folder), overflow="pool", store=blocks.append)

    assert [failure.key for failure in report.failed] == ["4"]
    assert report.texts_embedded == len(TEXTS)


def test_tokens_are_counted(folder: Path) -> None:
    embedder = build(folder)
    embedder.embed_passages(TEXTS)
    assert usage_of(embedder).tokens == sum(embedder.tokenizer.count(TEXTS))


def test_the_fingerprint_is_that_of_table_tokenizer_and_limit(tmp_path: Path) -> None:
    def fingerprint(name: str, tensors: Arrays | None = None, **settings: object) -> str:
        return build(write_model2vec(tmp_path / name, tensors), **settings).fingerprint

    assert fingerprint("one") == fingerprint("two")
    others = [
        fingerprint("other", {"embeddings": table() + 1}),
        fingerprint("limited", max_tokens=16),
        build(write_sentence_transformers(tmp_path / "st")).fingerprint,
        fingerprint("one"),
    ]
    assert len(set(others)) == len(others)


def test_what_is_known_of_a_static_model_is_known_without_its_table() -> None:
    code = (
        "import sys\n"
        "from chunk_assets.embedding.config import EmbedderConfig\n"
        "from chunk_assets.embedding.registry import build_embedder, describe\n"
        "config = EmbedderConfig(model='package:wordllama')\n"
        "embedder = build_embedder('static', config)\n"
        "str(describe(config))\n"
        "assert len(embedder.fingerprint) == 32\n"
        "assert embedder.dimension == 256\n"
        "assert not vars(embedder).get('_table')\n"
        "embedder.embed_passages(['a word'])\n"
        "heavy = {'torch', 'huggingface_hub', 'scipy', 'wordllama'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_wordllama_vectors_are_means_of_its_rows() -> None:
    package = Path(str(find_spec("wordllama").origin)).parent  # type: ignore[union-attr]
    tokenizer = tokenizers.Tokenizer.from_file(
        str(package / "tokenizers" / "l2_supercat_tokenizer_config.json")
    )
    with safetensors.safe_open(
        package / "weights" / "l2_supercat_256.safetensors", framework="numpy"
    ) as file:
        rows = file.get_tensor("embedding.weight").astype(np.float64)
    texts = ["A boat on the river.", "naïve 😀 \t tab", " ", "x" * 500]
    expected = np.stack(
        [rows[tokenizer.encode(t, add_special_tokens=False).ids].mean(axis=0) for t in texts]
    )

    vectors = build_embedder("wordllama", WORDLLAMA).embed_passages(texts)
    np.testing.assert_allclose(vectors, unit(expected), atol=1e-7)


def test_wordllama_knows_what_belongs_together() -> None:
    boat, ship, tax = build_embedder("wordllama", WORDLLAMA).embed_queries(
        ["The boat crossed the river.", "A ship sailed over the water.", "Income tax is due."]
    )
    assert boat @ ship > boat @ tax + 0.2


@pytest.mark.parametrize("layout", [write_model2vec, write_sentence_transformers])
def test_a_static_model_is_recognized(tmp_path: Path, layout: Any) -> None:  # noqa: ANN401
    config = EmbedderConfig(model=str(layout(tmp_path)))
    choice = describe(config)

    assert (choice.backend, choice.device, choice.precision) == ("static", "cpu", "float32")
    assert str(choice) == (
        "static · cpu · float32 (static: the model is a table with one vector per token)"
    )
    assert build_embedder("tiny", config).dimension == 4


def test_a_normalized_static_model_is_recognized(tmp_path: Path) -> None:
    folder = write_sentence_transformers(tmp_path, "Normalize")
    assert describe(EmbedderConfig(model=str(folder))).backend == "static"


def test_a_static_model_with_a_layer_on_top_is_none(tmp_path: Path) -> None:
    folder = write_sentence_transformers(tmp_path, "Dense")
    assert describe(EmbedderConfig(model=str(folder))).backend != "static"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"passage_prompt": "passage: "}, r"embedders\.tiny\.passage_prompt is 'passage: ', but"),
        ({"query_prompt": "query: "}, "every vector would move by the same. Remove query_prompt"),
        ({"precision": "bfloat16"}, "sums are made in float32 or better. Remove precision"),
        ({"device": "cuda"}, "looked up on the CPU. Remove device"),
    ],
)
def test_what_a_static_model_cannot_follow_is_refused(
    folder: Path, settings: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build(folder, **settings)


def damage(folder: Path, tensors: Arrays | bytes | None) -> None:
    path = folder / "model.safetensors"
    if tensors is None:
        path.unlink()
    elif isinstance(tensors, bytes):
        path.write_bytes(tensors)
    else:
        safetensors.numpy.save_file(tensors, path)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        (None, "holds no model.safetensors"),
        (b"damaged", "cannot be read"),
        ({"weight": table()}, "holds weight, but a static model has a tensor 'embeddings'"),
        ({"embeddings": table()[0]}, r"has shape \[4\] and type F32; expected one row per token"),
        ({"embeddings": table().astype("int64")}, r"type I64; expected .* F64, F32, F16, I8"),
    ],
)
def test_a_file_that_holds_no_table_is_named(
    folder: Path, tensors: Arrays | bytes | None, message: str
) -> None:
    damage(folder, tensors)
    with pytest.raises(EmbeddingError, match=message):
        build(folder)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"embeddings": table()[:9]}, "has 9 embeddings, but its tokenizer needs 10"),
        (
            {"embeddings": table(), "weights": np.ones(3)},
            "has 3 weights, but its tokenizer needs 10",
        ),
        (
            {"embeddings": table()[:2], "mapping": np.arange(10)},
            "has 2 embeddings, but its tokenizer needs 10",
        ),
    ],
)
def test_a_table_of_another_tokenizer_is_refused(
    folder: Path, tensors: Arrays, message: str
) -> None:
    damage(folder, tensors)
    embedder = build(folder)
    with pytest.raises(EmbeddingError, match=message):
        embedder.embed_passages(["cat"])


def test_a_package_that_is_not_there_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nothing(_: str) -> None:
        return None

    monkeypatch.setattr("importlib.util.find_spec", nothing)
    with pytest.raises(EmbeddingError, match=r"pip install 'chunk-assets\[static\]'"):
        build_embedder("wordllama", WORDLLAMA)


def test_a_transformer_is_no_static_model() -> None:
    with pytest.raises(EmbeddingError, match="it is no static model; leave `backend` out"):
        build_embedder("minilm", EmbedderConfig(backend="static"))


def test_a_cached_hub_model_is_recognized_offline(tmp_path: Path) -> None:
    repository = tmp_path / "models--acme--static"
    commit = "0123456789abcdef0123456789abcdef01234567"
    write_model2vec(repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit, encoding="ascii")
    code = (
        "from chunk_assets.embedding.config import EmbedderConfig\n"
        "from chunk_assets.embedding.registry import build_embedder, describe\n"
        "config = EmbedderConfig(model='acme/static')\n"
        "print(describe(config).backend, build_embedder('hub', config).dimension)\n"
        "print(describe(EmbedderConfig(model='acme/other')).backend)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "HF_HUB_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    cached, other = result.stdout.splitlines()
    assert cached == "static 4"
    assert other != "static"


def replace_wordllama(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = types.SimpleNamespace(origin=str(folder / "__init__.py"))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: found)


def test_another_version_of_wordllama_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_wordllama(tmp_path, monkeypatch)
    with pytest.raises(EmbeddingError, match="this version of the package carries another table"):
        build_embedder("wordllama", WORDLLAMA)


def test_a_replaced_table_of_wordllama_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("weights", "tokenizers"):
        (tmp_path / name).mkdir()
    safetensors.numpy.save_file(
        {"embedding.weight": table()}, tmp_path / "weights" / "l2_supercat_256.safetensors"
    )
    write_tokenizer(tmp_path / "tokenizers")
    (tmp_path / "tokenizers" / "tokenizer.json").rename(
        tmp_path / "tokenizers" / "l2_supercat_tokenizer_config.json"
    )
    replace_wordllama(tmp_path, monkeypatch)
    embedder = build_embedder("wordllama", WORDLLAMA)
    with pytest.raises(EmbeddingError, match=r"expected 64b47a2d.*damaged or was replaced"):
        _ = embedder.fingerprint

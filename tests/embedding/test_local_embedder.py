"""Everything about a local model but the engine that runs it."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_models import write_model

from chunk_assets.embedding.config import EmbedderConfig, Precision
from chunk_assets.embedding.cores import lease_cores
from chunk_assets.embedding.engine import Batch
from chunk_assets.embedding.local_embedder import LocalEmbedder
from chunk_assets.embedding.model_files import read_model_files
from chunk_assets.embedding.usage import Usage
from chunk_assets.errors import EmbeddingError

TEXTS = ["one two three", "one", "four five six", "seven eight", "two"]


# Whole numbers: their sums are the same in any order.
_TABLE = np.random.default_rng(0).integers(-99, 99, size=(30_522, 32))


@dataclass
class TokenSums:
    """An engine whose model is a table of random rows, one per token, summed."""

    memory_tokens: int = 10_000
    poison: int | None = None
    batches: list[tuple[int, int]] = field(default_factory=list)
    prompt_tokens: list[int] = field(default_factory=list)
    at_once: int = 1
    fewest_tokens: int = 0
    length_step: int = 1
    most_padding: float = 0.0
    name: str = "sums"
    precision: Precision = "float32"
    uses_cores: bool = True
    batch_tokens: int = 1000
    threads: list[int] = field(default_factory=list)

    def start(self, threads: int) -> int:
        self.threads.append(threads)
        return self.at_once

    def forward(self, batch: Batch) -> npt.NDArray[np.float32]:
        if batch.token_ids.size > self.memory_tokens:
            raise MemoryError
        if self.poison is not None and (batch.token_ids == self.poison).any():
            raise RuntimeError("the kernel gave up")
        rows, length = batch.token_ids.shape
        self.batches.append((rows, length))
        self.prompt_tokens.append(batch.prompt_tokens)
        sums = (_TABLE[batch.token_ids] * batch.mask[:, :, np.newaxis]).sum(axis=1)
        return np.asarray(sums, dtype=np.float32)

    def is_out_of_memory(self, error: Exception) -> bool:
        return isinstance(error, MemoryError)


@pytest.fixture
def folder(tmp_path: Path, model_folder: Path) -> Path:
    written: Path = write_model(tmp_path)
    shutil.copy(model_folder / "tokenizer.json", written)
    return written


def build(folder: Path, engine: TokenSums, **settings: object) -> LocalEmbedder:
    config = EmbedderConfig.model_validate({"model": str(folder), **settings})
    return LocalEmbedder("tiny", config, read_model_files(str(folder), folder), engine)


def alone(embedder: LocalEmbedder, texts: Sequence[str]) -> npt.NDArray[np.float32]:
    return np.vstack([embedder.embed_passages([text]) for text in texts])


def test_vectors_come_in_the_order_of_the_texts(folder: Path) -> None:
    embedder = build(folder, TokenSums())
    assert np.array_equal(embedder.embed_passages(TEXTS), alone(embedder, TEXTS))


def test_inputs_of_equal_length_go_together(folder: Path) -> None:
    engine = TokenSums()
    build(folder, engine).embed_passages(TEXTS)
    assert engine.batches == [(2, 3), (1, 4), (2, 5)]


def test_no_texts_are_no_vectors(folder: Path) -> None:
    assert build(folder, TokenSums()).embed_passages([]).shape == (0, 32)


def test_short_memory_halves_the_batches_for_good(folder: Path) -> None:
    engine = TokenSums(memory_tokens=12)
    embedder = build(folder, engine)
    texts = ["one two"] * 16  # 64 tokens with their special ones

    assert np.array_equal(embedder.embed_passages(texts), alone(embedder, texts))
    engine.batches.clear()
    embedder.embed_passages(texts)
    assert engine.batches == [(2, 4)] * 8


@given(
    texts=st.lists(st.sampled_from([*TEXTS, "", "a " * 20]), max_size=30),
    at_once=st.integers(1, 3),
    most_padding=st.sampled_from([0.0, 0.2, 1.0]),
    fewest_tokens=st.sampled_from([0, 7, 64]),
    length_step=st.sampled_from([1, 8, 30]),
    memory_tokens=st.integers(128, 300),
    batch_tokens=st.integers(1, 300),
)
@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_no_way_of_batching_changes_a_vector_or_their_order(
    folder: Path,
    texts: list[str],
    at_once: int,
    most_padding: float,
    fewest_tokens: int,
    length_step: int,
    memory_tokens: int,
    batch_tokens: int,
) -> None:
    texts = [text or "x" for text in texts]
    engine = TokenSums(
        memory_tokens,
        at_once=at_once,
        fewest_tokens=fewest_tokens,
        length_step=length_step,
        most_padding=most_padding,
    )
    embedder = build(folder, engine, batch_tokens=batch_tokens)
    plain = build(folder, TokenSums())

    assert np.array_equal(embedder.embed_passages(texts), plain.embed_passages(texts))
    assert embedder.usage.tokens == plain.usage.tokens
    computed = sum(rows * length for rows, length in engine.batches)
    assert computed == embedder.usage.tokens + embedder.usage.padding_tokens


def test_inputs_of_like_length_go_together_where_padding_is_allowed(folder: Path) -> None:
    engine = TokenSums(most_padding=0.18)
    embedder = build(folder, engine)
    embedder.embed_passages(TEXTS)

    assert engine.batches == [(3, 4), (2, 5)]
    assert embedder.usage == Usage(tokens=20, padding_tokens=2)
    assert embedder.usage.padding_share == pytest.approx(2 / 22)


def test_a_batch_too_small_for_the_engine_is_filled_with_its_own_rows(folder: Path) -> None:
    engine = TokenSums(fewest_tokens=10)
    embedder = build(folder, engine)
    assert embedder.embed_passages(["one"]).shape == (1, 32)
    assert engine.batches == [(4, 3)]
    assert embedder.usage == Usage(tokens=3, padding_tokens=9)


def test_an_input_is_padded_to_a_multiple_but_never_beyond_the_model(folder: Path) -> None:
    engine = TokenSums(length_step=10)
    embedder = build(folder, engine)  # which takes 48 tokens
    embedder.embed_passages(["one", "word " * 20, "word " * 44])
    assert engine.batches == [(1, 10), (1, 30), (1, 48)]
    assert embedder.usage == Usage(tokens=3 + 22 + 46, padding_tokens=7 + 8 + 2)


def test_a_query_waits_for_no_core_and_uses_one(folder: Path) -> None:
    engine = TokenSums()
    embedder = build(folder, engine)
    with lease_cores():  # all of them
        embedder.embed_queries(["one"])
    assert engine.threads == [1]


def test_passages_use_no_more_threads_than_configured(folder: Path) -> None:
    engine = TokenSums()
    build(folder, engine, threads=1).embed_passages(["one"])
    assert engine.threads == [1]


def test_memory_too_short_for_one_input_is_an_error(folder: Path) -> None:
    with pytest.raises(EmbeddingError, match="memory is too short for a single input of 5 tokens"):
        build(folder, TokenSums(memory_tokens=4)).embed_passages(TEXTS)


def test_a_failing_engine_is_an_error_with_its_cause(folder: Path) -> None:
    engine = TokenSums(poison=2028)  # "one"
    with pytest.raises(EmbeddingError, match=r"the model failed on a batch of 2 .* gave up"):
        build(folder, engine).embed_passages(TEXTS)


def test_a_text_over_the_limit_is_refused_with_both_numbers(folder: Path) -> None:
    embedder = build(folder, TokenSums())
    embedder.embed_passages(["word " * embedder.max_tokens])
    with pytest.raises(EmbeddingError, match=r"text 2 of 2 makes an input of 49 tokens.* takes 48"):
        embedder.embed_passages(["a", "word " * (embedder.max_tokens + 1)])


def test_a_query_over_the_limit_is_cut(folder: Path) -> None:
    embedder = build(folder, TokenSums())
    most = "word " * embedder.max_tokens
    assert np.array_equal(
        embedder.embed_queries([most + "and more"]), embedder.embed_passages([most])
    )


def test_the_limit_leaves_room_for_special_tokens_and_the_prompt(folder: Path) -> None:
    assert build(folder, TokenSums()).max_tokens == 46
    assert build(folder, TokenSums(), passage_prompt="a passage: ").max_tokens == 43
    assert build(folder, TokenSums(), max_tokens=64).max_tokens == 62


def test_a_limit_over_the_models_positions_is_refused_with_both_numbers(folder: Path) -> None:
    with pytest.raises(EmbeddingError, match=r"max_tokens is 65, but .* positions for 64"):
        build(folder, TokenSums(), max_tokens=65)


def test_a_prompt_that_fills_the_model_is_refused(folder: Path) -> None:
    embedder = build(folder, TokenSums(), passage_prompt="word " * 46)
    with pytest.raises(EmbeddingError, match="passage_prompt takes 46 of the model's 48 tokens"):
        _ = embedder.max_tokens


def test_a_model_that_states_no_limit_needs_one(tmp_path: Path, model_folder: Path) -> None:
    write_model(tmp_path, config={"model_type": "bert", "hidden_size": 32}, limit=None)
    shutil.copy(model_folder / "tokenizer.json", tmp_path)
    with pytest.raises(EmbeddingError, match="do not say how many tokens it takes: set max_tokens"):
        build(tmp_path, TokenSums())


def test_passages_and_queries_get_their_own_prompts(folder: Path) -> None:
    prompted = build(folder, TokenSums(), passage_prompt="tell: ", query_prompt="ask: ")
    plain = build(folder, TokenSums())

    assert np.array_equal(prompted.embed_passages(["x"]), plain.embed_passages(["tell: x"]))
    assert np.array_equal(prompted.embed_queries(["x"]), plain.embed_queries(["ask: x"]))


def test_the_engine_learns_where_the_text_begins(folder: Path) -> None:
    engine = TokenSums()
    embedder = build(folder, engine, query_prompt="ask me: ")
    embedder.embed_passages(["x"])
    embedder.embed_queries(["x"])
    assert engine.prompt_tokens == [0, 4]


@pytest.mark.parametrize(("value", "message"), [(np.nan, "NaN or infinity"), (0.0, "is zero")])
def test_what_is_no_unit_vector_never_leaves(folder: Path, value: float, message: str) -> None:
    class Broken(TokenSums):
        def forward(self, batch: Batch) -> npt.NDArray[np.float32]:
            return np.full((len(batch.lengths), 32), value, dtype=np.float32)

    with pytest.raises(EmbeddingError, match=rf"'tiny' \(sums float32\): text 1 of 1: .*{message}"):
        build(folder, Broken()).embed_passages(["a"])


def test_a_wrong_dimension_never_leaves(folder: Path) -> None:
    class Narrow(TokenSums):
        def forward(self, batch: Batch) -> npt.NDArray[np.float32]:
            return super().forward(batch)[:, :31]

    with pytest.raises(EmbeddingError, match=r"shape \(1, 31\), expected \(1, 32\)"):
        build(folder, Narrow()).embed_passages(["a"])

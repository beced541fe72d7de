"""The unit of work: every missing vector once, whatever single texts do."""

import itertools
from dataclasses import dataclass, field
from pathlib import Path

import counting_embedder
import numpy as np
import pytest
from counting_embedder import CountingEmbedder, embedded_texts

from chunk_assets.embedding.config import EmbedderConfig, OverflowMode
from chunk_assets.embedding.embedder import Vectors
from chunk_assets.embedding.work import Block, EmbedReport, Progress, embed_missing
from chunk_assets.errors import EmbeddingError
from chunk_assets.lineage.identity import VectorKey

TEXTS = [f"{'word ' * (number % 5)}text number {number}" for number in range(40)]


def keyed(texts: list[str]) -> list[tuple[VectorKey, str]]:
    return [(VectorKey(f"key{position:03}"), text) for position, text in enumerate(texts)]


@dataclass
class Bench:
    """An embedder with a log, a store, and what was told."""

    log: Path
    blocks: list[Block] = field(default_factory=list)
    told: list[Progress] = field(default_factory=list)

    def config(self, **options: object) -> EmbedderConfig:
        return EmbedderConfig(
            backend="custom",
            factory="counting_embedder:build",
            max_tokens=64,
            options={"log": str(self.log), **options},
        )

    def embedder(self, **options: object) -> CountingEmbedder:
        return counting_embedder.build("counting", self.config(**options))

    def run(
        self,
        items: list[tuple[VectorKey, str]],
        *,
        embedder: CountingEmbedder | None = None,
        overflow: OverflowMode = "pool",
        block_tokens: int = 60,
    ) -> EmbedReport:
        return embed_missing(
            items,
            embedder or self.embedder(),
            overflow=overflow,
            store=self.blocks.append,
            on_progress=self.told.append,
            block_tokens=block_tokens,
        )

    @property
    def vectors(self) -> dict[VectorKey, Vectors]:
        return {
            key: vector
            for block in self.blocks
            for key, vector in zip(block.keys, block.vectors, strict=True)
        }

    @property
    def texts(self) -> list[str]:
        return embedded_texts(self.log)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "log")


def test_every_key_gets_the_vector_of_its_own_text(bench: Bench) -> None:
    report = bench.run(keyed(TEXTS))

    assert report.texts_embedded == 40
    assert report.failed == ()
    expected = bench.embedder().embed_passages(TEXTS)
    assert [bench.vectors[key].tolist() for key, _ in keyed(TEXTS)] == expected.tolist()


def test_a_key_given_twice_is_embedded_once(bench: Bench) -> None:
    report = bench.run([*keyed(TEXTS), *keyed(TEXTS)])
    assert report.texts_embedded == len(bench.texts) == 40


def test_nothing_to_do_asks_nothing_of_the_embedder(bench: Bench) -> None:
    report = bench.run([])
    assert (report.texts_embedded, report.tokens) == (0, 0)
    assert (bench.blocks, bench.texts) == ([], [])


def test_blocks_go_from_short_to_long_and_hold_at_most_what_was_asked(bench: Bench) -> None:
    bench.run(keyed(TEXTS), block_tokens=20)

    tokens = [block.tokens for block in bench.blocks]
    assert len(tokens) > 5
    assert list(itertools.chain(*tokens)) == sorted(itertools.chain(*tokens))
    assert all(sum(block) <= 20 for block in tokens)


def test_a_text_larger_than_a_block_is_a_block(bench: Bench) -> None:
    bench.run(keyed(["one two three four", "five"]), block_tokens=2)
    assert [block.tokens for block in bench.blocks] == [(1,), (4,)]


def test_a_kill_loses_at_most_the_block_at_hand(bench: Bench) -> None:
    stored: list[Block] = []

    def store_two(block: Block) -> None:
        if len(stored) == 2:
            raise KeyboardInterrupt
        stored.append(block)

    with pytest.raises(KeyboardInterrupt):
        embed_missing(
            keyed(TEXTS), bench.embedder(), overflow="pool", store=store_two, block_tokens=20
        )
    kept = {key for block in stored for key in block.keys}
    lost = len(bench.texts) - len(kept)
    bench.run([(key, text) for key, text in keyed(TEXTS) if key not in kept], block_tokens=20)

    assert 0 < lost <= 20
    assert len(bench.texts) == 40 + lost


@pytest.mark.parametrize("poisoned", [[0], [39], [7, 8, 21]])
def test_a_text_that_the_backend_cannot_stand_is_found_and_the_others_go_on(
    bench: Bench, poisoned: list[int]
) -> None:
    texts = [f"{t} POISON" if i in poisoned else t for i, t in enumerate(TEXTS)]
    report = bench.run(keyed(texts), embedder=bench.embedder(fail_on="POISON"), block_tokens=1000)

    assert {failure.key for failure in report.failed} == {keyed(texts)[i][0] for i in poisoned}
    assert {failure.reason for failure in report.failed} == {"this backend cannot stand 'POISON'"}
    assert report.texts_embedded == len(bench.vectors) == 40 - len(poisoned)


def test_a_vector_of_nan_never_reaches_the_store(bench: Bench) -> None:
    texts = [*TEXTS, "BAD"]
    report = bench.run(keyed(texts), embedder=bench.embedder(nan_on="BAD"))

    [failure] = report.failed
    assert failure.key == keyed(texts)[-1][0]
    assert failure.reason == "its vector holds NaN or infinity"
    assert all(np.isfinite(block.vectors).all() for block in bench.blocks)
    assert report.texts_embedded == 40


def test_an_embedder_that_fails_on_everything_raises_instead_of_blaming_texts(
    bench: Bench,
) -> None:
    class Down(CountingEmbedder):
        def embed_passages(self, texts: object) -> Vectors:
            raise ConnectionError("connection refused")

    message = r"'down' fails on every text, an ordinary sentence included: connection refused"
    with pytest.raises(EmbeddingError, match=message):
        bench.run(keyed(TEXTS), embedder=Down("down", bench.config()))
    assert bench.blocks == []


def test_an_embedder_that_dies_keeps_what_was_stored(bench: Bench) -> None:
    class Dying(CountingEmbedder):
        def embed_passages(self, texts: list[str]) -> Vectors:  # type: ignore[override]
            if len(bench.blocks) == 3:
                raise ConnectionError("connection refused")
            return super().embed_passages(texts)

    embedder = Dying("dying", bench.config())
    with pytest.raises(EmbeddingError, match="connection refused"):
        bench.run(keyed(TEXTS), embedder=embedder, block_tokens=20)
    assert len(bench.blocks) == 3


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (np.ones((1, 3), dtype=np.float32), r"shape \(1, 3\), expected \(1, 64\)"),
        (np.zeros((1, 64), dtype=np.float32), "its vector is zero"),
        (np.ones((1, 64), dtype=np.float32), "its vector has length 8, expected 1"),
    ],
    ids=["dimension", "zero", "length"],
)
def test_an_embedder_whose_vectors_are_all_wrong_raises(
    bench: Bench, returned: Vectors, message: str
) -> None:
    class Wrong(CountingEmbedder):
        def embed_passages(self, texts: object) -> Vectors:
            return returned

    with pytest.raises(EmbeddingError, match=message):
        bench.run(keyed(["one"]), embedder=Wrong("wrong", bench.config()))
    assert bench.blocks == []


def test_progress_goes_from_nothing_to_everything(bench: Bench) -> None:
    report = bench.run(keyed(TEXTS), block_tokens=20)

    first, last = bench.told[0], bench.told[-1]
    assert (first.done_texts, first.done_tokens) == (0, 0)
    assert (last.done_texts, last.done_tokens) == (40, report.tokens)
    assert (last.total_texts, last.total_tokens) == (40, report.tokens)
    assert len(bench.told) == len(bench.blocks) + 1
    assert [p.done_tokens for p in bench.told] == sorted(p.done_tokens for p in bench.told)


def test_what_fails_is_done_as_well(bench: Bench) -> None:
    bench.run(keyed([*TEXTS, "POISON"]), embedder=bench.embedder(fail_on="POISON"))
    assert bench.told[-1].done_texts == bench.told[-1].total_texts == 41


LONG_ALPHA = "the pump hums in the yard " * 60 + "ALPHA"
LONG_OMEGA = "the pump hums in the yard " * 60 + "valve OMEGA nine"


def test_texts_that_differ_past_the_models_limit_differ_when_pooled(bench: Bench) -> None:
    report = bench.run(keyed([LONG_ALPHA, LONG_OMEGA]))
    one, other = bench.vectors.values()

    assert not np.array_equal(one, other)
    assert report.pooled == 2
    assert report.tokens_embedded == report.tokens
    assert {flags for block in bench.blocks for flags in block.flags} == {("pooled",)}


def test_truncation_is_counted_and_flagged(bench: Bench) -> None:
    report = bench.run(keyed([LONG_ALPHA, LONG_OMEGA, "short"]), overflow="truncate")
    vectors = bench.vectors

    assert np.array_equal(vectors[VectorKey("key000")], vectors[VectorKey("key001")])
    assert report.truncated == 2
    assert report.tokens_embedded == 2 * 62 + 1 < report.tokens
    flags = {k: f for block in bench.blocks for k, f in zip(block.keys, block.flags, strict=True)}
    assert flags == {"key000": ("truncated",), "key001": ("truncated",), "key002": ()}


def test_an_error_on_overflow_fails_that_text_alone(bench: Bench) -> None:
    report = bench.run(keyed([LONG_ALPHA, "short"]), overflow="error")

    [failure] = report.failed
    assert failure.key == "key000"
    assert "the model takes 62" in failure.reason
    assert report.texts_embedded == 1


def test_a_pooled_vector_is_the_mean_of_its_windows_by_tokens(bench: Bench) -> None:
    text = "apple " * 62 + "stone " * 31
    bench.run(keyed([text]))
    [vector] = bench.vectors.values()

    apples, stones = bench.embedder().embed_passages(["apple " * 62, "stone " * 31])
    mean = 62 * apples.astype(np.float64) + 31 * stones
    assert vector == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)
    assert np.linalg.norm(vector) == pytest.approx(1)


def test_the_model_is_given_nothing_over_its_limit(bench: Bench) -> None:
    bench.run(keyed([LONG_ALPHA, "yard, " * 200, "unbelievably" * 40]))
    assert max(bench.embedder().tokenizer.count(bench.texts)) <= 62

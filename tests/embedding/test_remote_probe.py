"""That another model behind the same URL is noticed before its vectors are stored."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from embedding_server import EmbeddingServer, changed, status
from remote_bench import RemoteBench

from chunk_assets.embedding.embedder import Vectors
from chunk_assets.embedding.openai_embedder import OpenAIEmbedder
from chunk_assets.embedding.remote_probe import PROBE_TEXTS
from chunk_assets.embedding.remote_probe_store import keep_probes
from chunk_assets.errors import EmbeddingError
from chunk_assets.lineage.identity import Fingerprint, VectorKey
from resources.probes import Probes
from resources.tables import Tables


@dataclass
class MemoryStore:
    """Keeps probes for the length of a test."""

    kept: dict[tuple[Fingerprint, VectorKey], Vectors] = field(default_factory=dict)
    tokens: list[int] = field(default_factory=list)

    def load(self, embedder: Fingerprint, keys: Sequence[VectorKey]) -> Mapping[VectorKey, Vectors]:
        return {key: self.kept[embedder, key] for key in keys if (embedder, key) in self.kept}

    def save(
        self, embedder: Fingerprint, vectors: Mapping[VectorKey, Vectors], tokens: Sequence[int]
    ) -> None:
        self.kept |= {(embedder, key): vector for key, vector in vectors.items()}
        self.tokens += tokens


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
def bench(server: EmbeddingServer) -> RemoteBench:
    return RemoteBench(server)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def guarded(bench: RemoteBench, store: MemoryStore | Probes, **settings: object) -> OpenAIEmbedder:
    """As another process makes it: it knows nothing but its configuration and the store."""
    embedder = bench.embedder(**settings)
    keep_probes(embedder, store)
    return embedder


def test_the_first_use_keeps_the_vectors_of_the_probe_texts(
    bench: RemoteBench, store: MemoryStore
) -> None:
    embedder = guarded(bench, store)
    embedder.embed_passages(["a text"])

    kept = np.array(list(store.kept.values()))
    np.testing.assert_allclose(kept, bench.expected(list(PROBE_TEXTS)), atol=1e-6)
    assert {fingerprint for fingerprint, _ in store.kept} == {embedder.fingerprint}
    assert store.tokens == embedder.tokenizer.count(PROBE_TEXTS)


def test_the_same_model_is_known_again_though_its_vectors_are_never_quite_the_same(
    bench: RemoteBench, store: MemoryStore
) -> None:
    bench.server.noise = 0.01
    fingerprints = set()
    for _ in range(10):
        embedder = guarded(bench, store)
        embedder.embed_passages(["a text"])
        fingerprints.add(embedder.fingerprint)
    assert len(fingerprints) == 1
    assert len(store.kept) == len(PROBE_TEXTS)


def test_another_model_is_refused_before_a_text_is_sent_to_it(
    bench: RemoteBench, store: MemoryStore
) -> None:
    first = guarded(bench, store)
    first.embed_passages(["a text"])
    bench.server.requests.clear()
    bench.server.seed = 1

    second = guarded(bench, store)
    assert second.fingerprint == first.fingerprint
    for embed in (second.embed_passages, second.embed_queries):
        with pytest.raises(EmbeddingError, match="is not the model that made the stored") as caught:
            embed(["another text"])
        assert "set embedders.api.revision to a new value" in str(caught.value)
    assert set(bench.server.texts) == set(PROBE_TEXTS)


def test_a_model_that_was_replaced_on_purpose_is_taken_under_a_new_revision(
    bench: RemoteBench, store: MemoryStore
) -> None:
    first = guarded(bench, store)
    first.embed_passages(["a text"])
    bench.server.seed = 1

    second = guarded(bench, store, revision="2")
    second.embed_passages(["a text"])
    assert second.fingerprint != first.fingerprint
    assert len(store.kept) == 2 * len(PROBE_TEXTS)


def test_how_much_a_model_may_vary_can_be_set(bench: RemoteBench, store: MemoryStore) -> None:
    guarded(bench, store).embed_passages(["a text"])
    bench.server.noise = 0.3
    with pytest.raises(EmbeddingError, match=r"cosine of 0\.\d+ .*lower remote\.min_probe_cosine"):
        guarded(bench, store).embed_passages(["a text"])
    guarded(bench, store, min_probe_cosine=0.2).embed_passages(["a text"])


def test_the_same_model_at_another_url_is_the_same(store: MemoryStore) -> None:
    fingerprints = []
    for _ in range(2):
        with EmbeddingServer() as server:
            embedder = guarded(RemoteBench(server), store)
            embedder.embed_passages(["a text"])
            fingerprints.append(embedder.fingerprint)
    assert fingerprints[0] == fingerprints[1]


def test_probes_have_the_prompt_of_passages(bench: RemoteBench, store: MemoryStore) -> None:
    guarded(bench, store, passage_prompt="passage: ").embed_queries(["a question"])
    assert bench.server.requests[0].texts == [f"passage: {text}" for text in PROBE_TEXTS]


def test_probes_fit_a_small_model(bench: RemoteBench, store: MemoryStore) -> None:
    guarded(bench, store, max_tokens=16).embed_passages(["a text"])
    assert max(map(bench.server.tokens, bench.server.texts)) == 16
    assert max(store.tokens) == 14


def test_probes_are_paid_for_and_counted(bench: RemoteBench, store: MemoryStore) -> None:
    embedder = guarded(bench, store)
    embedder.embed_passages(["a text"])
    assert embedder.usage.tokens == sum(map(bench.server.tokens, bench.server.texts))


def test_before_anything_is_kept_a_text_as_long_as_the_model_takes_is_sent_once(
    bench: RemoteBench, store: MemoryStore
) -> None:
    guarded(bench, store, max_tokens=200).embed_passages(["a text"])
    guarded(bench, store, max_tokens=200).embed_passages(["a text"])

    lengths = [max(map(bench.server.tokens, request.texts)) for request in bench.server.requests]
    assert len(lengths) == 5
    assert 190 < lengths[1] <= 200
    assert max(lengths[:1] + lengths[2:]) < 40


@pytest.mark.parametrize("encoding_share", [1.0, 0.5], ids=["own count", "half of it"])
def test_a_server_that_cuts_long_texts_in_silence_is_refused(
    bench: RemoteBench, store: MemoryStore, encoding_share: float
) -> None:
    bench.server.reads_tokens = 150
    bench.server.count_share = encoding_share
    with pytest.raises(
        EmbeddingError, match=r"max_tokens is 200, but .* read \d+ tokens of a text"
    ):
        guarded(bench, store, max_tokens=200).embed_passages(["a text"])
    assert store.kept == {}
    guarded(bench, store, max_tokens=150).embed_passages(["a text"])
    assert store.kept


def test_a_server_that_takes_less_than_configured_is_refused(
    bench: RemoteBench, store: MemoryStore
) -> None:
    bench.server.most_tokens = 150
    with pytest.raises(
        EmbeddingError, match=r"max_tokens is 200, but a text of that length, .*150"
    ):
        guarded(bench, store, max_tokens=200).embed_passages(["a text"])
    assert store.kept == {}


def test_a_server_that_counts_nothing_is_taken_at_its_word(
    bench: RemoteBench, store: MemoryStore
) -> None:
    bench.server.counts = False
    bench.server.reads_tokens = 150
    guarded(bench, store, max_tokens=200).embed_passages(["a text"])
    assert store.kept


def test_a_failure_while_probing_is_told_and_the_next_call_probes_again(
    bench: RemoteBench, store: MemoryStore
) -> None:
    embedder = guarded(bench, store)
    bench.server.then(status(400, {"error": {"message": "not now"}}))
    with pytest.raises(EmbeddingError, match="refuses with 400: not now"):
        embedder.embed_passages(["a text"])
    embedder.embed_passages(["a text"])
    assert len(store.kept) == len(PROBE_TEXTS)


def test_a_probe_text_that_is_new_is_kept_beside_the_others(
    bench: RemoteBench, store: MemoryStore
) -> None:
    guarded(bench, store).embed_passages(["a text"])
    missing = next(iter(store.kept))
    before = dict(store.kept)
    del store.kept[missing]
    bench.server.noise = 0.01
    guarded(bench, store).embed_passages(["a text"])

    assert store.kept.keys() == before.keys()
    unchanged = [key for key in before if np.array_equal(before[key], store.kept[key])]
    assert len(unchanged) == len(PROBE_TEXTS) - 1


def test_vectors_of_wrong_dimension_are_noticed_by_the_probes(
    bench: RemoteBench, store: MemoryStore
) -> None:
    with pytest.raises(EmbeddingError, match=r"of 32 components, but remote\.dimension is 16"):
        guarded(bench, store, dimension=16).embed_passages(["a text"])
    assert store.kept == {}


def test_the_tables_of_a_store_keep_probes_for_all_who_share_it(
    bench: RemoteBench, tmp_path: Path
) -> None:
    def another_machine() -> Probes:
        return Probes(lambda: Tables(tmp_path))

    guarded(bench, another_machine()).embed_passages(["a text"])
    guarded(bench, another_machine()).embed_passages(["a text"])
    rows = Tables(tmp_path).read("vectors")
    assert rows.num_rows == len(PROBE_TEXTS)
    assert set(rows["run_id"].to_pylist()) == {"probe"}

    bench.server.then(
        changed(lambda v: [i.update(embedding=[1.0] * 32) for i in v["data"]] and None)
    )
    with pytest.raises(EmbeddingError, match="is not the model"):
        guarded(bench, another_machine()).embed_passages(["a text"])


def test_an_embedder_without_probes_needs_no_store(store: MemoryStore) -> None:
    class Local:
        pass

    keep_probes(Local(), store)  # type: ignore[arg-type]
    assert store.kept == {}

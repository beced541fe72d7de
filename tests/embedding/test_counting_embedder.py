"""The counting embedder keeps what it promises to the tests that use it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from counting_embedder import CountingEmbedder, build, embedded_texts, reset

from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.unit_vectors import defect
from chunk_assets.errors import EmbeddingError


def counting(log: Path | None = None, **options: object) -> CountingEmbedder:
    if log is not None:
        options["log"] = str(log)
    config = EmbedderConfig(backend="custom", factory="counting_embedder:build", options=options)
    return build("counting", config)


def test_equal_texts_have_equal_vectors_in_every_process(tmp_path: Path) -> None:
    code = (
        "import sys, counting_embedder\n"
        "from chunk_assets.embedding.config import EmbedderConfig\n"
        "config = EmbedderConfig(backend='custom', factory='counting_embedder:build')\n"
        "sys.stdout.buffer.write(\n"
        "    counting_embedder.build('c', config).embed_passages(['Größe 猫']).tobytes())"
    )
    env = {"PYTHONPATH": str(Path(sys.modules["counting_embedder"].__file__ or "").parent)}
    run = subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True)
    assert run.stdout == counting().embed_passages(["Größe 猫"]).tobytes()


def test_every_text_has_a_unit_vector() -> None:
    vectors = counting().embed_passages(["words and words", "", "?!", "\u200b", "\ud800"])
    assert vectors.shape == (5, 64)
    assert [defect(vector) for vector in vectors] == [None] * 5


def test_texts_with_shared_words_are_nearer_than_others() -> None:
    valve, valves, soup = counting().embed_passages(
        ["Open the valve slowly.", "The valves open slowly.", "Bake bread at noon."]
    )
    assert valve @ valves > valve @ soup + 0.3


def test_the_log_holds_each_passage_across_embedders(tmp_path: Path) -> None:
    log = tmp_path / "log"
    counting(log).embed_passages(["a\nb", "c\u2028d"])
    counting(log).embed_passages(["e"])
    assert embedded_texts(log) == ["a\nb", "c\u2028d", "e"]
    assert len(log.read_text(encoding="utf-8").splitlines()) == 3


def test_queries_are_logged_apart(tmp_path: Path) -> None:
    log, query_log = tmp_path / "log", tmp_path / "queries"
    counting(log, query_log=str(query_log)).embed_queries(["q"])
    assert (embedded_texts(log), embedded_texts(query_log)) == ([], ["q"])


def test_a_reset_log_is_empty(tmp_path: Path) -> None:
    log = tmp_path / "log"
    counting(log).embed_passages(["a"])
    reset(log)
    assert embedded_texts(log) == []


def test_a_call_that_fails_is_not_logged(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with pytest.raises(RuntimeError, match="cannot stand 'BAD'"):
        counting(log, fail_on="BAD").embed_passages(["good", "BAD"])
    assert embedded_texts(log) == []


def test_nan_is_returned_for_the_text_that_asks_for_it() -> None:
    vectors = counting(nan_on="NAN").embed_passages(["good", "a NAN"])
    assert np.isfinite(vectors).all(axis=1).tolist() == [True, False]


def test_a_text_over_the_limit_is_refused() -> None:
    with pytest.raises(EmbeddingError, match="a text of 255 tokens exceeds 254"):
        counting().embed_passages(["word " * 255])


def test_what_decides_vectors_is_in_the_fingerprint_and_faults_are_not(tmp_path: Path) -> None:
    plain = counting().fingerprint
    assert counting(seed=1).fingerprint != plain
    assert counting(dimension=32).fingerprint != plain
    faulty = counting(tmp_path / "log", fail_on="x", nan_on="y", sleep_s=0.1)
    assert faulty.fingerprint == plain

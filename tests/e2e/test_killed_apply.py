"""`kill -9` at random moments: the next `apply` ends where a clean build ends."""

import random
import signal
import subprocess
import time
from typing import Any

import pytest
from command_line import apply_command, killed_at_checks_of
from small_platform import STRATEGIES, SmallPlatform, guide

from partitions.stages import StagePartition
from resources.platform import Platform

pytestmark = pytest.mark.slow

KILLS = 10
VOLATILE = {"run_id", "generation", "created_at", "signature"}


def rows_of(platform: Platform) -> dict[str, list[dict[str, Any]]]:
    """Every table, without what says when and by which run a row was written."""
    tables = {}
    for stage in ("raw_documents", "documents", "chunks", "embeddings", "collections"):
        rows = platform.tables.read(f"guides/{stage}").to_pylist()
        tables[stage] = sorted(
            ({k: v for k, v in row.items() if k not in VOLATILE} for row in rows), key=repr
        )
    vectors = platform.tables.read("vectors").to_pylist()
    tables["vectors"] = sorted(
        ({k: v for k, v in row.items() if k not in VOLATILE} for row in vectors), key=repr
    )
    return tables


def points_of(platform: Platform) -> dict[str, dict[str, Any]]:
    """Everything the collections hold, vectors included."""
    held: dict[str, dict[str, Any]] = {}
    for index in platform.corpora["guides"].indexes:
        with platform.vector_store.open(f"guides__{index}") as collection:
            payloads = dict(collection.scroll(["text", "start", "end", "uri", "payload_hash"]))
            vectors = collection.vectors(list(payloads))
        held[index] = {
            str(identity): (payload, vectors[identity].tolist())
            for identity, payload in payloads.items()
        }
    return held


def test_ten_kills_at_random_moments_lose_and_double_nothing(
    small: SmallPlatform, tmp_path_factory: pytest.TempPathFactory
) -> None:
    documents = {f"{name}.md": guide(name, 4) for name in ("pump", "boiler", "crane", "winch")}
    small.write(documents)
    small.configure()
    moments = random.Random(20240229)
    kills = 0
    for _ in range(KILLS):
        process = apply_command(small)
        try:
            # A whole run takes several seconds, the first of which are imports.
            process.wait(timeout=moments.uniform(2.0, 7.0))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.communicate()
        if process.returncode == 0:
            # It came to its end: change something, so that the next one has work to interrupt.
            name = moments.choice(sorted(documents))
            documents[name] = guide(f"{name} {moments.random():.3f}", 4)
            small.write({name: documents[name]})
        time.sleep(0.1)
    final = apply_command(small)
    output, _ = final.communicate(timeout=120)
    assert final.returncode == 0, output.decode()
    assert kills >= 5, "too few runs were killed for the test to mean anything"

    clean = SmallPlatform(tmp_path_factory.mktemp("clean"), small.instance)
    clean.write(documents)
    report = clean.apply()
    assert not report.failed
    interrupted, whole = small.platform(), clean.platform()
    ours, theirs = rows_of(interrupted), rows_of(whole)
    wanted = {row["vector_key"] for row in theirs["vectors"]}
    # Vectors of texts that were there in between stay until they are collected as garbage.
    ours["vectors"] = [row for row in ours["vectors"] if row["vector_key"] in wanted]
    assert {stage: len(rows) for stage, rows in ours.items()} == {
        stage: len(rows) for stage, rows in theirs.items()
    }
    assert ours == theirs
    assert points_of(interrupted) == points_of(whole)


def test_a_kill_before_the_checks_leaves_what_it_wrote_unchecked_and_the_next_apply_checks_it(
    small: SmallPlatform,
) -> None:
    small.strategies = {"hierarchy": STRATEGIES["hierarchy"]}
    small.corpus = {"buckets": 1}
    small.write({"pump.md": guide("pump")})
    small.configure()
    documents = StagePartition("documents", "b00")
    assert killed_at_checks_of(small, "documents") == -signal.SIGKILL
    state = small.platform().run_log.state("guides")
    assert {str(work): made.status for work, made in state.items()} == {
        "raw_documents/b00": "ok",
        "documents/b00": "unchecked",
    }
    process = apply_command(small)
    said = process.communicate(timeout=120)[0].decode()
    assert process.returncode == 0, said
    (line,) = [line for line in said.splitlines() if "guides/documents/b00" in line]
    assert line.startswith("✓")
    assert "parsed" not in line, "what is there is checked, not made again"
    after = small.platform().run_log.state("guides")
    assert after[documents].data_version == state[documents].data_version
    assert {made.status for made in after.values()} == {"ok"}

"""One `apply` waits for the other, and finds its work done."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from command_line import apply_command
from small_platform import STRATEGIES, SmallPlatform, guide

pytestmark = pytest.mark.slow


def test_two_applies_at_once_both_succeed_and_agree(small: SmallPlatform) -> None:
    small.write({f"{name}.md": guide(name, 4) for name in ("pump", "boiler", "crane")})
    small.configure()
    processes = [apply_command(small), apply_command(small)]
    with ThreadPoolExecutor() as threads:
        outputs = list(threads.map(lambda p: p.communicate(timeout=300)[0].decode(), processes))
    assert [process.returncode for process in processes] == [0, 0], outputs
    platform = small.platform()
    for index in platform.corpora["guides"].indexes:
        rows = platform.tables.read("guides/collections", where={"index": index})
        with platform.vector_store.open(f"guides__{index}") as collection:
            assert collection.count() == rows.num_rows > 0
    chunks = platform.tables.read("guides/chunks")["chunk_id"].to_pylist()
    strategies = platform.tables.read("guides/chunks")["strategy"].to_pylist()
    assert len(set(zip(chunks, strategies, strict=True))) == len(chunks)
    assert small.apply().results == [] or small.apply().totals["embeddings"]["embedded"] == 0


def test_two_applies_on_fresh_storage_embed_every_text_once(small: SmallPlatform) -> None:
    small.strategies = {"hierarchy": STRATEGIES["hierarchy"]}
    small.corpus = {"buckets": 1}
    small.embedder_options = {"sleep_s": 2.0}
    small.write({"pump.md": guide("pump")})
    small.configure()
    processes = [apply_command(small), apply_command(small)]
    with ThreadPoolExecutor() as threads:
        outputs = list(threads.map(lambda p: p.communicate(timeout=300)[0].decode(), processes))
    assert [process.returncode for process in processes] == [0, 0], outputs
    embedded = small.embedded_texts()
    assert len(embedded) == len(set(embedded)) > 0
    first, second = sorted(outputs, key=lambda said: "nothing to do" in said)
    holder = next(
        process.pid for process, said in zip(processes, outputs, strict=True) if said is first
    )
    assert "texts embedded" in first
    assert "waiting" not in first
    assert f"Another `chunk-assets apply` (process {holder} on " in second
    assert "nothing to do, 0 texts embedded" in second


def test_a_killed_apply_is_not_waited_for(small: SmallPlatform) -> None:
    small.strategies = {"hierarchy": STRATEGIES["hierarchy"]}
    small.corpus = {"buckets": 1}
    small.embedder_options = {"sleep_s": 600.0}
    small.write({"pump.md": guide("pump")})
    small.configure()
    killed = apply_command(small)
    holder = small.folder / ".chunk_assets" / "apply.holder"
    while not holder.exists():
        assert killed.poll() is None
        time.sleep(0.05)
    refused = apply_command(small, "--wait", "0")
    said = refused.communicate(timeout=120)[0].decode()
    assert refused.returncode == 1
    assert f"(process {killed.pid} on " in said
    assert "--wait" in said
    killed.kill()
    killed.communicate()
    small.embedder_options = {}
    small.configure()
    after = apply_command(small, "--wait", "0", "--select", "guides/hierarchy/b00")
    assert "✓ guides/embeddings/b00" in after.communicate(timeout=120)[0].decode()
    assert after.returncode == 0

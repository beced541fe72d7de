"""Dagster runs that write the same index at once wait for each other."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from command_line import apply_command
from small_platform import SmallPlatform, guide

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

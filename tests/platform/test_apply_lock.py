"""One `apply` at a time on a storage: others say whom they wait for."""

import json
import os
import platform
import threading
import time
from pathlib import Path

import pytest

from chunk_assets import apply_lock as locking
from chunk_assets.apply_lock import apply_lock
from chunk_assets.errors import ChunkAssetsError


@pytest.fixture
def said() -> list[str]:
    return []


def test_the_holder_signs_and_leaves_no_signature_behind(tmp_path: Path, said: list[str]) -> None:
    folder = tmp_path / "storage"
    with apply_lock(folder, wait_s=None, on_wait=said.append):
        signed = json.loads((folder / "apply.holder").read_text())
        assert (signed["pid"], signed["host"]) == (os.getpid(), platform.node())
    assert not (folder / "apply.holder").exists()
    with apply_lock(folder, wait_s=0, on_wait=said.append):
        pass
    assert said == []


def test_who_will_not_wait_is_told_who_holds_it(tmp_path: Path, said: list[str]) -> None:
    holder = rf"process {os.getpid()} on {platform.node()}, since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d"
    with (
        apply_lock(tmp_path, wait_s=None, on_wait=said.append),
        pytest.raises(ChunkAssetsError, match=holder),
        apply_lock(tmp_path, wait_s=0.05, on_wait=said.append),
    ):
        pytest.fail("two had it")


def test_who_waits_says_so_and_goes_on_when_it_is_free(
    tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locking, "FIRST_NOTICE_S", 0.0)
    done: list[str] = []

    def second() -> None:
        with apply_lock(tmp_path, wait_s=None, on_wait=said.append):
            done.append("second")

    thread = threading.Thread(target=second)
    with apply_lock(tmp_path, wait_s=None, on_wait=said.append):
        thread.start()
        while not said:
            time.sleep(0.01)
        done.append("first")
    thread.join()
    assert done == ["first", "second"]
    assert f"(process {os.getpid()} on " in said[0]
    assert "waiting until it is done" in said[0]


def test_a_signature_that_a_killed_process_left_is_not_believed(
    tmp_path: Path, said: list[str]
) -> None:
    gone = {"pid": 2**22 + 1, "host": platform.node(), "since": "2024-02-29T12:00:00+00:00"}
    with apply_lock(tmp_path, wait_s=None, on_wait=said.append):
        (tmp_path / "apply.holder").write_text(json.dumps(gone))
        with (
            pytest.raises(ChunkAssetsError, match="Another `chunk-assets apply` is at work on"),
            apply_lock(tmp_path, wait_s=0, on_wait=said.append),
        ):
            pytest.fail("two had it")


def test_where_nothing_can_be_locked_the_work_goes_on_and_says_so(
    tmp_path: Path, said: list[str]
) -> None:
    file = tmp_path / "storage"
    file.write_text("a file where a folder should be")
    with apply_lock(file, wait_s=None, on_wait=said.append):
        pass
    assert "cannot be locked" in said[0]
    assert "no other `chunk-assets apply`" in said[0]

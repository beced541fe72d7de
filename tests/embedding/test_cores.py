"""Cores are lent to one piece of work at a time, and come back when it ends."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from chunk_assets.embedding import cores
from chunk_assets.embedding.cores import lease_cores


@pytest.fixture(autouse=True)
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "available_cores", lambda: 4)


def test_whoever_comes_first_gets_what_it_wants(tmp_path: Path) -> None:
    with lease_cores(3, tmp_path) as first, lease_cores(None, tmp_path) as second:
        assert (first, second) == (3, 1)
    with lease_cores(None, tmp_path) as all_again:
        assert all_again == 4


def test_more_than_there_are_is_all_there_are(tmp_path: Path) -> None:
    with lease_cores(99, tmp_path) as lent:
        assert lent == 4


def test_a_failure_gives_its_cores_back(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), lease_cores(None, tmp_path):
        _ = 1 / 0
    with lease_cores(None, tmp_path) as lent:
        assert lent == 4


def test_with_none_left_the_next_waits(tmp_path: Path) -> None:
    lent: list[int] = []

    def work() -> None:
        with lease_cores(2, tmp_path) as number:
            lent.append(number)

    with lease_cores(None, tmp_path):
        waiting = threading.Thread(target=work)
        waiting.start()
        waiting.join(timeout=0.3)
        assert not lent
    waiting.join()
    [number] = lent
    assert number >= 1


def test_a_killed_holder_gives_its_cores_back(tmp_path: Path) -> None:
    program = (
        "import sys, time, pathlib\n"
        "from chunk_assets.embedding import cores\n"
        "cores.available_cores = lambda: 4\n"
        "with cores.lease_cores(None, pathlib.Path(sys.argv[1])):\n"
        "    print('held', flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        holder.kill()
        holder.wait()
        with lease_cores(None, tmp_path) as lent:
            assert lent == 4


def test_where_no_file_can_be_locked_everybody_gets_what_it_wants(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    with lease_cores(None, tmp_path / "file" / "below") as lent:
        assert lent == 4

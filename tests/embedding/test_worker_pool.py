"""Batches computed by processes side by side, whatever happens to the processes."""

import functools
import gc
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from worker_engines import (
    HOLD,
    KILL,
    KILL_ONCE,
    LOSE_DEVICE_ONCE,
    RAISE,
    REFUSE,
    RELEASE,
    WAIT,
    TokenEngine,
    no_engine,
)

from chunk_assets.embedding.batch_runner import BatchRunner, Rows
from chunk_assets.embedding.engine import Batch
from chunk_assets.embedding.worker_pool import Place, WorkerPool
from chunk_assets.errors import EmbeddingError

Make = Callable[..., WorkerPool]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """A pool of so many workers, with engines of the given settings."""
    pools: list[WorkerPool] = []

    def build(workers: int = 2, **settings: Any) -> WorkerPool:  # noqa: ANN401
        place = Place(functools.partial(TokenEngine, str(tmp_path), **settings), "cpu")
        pools.append(WorkerPool([place] * workers))
        return pools[-1]

    yield build
    for pool in pools:
        pool.close()


def batch(*rows: Sequence[int]) -> Batch:
    ids = np.array(rows, dtype=np.int64)
    return Batch(ids, np.full(len(rows), ids.shape[1], dtype=np.int64), 0)


def run(pool: WorkerPool, inputs: Sequence[Sequence[int]], **settings: Any) -> Rows:  # noqa: ANN401
    rows = np.empty((len(inputs), 4), dtype=np.float32)
    for positions, made in BatchRunner("x", [pool], **settings).run(inputs, 0, threads=2):
        rows[positions] = made
    return rows


def started(folder: Path) -> set[int]:
    return {int(path.stem) for path in folder.glob("*.started")}


def is_running(process: int) -> bool:
    """Whether there is such a process; one that only waits to be noticed by its parent is none."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def wait_until(is_so: Callable[[], bool]) -> None:
    """Fails by the time limit of the whole test if it never is."""
    while not is_so():
        time.sleep(0.02)


def test_nothing_starts_before_it_is_needed(make: Make, tmp_path: Path) -> None:
    pool = make()
    assert (pool.name, pool.precision, pool.uses_cores) == ("tokens", "float32", True)
    assert pool.processes == ()
    pool.start(2)
    assert set(pool.processes) == started(tmp_path)
    assert len(pool.processes) == 2


def test_rows_come_back_as_the_engine_makes_them(make: Make) -> None:
    rows = run(make(), [[1, 2, 3], [4], [5, 6]])
    assert rows[:, :2].tolist() == [[6, 3], [4, 1], [11, 2]]


def test_whichever_worker_is_idle_takes_the_next_batch(make: Make) -> None:
    pool = make()
    rows = run(pool, [[WAIT, n] for n in range(6)], batch_tokens=2)

    assert sum(pool.batches) == 6
    assert min(pool.batches) >= 2
    assert set(rows[:, 2]) == set(pool.processes)


def test_a_slow_batch_holds_up_no_other(make: Make) -> None:
    pool = make()
    # The first batch is done only after the last one.
    run(pool, [[HOLD], *[[n, n] for n in range(20)], [RELEASE] * 3], batch_tokens=3)
    assert sorted(pool.batches) == [1, 21]


def test_workers_share_the_threads(make: Make) -> None:
    pool = make()
    assert pool.start(4) == 2
    assert pool.forward(batch([1]))[0, 3] == 2
    assert pool.start(7) == 2
    assert pool.forward(batch([1]))[0, 3] == 3


def test_no_more_workers_run_than_there_are_threads(make: Make) -> None:
    pool = make(3)
    assert pool.start(2) == 2
    assert len(pool.processes) == 2
    assert pool.start(1) == 1
    assert pool.forward(batch([1]))[0, 3] == 1


def test_on_other_devices_every_worker_runs_as_many_batches_as_its_engine_takes(
    make: Make,
) -> None:
    pool = make(uses_cores=False, parallel=2)
    assert pool.start(1) == 4
    assert run(pool, [[WAIT, n] for n in range(8)], batch_tokens=2).shape == (8, 4)
    assert min(pool.batches) >= 3


def test_the_smallest_budget_of_all_workers_counts(tmp_path: Path) -> None:
    places = [
        Place(functools.partial(TokenEngine, str(tmp_path), batch_tokens=tokens), "cpu")
        for tokens in (100, 50)
    ]
    pool = WorkerPool(places)
    try:
        pool.start(2)
        assert pool.batch_tokens == 50
    finally:
        pool.close()


def test_processes_are_kept_from_one_call_to_the_next(make: Make, tmp_path: Path) -> None:
    pool = make()
    first, second = run(pool, [[1]]), run(pool, [[1]])
    assert np.array_equal(first, second)
    assert len(started(tmp_path)) == 2


def test_a_worker_sees_the_variables_of_its_place(tmp_path: Path) -> None:
    where = Place(
        functools.partial(TokenEngine, str(tmp_path)), "cuda:3", {"CUDA_VISIBLE_DEVICES": "3"}
    )
    pool = WorkerPool([where])
    try:
        pool.start(1)
        environment = Path(f"/proc/{pool.processes[0]}/environ").read_bytes().split(b"\0")
        assert b"CUDA_VISIBLE_DEVICES=3" in environment
    finally:
        pool.close()


@pytest.mark.parametrize("harm", [KILL_ONCE, LOSE_DEVICE_ONCE])
def test_the_batch_of_a_worker_that_ends_is_computed_by_another(
    make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture, harm: int
) -> None:
    pool = make()
    inputs = [[n, 1] for n in range(10)] + [[harm, 1]] + [[n, 2] for n in range(10)]
    with caplog.at_level(logging.WARNING):
        rows = run(pool, inputs, batch_tokens=4)

    assert rows[:, 0].tolist() == [sum(ids) for ids in inputs]
    pool.start(2)
    assert len(pool.processes) == 2
    assert len(started(tmp_path)) == 3
    how = "was ended by SIGKILL" if harm == KILL_ONCE else "an assertion failed on the device"
    assert how in caplog.text


def test_a_worker_killed_from_outside_in_the_midst_of_the_work_loses_nothing(
    make: Make, tmp_path: Path
) -> None:
    pool = make()
    inputs = [[WAIT, n] for n in range(12)]
    rows = np.zeros((len(inputs), 4), dtype=np.float32)
    for positions, made in BatchRunner("x", [pool], 2).run(inputs, 0, threads=2):
        rows[positions] = made
        if positions == [2]:
            os.kill(pool.processes[0], signal.SIGKILL)

    assert rows[:, 0].tolist() == [sum(ids) for ids in inputs]
    pool.start(2)
    assert len(started(tmp_path)) == 3


def test_a_worker_killed_while_it_is_idle_is_replaced(make: Make, tmp_path: Path) -> None:
    pool = make()
    run(pool, [[1]])
    for process in pool.processes:
        os.kill(process, signal.SIGKILL)
    assert run(pool, [[3, 4]])[0, 0] == 7
    assert len(started(tmp_path)) > 2


def test_a_batch_that_ends_every_worker_is_an_error_and_the_pool_lives_on(
    make: Make, tmp_path: Path
) -> None:
    pool = make()
    with pytest.raises(
        EmbeddingError, match=r"3 worker processes in a row .* 1 inputs of 2 .*KILL"
    ):
        run(pool, [[KILL, 1]])
    assert run(pool, [[3, 4]])[0, 0] == 7


def test_texts_that_end_workers_again_and_again_wear_out_no_worker(make: Make) -> None:
    pool = make()
    for _ in range(3):
        with pytest.raises(EmbeddingError, match="3 worker processes in a row"):
            run(pool, [[KILL, 1], [WAIT, 2]], batch_tokens=2)
    assert run(pool, [[WAIT, n] for n in range(4)], batch_tokens=2)[:, 0].tolist() == [
        WAIT + n for n in range(4)
    ]


def test_a_batch_starts_what_was_not_started(make: Make) -> None:
    assert make().forward(batch([3, 4]))[0, 0] == 7


def test_a_worker_that_cannot_stay_is_given_up(make: Make, tmp_path: Path) -> None:
    pool = make(1, dies_at_start=True)
    with pytest.raises(
        EmbeddingError, match=r"worker 1 of 1 on cpu ended 4 times before .* set workers"
    ):
        pool.start(1)
    assert len(started(tmp_path)) == 4


def test_a_worker_that_cannot_load_its_model_says_why(tmp_path: Path) -> None:
    good = functools.partial(TokenEngine, str(tmp_path))
    pool = WorkerPool([Place(good, "cpu"), Place(no_engine, "cpu")])
    try:
        for _ in range(2):  # asked again, it tries again
            with pytest.raises(EmbeddingError, match="there is no such model"):
                pool.start(2)
    finally:
        pool.close()


@pytest.mark.parametrize(
    ("harm", "message"),
    [(RAISE, r"ZeroDivisionError: the kernel gave up"), (REFUSE, "this engine refuses")],
)
def test_an_input_that_makes_the_engine_fail_is_one_error_and_costs_no_process(
    make: Make, tmp_path: Path, harm: int, message: str
) -> None:
    pool = make()
    with pytest.raises(EmbeddingError, match=message):
        run(pool, [[1], [harm], [2]], batch_tokens=1)
    assert run(pool, [[3, 4]])[0, 0] == 7
    assert len(started(tmp_path)) == 2


def test_short_memory_in_a_worker_makes_smaller_batches(make: Make) -> None:
    pool = make(memory_tokens=10)
    inputs = [[n, n, n] for n in range(40)]
    rows = run(pool, inputs, batch_tokens=96)
    assert rows[:, 0].tolist() == [3 * n for n in range(40)]


def test_a_closed_pool_leaves_no_process(make: Make) -> None:
    pool = make()
    pool.start(2)
    processes = pool.processes
    pool.close()
    assert not any(map(is_running, processes))
    with pytest.raises(EmbeddingError, match="was ended"):
        pool.start(2)


def test_a_forgotten_pool_leaves_no_process(make: Make, tmp_path: Path) -> None:
    pool = WorkerPool([Place(functools.partial(TokenEngine, str(tmp_path)), "cpu")])
    pool.start(1)
    processes = pool.processes
    del pool
    gc.collect()
    wait_until(lambda: not any(map(is_running, processes)))


# What a parent process does; it says which processes it has, and then comes to an end.
PARENT = """
import functools, os, signal, sys, threading, time
from worker_engines import WAIT, TokenEngine
from chunk_assets.embedding.batch_runner import BatchRunner
from chunk_assets.embedding.worker_pool import Place, WorkerPool

assert __name__ == "__main__"  # runs once: no worker runs it again
pool = WorkerPool([Place(functools.partial(TokenEngine, sys.argv[1]), "cpu")] * 2)
pool.start(2)
print(*pool.processes, flush=True)
"""
ENDINGS = {
    "returns": "",
    "raises": "raise SystemExit(3)",
    "is killed while its workers compute": """
threading.Thread(target=lambda: (time.sleep(.3), os.kill(os.getpid(), signal.SIGKILL))).start()
list(BatchRunner("x", [pool], 2).run([[WAIT, 1]] * 10000, 0, threads=2))
""",
    "is ended by SIGTERM": "os.kill(os.getpid(), signal.SIGTERM)",
    "is interrupted by Ctrl-C": """
threading.Thread(target=lambda: (time.sleep(.3), os.kill(os.getpid(), signal.SIGINT))).start()
list(BatchRunner("x", [pool], 2).run([[WAIT, 1]] * 10000, 0, threads=2))
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
def test_workers_end_with_their_parent_however_it_ends(tmp_path: Path, ending: str) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT + ENDINGS[ending], encoding="utf-8")
    path = os.pathsep.join(sys.path)
    parent = subprocess.run(
        [sys.executable, script, tmp_path],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    processes = [int(number) for number in parent.stdout.split()]

    assert len(processes) == 2, parent.stderr
    wait_until(lambda: not any(map(is_running, processes)))
    codes = {"returns": 0, "raises": 3, "is ended by SIGTERM": -signal.SIGTERM}
    codes["is interrupted by Ctrl-C"] = -signal.SIGINT
    assert parent.returncode == codes.get(ending, -signal.SIGKILL), parent.stderr


@pytest.mark.slow
def test_workers_end_though_a_process_forked_from_their_parent_lives_on(tmp_path: Path) -> None:
    fork = """
if os.fork() == 0:
    os.close(1), os.close(2)
    time.sleep(30)
    os._exit(0)
os.kill(os.getpid(), signal.SIGKILL)
"""
    script = tmp_path / "parent.py"
    script.write_text(PARENT + fork, encoding="utf-8")
    parent = subprocess.run(
        [sys.executable, script, tmp_path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    processes = [int(number) for number in parent.stdout.split()]
    assert len(processes) == 2
    wait_until(lambda: not any(map(is_running, processes)))


@pytest.mark.slow
def test_a_forked_process_is_told_to_build_a_pool_of_its_own(tmp_path: Path) -> None:
    fork = """
if os.fork() == 0:
    try:
        pool.start(2)
    except Exception as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
"""
    script = tmp_path / "parent.py"
    script.write_text(PARENT + fork, encoding="utf-8")
    parent = subprocess.run(
        [sys.executable, script, tmp_path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    )
    assert "build the embedder after the fork" in parent.stdout


@pytest.mark.slow
def test_a_process_that_may_have_no_children_can_have_workers(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        """
import functools, multiprocessing, sys
from worker_engines import TokenEngine
from chunk_assets.embedding.batch_runner import BatchRunner
from chunk_assets.embedding.worker_pool import Place, WorkerPool

def work(folder):
    pool = WorkerPool([Place(functools.partial(TokenEngine, folder), "cpu")] * 2)
    [(_, rows)] = BatchRunner("x", [pool]).run([[3, 4]], 0, threads=2)
    print(int(rows[0, 0]), *pool.processes, flush=True)

if __name__ == "__main__":
    child = multiprocessing.get_context("spawn").Process(
        target=work, args=(sys.argv[1],), daemon=True
    )
    child.start()
    child.join()
""",
        encoding="utf-8",
    )
    parent = subprocess.run(
        [sys.executable, script, tmp_path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    )
    total, *processes = map(int, parent.stdout.split())
    assert total == 7
    assert len(processes) == 2
    wait_until(lambda: not any(map(is_running, processes)))

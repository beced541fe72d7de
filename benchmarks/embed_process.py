"""A contender in a process of its own, which embeds when it is told to.

As a program it reads a JSON line per order and answers with one.
"""

import contextlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import numpy as np

from benchmarks.embed_contenders import open_contender

ROOT = Path(__file__).parent.parent


class ContenderError(Exception):
    """A contender that could not run, with what it said last."""


@dataclass(frozen=True, slots=True)
class Timing:
    """One order."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    """The most memory the process has had so far, in 10^6 bytes."""


class Contender:
    """The process. Between its orders it does nothing, so that they can be interleaved."""

    def __init__(self, python: str, name: str, model: Path, onnx: Path, log: Path) -> None:
        self._log = log
        with log.open("w", encoding="utf-8") as errors:
            self._process = subprocess.Popen(
                [python, "-m", "benchmarks.embed_process", name, str(model), str(onnx)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=ROOT,
                env={**os.environ, "HF_HUB_OFFLINE": "1"},
            )
        self._orders = cast(IO[str], self._process.stdin)
        self._answers = cast(IO[str], self._process.stdout)

    def embed(self, texts: Sequence[str], vectors: Path) -> Timing:
        """Embed texts and write their vectors into a file.

        Raises:
            ContenderError: if the process ended.
        """
        order = json.dumps({"texts": list(texts), "vectors": str(vectors)})
        with contextlib.suppress(BrokenPipeError):
            print(order, file=self._orders, flush=True)
        answer = self._answers.readline()
        if not answer:
            last = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise ContenderError(last[-1] if last else f"exit code {self._process.wait()}")
        return Timing(**json.loads(answer))

    def close(self) -> None:
        """End the process."""
        self._orders.close()
        self._answers.close()
        self._process.wait()


def main() -> None:
    """Serve orders from standard input until it ends."""
    name, model, onnx = sys.argv[1:]
    embed = open_contender(name, model, onnx)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever a library prints
    for line in sys.stdin:
        order = json.loads(line)
        wall, cpu = time.perf_counter(), time.process_time()
        vectors = embed(order["texts"])
        timing = {
            "wall_s": time.perf_counter() - wall,
            "cpu_s": time.process_time() - cpu,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
        }
        np.save(order["vectors"], vectors)
        print(json.dumps(timing), file=answers, flush=True)


if __name__ == "__main__":
    main()

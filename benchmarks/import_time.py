"""Cold start: what a new process waits for before it does anything.

python -m benchmarks.import_time                # everything, into results/
python -m benchmarks.import_time --rounds 3     # a try-out: prints only
"""

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.import_time_report import Dear, FirstVector, Measured, ratio, report
from benchmarks.import_tree import foreign, own_time_us, parse

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
ROUNDS = 9

FLOOR, DEFINITIONS = "import dagster", "import chunk_assets.definitions"
STATEMENTS = (FLOOR, DEFINITIONS, "import chunk_assets.cli", "import chunk_assets.config")
OURS = ("chunk_assets", "resources", "partitions", "dbt_like_sql")
OWN_MODULES = "(this project's own modules)"
DEAREST = 10

MODELS = {
    "torch": {"backend": "torch"},
    "openvino": {"backend": "openvino"},
    "static": {"backend": "static", "model": "package:wordllama"},
}
"""The local backends; one that this machine lacks is skipped, with the reason."""

_TIMED = """
import time
started = time.perf_counter(), time.process_time()
{statement}
print(time.perf_counter() - started[0], time.process_time() - started[1])
"""
_EMBED = """
import json, sys
from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.registry import build_embedder
config = EmbedderConfig.model_validate(json.loads(sys.argv[1]))
build_embedder("measured", config).embed_queries(["Where does the time go?"])
"""


def main(
    rounds: Annotated[int, typer.Option(min=1, help="How often everything is measured.")] = ROUNDS,
) -> None:
    """Print the medians; a run with the default rounds is also written into results/."""
    load = os.getloadavg()[0]  # of others: this benchmark runs one process at a time
    imports = measure_imports(rounds)
    dear = dearest(rounds)
    vectors, skipped = measure_first_vectors(rounds)
    facts: dict[str, object] = {
        "rounds": rounds,
        "cores": os.cpu_count(),
        "load before": round(load, 1),
        "machine": platform.machine(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("dagster", "numpy", "pyarrow", "pydantic")},
    }
    page = report(imports, FLOOR, DEFINITIONS, dear, vectors, skipped, facts)
    print(page)
    if rounds != ROUNDS:
        return
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "import_time.md").write_text(f"{page}\n", encoding="utf-8")
    measured = {
        "facts": facts,
        "imports": [asdict(each) for each in imports],
        "definitions_to_dagster": ratio(imports, FLOOR, DEFINITIONS),
        "dearest": [asdict(each) for each in dear],
        "first_vector": [asdict(each) for each in vectors],
        "skipped": skipped,
    }
    (RESULTS / "import_time.json").write_text(
        f"{json.dumps(measured, indent=1, ensure_ascii=False)}\n", encoding="utf-8"
    )


def measure_imports(rounds: int) -> list[Measured]:
    """Seconds of each statement in a process of its own, one after the other, round by round."""
    wall: dict[str, list[float]] = defaultdict(list)
    cpu: dict[str, list[float]] = defaultdict(list)
    for number in range(rounds + 1):
        for statement in STATEMENTS:
            printed = _python("-c", _TIMED.format(statement=statement)).stdout.split()
            if number:  # the first round fills the disk's cache and compiles what is not compiled
                wall[statement].append(float(printed[-2]))
                cpu[statement].append(float(printed[-1]))
    return [Measured(each, tuple(wall[each]), tuple(cpu[each])) for each in STATEMENTS]


def dearest(rounds: int) -> list[Dear]:
    """What the definitions import, by subtree, the dearest first: medians over rounds."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for _ in range(rounds):
        imports = parse(_python("-X", "importtime", "-c", DEFINITIONS).stderr)
        found[OWN_MODULES, ""].append(own_time_us(imports, OURS))
        for each in foreign(imports, OURS):
            found[each.name, each.by or ""].append(each.subtree_us)
    rows = [Dear(name, by, statistics.median(us) / 1e6) for (name, by), us in found.items()]
    return sorted(rows, key=lambda row: row.seconds, reverse=True)[:DEAREST]


def measure_first_vectors(rounds: int) -> tuple[list[FirstVector], dict[str, str]]:
    """Wall seconds of a process from its start to its first vector, and why backends are left out.

    A first process, which may convert its model and keep the result, is told apart.
    """
    once: dict[str, float] = {}
    skipped: dict[str, str] = {}
    for name, config in MODELS.items():
        started = time.perf_counter()
        ended = _python("-c", _EMBED, json.dumps(config), check=False)
        once[name] = time.perf_counter() - started
        if ended.returncode:
            skipped[name] = ended.stderr.strip().splitlines()[-1]
    there = [name for name in MODELS if name not in skipped]
    later: dict[str, list[float]] = defaultdict(list)
    cpu: dict[str, list[float]] = defaultdict(list)
    for _ in range(rounds):
        for name in there:
            started, started_cpu = time.perf_counter(), _children_cpu_s()
            _python("-c", _EMBED, json.dumps(MODELS[name]))
            later[name].append(time.perf_counter() - started)
            cpu[name].append(_children_cpu_s() - started_cpu)
    vectors = [
        FirstVector(name, once[name], tuple(later[name]), tuple(cpu[name])) for name in there
    ]
    return vectors, skipped


def _children_cpu_s() -> float:
    """CPU seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _python(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    command: Sequence[str] = [sys.executable, *arguments]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"CHUNK_ASSETS_CONFIG": str(ROOT / "chunk_assets.yaml")},
        capture_output=True,
        text=True,
        check=check,
    )


if __name__ == "__main__":
    typer.run(main)

"""Chroma's chunking evaluation: our strategies beside the published table.

python -m benchmarks.chroma                               # everything, into results/
python -m benchmarks.chroma --corpus state_of_the_union   # a try-out: prints only
python -m benchmarks.chroma --precision-omega             # what needs no model
"""

import json
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.progress import Progress, TaskID, TimeElapsedColumn

from benchmarks.chroma_data import CORPORA, DataMissingError, data_folder, load
from benchmarks.chroma_report import full_report, precision_omega_report
from benchmarks.chroma_run import STRATEGIES, Tell, run_strategy
from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.registry import build_embedder, describe
from chunk_assets.retrieval.config import RetrievalConfig

RESULTS = Path(__file__).parent / "results"
CACHE = Path(".chunk_assets/bench")


def main(
    corpus: Annotated[
        list[str] | None, typer.Option(help=f"Only these corpora ({', '.join(CORPORA)}).")
    ] = None,
    strategy: Annotated[
        list[str] | None, typer.Option(help=f"Only these strategies ({', '.join(STRATEGIES)}).")
    ] = None,
    mode: Annotated[
        Literal["dense", "sparse", "hybrid"],
        typer.Option(help="How chunks are searched; the published tables are dense."),
    ] = "dense",
    precision_omega: Annotated[
        bool, typer.Option("--precision-omega", help="Only what needs no model.")
    ] = False,
) -> None:
    """Print our table beside the published one; a full run is also written into results/."""
    corpora = tuple(corpus or CORPORA)
    unknown = [name for name in corpora if name not in CORPORA]
    unknown += [name for name in strategy or () if name not in STRATEGIES]
    if unknown:
        raise typer.BadParameter(f"unknown: {', '.join(unknown)}; see --help")
    try:
        data = load(data_folder(), corpora)
        if precision_omega:
            print(precision_omega_report(data))
            return
    except (DataMissingError, ImportError) as missing:
        print(f"Skipped: {missing}", file=sys.stderr)
        return
    config = EmbedderConfig()
    embedder, choice = build_embedder("minilm", config), describe(config)
    with _progress() as tell:
        results = [
            run_strategy(name, data, embedder, RetrievalConfig(mode=mode), CACHE, tell)
            for name in strategy or STRATEGIES
        ]
    facts: dict[str, object] = {
        "questions": len(data.queries),
        "corpora": list(corpora),
        "search": mode,
        "backend": f"{choice.backend} {choice.device} {choice.precision}",
        "embedder": embedder.fingerprint,
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "torch": version("torch"),
        "qdrant-edge": version("qdrant-edge-py"),
    }
    report = full_report(results, facts, complete=set(corpora) == set(CORPORA))
    print(report)
    if corpus or strategy or mode != "dense":
        return
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "chroma.md").write_text(f"{report}\n", encoding="utf-8")
    measured = {"facts": facts, "results": [asdict(result) for result in results]}
    (RESULTS / "chroma.json").write_text(
        f"{json.dumps(measured, indent=1, ensure_ascii=False)}\n", encoding="utf-8"
    )


@contextmanager
def _progress() -> Iterator[Tell]:
    columns = (*Progress.get_default_columns(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        tasks: dict[str, TaskID] = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what)
            # Nothing to do is done.
            progress.update(tasks[what], completed=done if total else 1, total=total or 1)

        yield tell


if __name__ == "__main__":
    typer.run(main)

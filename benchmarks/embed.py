"""Embedding beside sentence-transformers and fastembed: same texts, same weights, same cores.

python -m benchmarks.embed                                # everything, into results/
python -m benchmarks.embed --texts 200 --rounds 1         # a try-out: prints only
"""

import json
import os
import platform
import sys
import tempfile
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn

from benchmarks.embed_contenders import CONTENDERS, DEFAULT, FASTEMBED, OURS, WANT_ONNX
from benchmarks.embed_gemm import gemm_flops_per_second
from benchmarks.embed_onnx import export_onnx
from benchmarks.embed_process import Contender, ContenderError, Timing
from benchmarks.embed_profile import profile
from benchmarks.embed_report import Round, likeness, report
from benchmarks.embed_reuse import run_bakeoff
from benchmarks.embed_shapes import MINILM
from benchmarks.embed_texts import DataMissingError, data_folder, sample_chunks
from chunk_assets.embedding.config import DEFAULT_MODEL, EmbedderConfig
from chunk_assets.embedding.hardware import available_cores
from chunk_assets.embedding.huggingface_tokenizer import HuggingFaceTokenizer, tokenizer_file
from chunk_assets.embedding.model_files import locate_model
from chunk_assets.embedding.registry import describe

RESULTS = Path(__file__).parent / "results"
WORK = Path(".chunk_assets/bench").absolute()
FASTEMBED_PYTHON = WORK / "fastembed" / "bin" / "python"
ALL_TEXTS = 4000
_WARM_UP_TEXTS = 64
_PROFILED_TEXTS = 500


def main(
    texts: Annotated[int, typer.Option(help="How many chunks.")] = ALL_TEXTS,
    rounds: Annotated[int, typer.Option(help="In how many shares they are embedded.")] = 5,
    contender: Annotated[
        list[str] | None, typer.Option(help=f"Only these ({'; '.join(CONTENDERS)}).")
    ] = None,
    bakeoff: Annotated[bool, typer.Option(help="Count the tokens of a bakeoff as well.")] = True,
) -> None:
    """Print the table; a full run is also written into results/."""
    names = list(contender or CONTENDERS)
    unknown = [name for name in names if name not in CONTENDERS]
    if unknown:
        raise typer.BadParameter(f"unknown: {', '.join(unknown)}; see --help")
    names += [name for name in (OURS, DEFAULT) if name not in names]
    try:
        data = data_folder()
    except DataMissingError as missing:
        print(f"Skipped: {missing}", file=sys.stderr)
        return
    chunks = sample_chunks(data, texts)
    model = locate_model(DEFAULT_MODEL)
    onnx = WORK / "minilm-onnx"
    if set(names) & set(WANT_ONNX):
        export_onnx(model, onnx)
    tokenizer = HuggingFaceTokenizer(tokenizer_file(model), DEFAULT_MODEL)
    lengths = list(map(len, tokenizer.model_inputs(chunks)))
    skipped: dict[str, str] = {}
    if not FASTEMBED_PYTHON.is_file():
        skipped |= dict.fromkeys(FASTEMBED, f"there is no {FASTEMBED_PYTHON}: make bench-embed")
        names = [name for name in names if name not in FASTEMBED]
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        processes = _start(names, model, onnx, chunks[:_WARM_UP_TEXTS], work, skipped)
        done, vectors = _embed(processes, chunks, lengths, rounds, work)
        for process in processes.values():
            process.close()
        alike = {name: likeness(rows, vectors[DEFAULT]) for name, rows in vectors.items()}
        steps = run_bakeoff(data / "anthropic_docs" / "docs", work / "bakeoff") if bakeoff else []
    facts: dict[str, object] = {
        "texts": len(chunks),
        "tokens": sum(lengths),
        "tokens per text": f"mean {np.mean(lengths):.0f}, 5 % {np.percentile(lengths, 5):.0f}, "
        f"95 % {np.percentile(lengths, 95):.0f}",
        "FLOP per token": f"{MINILM.flops(lengths) / sum(lengths) / 1e6:.1f} million",
        "cores": available_cores(),
        "machine": platform.machine(),
        OURS: str(describe(EmbedderConfig())),
    }
    facts |= {name: version(name) for name in ("openvino", "torch", "sentence-transformers")}
    page = report(done, alike, skipped, profile(chunks[:_PROFILED_TEXTS], model), steps, facts)
    print(page)
    if texts == ALL_TEXTS and contender is None and bakeoff:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "embed.md").write_text(page + "\n", encoding="utf-8")
        kept = {
            "facts": facts,
            "rounds": [asdict(each) for each in done],
            "likeness": {name: asdict(each) for name, each in alike.items()},
            "not_run": skipped,
            "bakeoff": [asdict(each) for each in steps],
        }
        (RESULTS / "embed.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def _start(
    names: list[str],
    model: Path,
    onnx: Path,
    warm_up: list[str],
    work: Path,
    skipped: dict[str, str],
) -> dict[str, Contender]:
    """Processes that have their models loaded."""
    processes: dict[str, Contender] = {}
    for name in names:
        python = str(FASTEMBED_PYTHON) if name in FASTEMBED else sys.executable
        process = Contender(python, name, model, onnx, work / "log.txt")
        try:
            process.embed(warm_up, work / "warm-up.npy")
        except ContenderError as error:
            process.close()
            skipped[name] = str(error)
        else:
            processes[name] = process
    return processes


def _embed(
    processes: dict[str, Contender],
    chunks: list[str],
    lengths: list[int],
    rounds: int,
    work: Path,
) -> tuple[list[Round], dict[str, np.ndarray]]:
    done: list[Round] = []
    parts: dict[str, list[np.ndarray]] = {name: [] for name in processes}
    names = list(processes)
    with Progress(
        *Progress.get_default_columns(), TimeElapsedColumn(), console=Console(stderr=True)
    ) as progress:
        task = progress.add_task("embedding", total=rounds * len(names))
        for number in range(rounds):
            share = slice(number * len(chunks) // rounds, (number + 1) * len(chunks) // rounds)
            peaks = {each: gemm_flops_per_second(each) for each in ("bfloat16", "float32")}
            timings: dict[str, Timing] = {}
            # Another one begins each round: whoever comes first meets a cooler machine.
            for name in names[number % len(names) :] + names[: number % len(names)]:
                timings[name] = processes[name].embed(chunks[share], work / "vectors.npy")
                parts[name].append(np.load(work / "vectors.npy"))
                progress.advance(task)
            done.append(
                Round(
                    tokens=sum(lengths[share]),
                    flops=MINILM.flops(lengths[share]),
                    gemm_flops_per_s=peaks,
                    timings={name: timings[name] for name in names},
                )
            )
    return done, {name: np.vstack(rows) for name, rows in parts.items()}


if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    typer.run(main)

"""Embedding on one GPU beside sentence-transformers and the limits of the device.

    python -m benchmarks.embed_gpu                                  # on this machine's GPU
    python -m benchmarks.embed_gpu --device cpu --tiny --seconds 5  # a try-out: prints only

It needs no network and is meant to take about four minutes on a fast GPU. Texts are docstrings of
installed packages; all-MiniLM-L6-v2 comes from its package, and a BERT-base shape gets random
weights. The result goes to the folder that `OUT` names, else, on a GPU, into results/.

On a GPU machine that is lent for minutes, has no network and none of this project installed:

1. It must have Python 3.11 or newer with torch built for CUDA, sentence-transformers, typer,
   filelock and numpy. What it lacks of pydantic travels as wheels for its Python, a few MB:
   `pip download --no-deps --only-binary=:all: --python-version 3.12 --platform
   manylinux_2_17_x86_64 -d wheels pydantic==… pydantic-core==… annotated-types typing-inspection`
   (versions as in constraints.txt).
2. Where the model's package is missing or too large to carry (87 MB), write a copy of half the
   size here and carry that: `python -m benchmarks.embed_gpu --pack carried`. Its weights are
   rounded to bfloat16, so that run's float32 reference is the float32 of rounded weights.
3. There, in a copy of this repository, as one command of at most ten minutes:
   `python3 -m pip install --no-index --no-deps --target site wheels/*.whl && PYTHONPATH=site
   OUT=… python3 -m benchmarks.embed_gpu --model carried`. If time is short, `--seconds 60` and
   `--no-compile` halve it.
"""

import hashlib
import json
import os
import platform
import sys
import tempfile
import time
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.embed_gpu_texts import CHARACTERS, docstrings, sample_texts
from benchmarks.embed_shapes import (
    BERT_BASE,
    TINY,
    TINY_BASE,
    write_half_size_copy,
    write_random_model,
)
from chunk_assets.embedding.config import DEFAULT_MODEL, EmbedderConfig
from chunk_assets.embedding.hardware import resolve_device, resolve_precision, visible_gpus
from chunk_assets.embedding.huggingface_tokenizer import HuggingFaceTokenizer, tokenizer_file
from chunk_assets.embedding.model_files import locate_model

RESULTS = Path(__file__).parent / "results"
MOST_TOKENS = 254


def main(
    device: Annotated[str, typer.Option(help="`auto`, `cuda`, `cuda:N` or `cpu`.")] = "auto",
    seconds: Annotated[
        float, typer.Option(help="About how long all rounds together take; loading comes on top.")
    ] = 100.0,
    texts: Annotated[int, typer.Option(help="How many texts are embedded in every pass.")] = 8000,
    rounds: Annotated[int, typer.Option(help="Interleaved rounds.")] = 5,
    workers: Annotated[
        int | None, typer.Option(help="Also with so many processes; default: one per GPU.")
    ] = None,
    compiled: Annotated[
        bool | None,
        typer.Option(
            "--compile/--no-compile", help="Also compiled; default: the small model on CUDA."
        ),
    ] = None,
    tiny: Annotated[bool, typer.Option(help="Models of a few kilobytes, few texts.")] = False,
    model: Annotated[
        Path | None, typer.Option(help="A folder instead of the package of all-MiniLM-L6-v2.")
    ] = None,
    pack: Annotated[
        Path | None, typer.Option(help="Only write a copy of the model of half the size there.")
    ] = None,
) -> None:
    """Print the tables; write them where `OUT` says, or into results/ after a full run on CUDA."""
    source = model or locate_model(DEFAULT_MODEL)
    if pack is not None:
        print(write_half_size_copy(pack, source))
        return
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    began = time.perf_counter()
    config = EmbedderConfig(backend="torch", device=device)
    chosen, _ = resolve_device(config)
    chosen = "cuda:0" if chosen == "cuda" else chosen
    is_cuda = chosen.startswith("cuda")

    import torch
    from transformers.utils import logging

    from benchmarks.embed_gpu_peaks import copy_bandwidth, gemm_flops
    from benchmarks.embed_gpu_report import report
    from benchmarks.embed_gpu_run import ModelResult, Settings, run_model

    def tell(what: str) -> None:
        print(f"{time.perf_counter() - began:6.1f} s  {what}", file=sys.stderr, flush=True)

    settings = Settings(
        device=chosen,
        precision=resolve_precision(config)[0],
        seconds=seconds / 2,
        rounds=rounds,
        compiled=bool(compiled),
        workers=len(visible_gpus()) if workers is None and is_cuda else workers or 1,
        reference_texts=64 if tiny else 2000,
    )
    if is_cuda:
        torch.cuda.set_device(chosen)
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    tell("making texts")
    tokenizer = HuggingFaceTokenizer(tokenizer_file(source), "minilm")
    pool = docstrings(characters=CHARACTERS // 20 if tiny else CHARACTERS)
    passages = sample_texts(pool, min(texts, 64) if tiny else texts, tokenizer, MOST_TOKENS)
    tell("measuring the limits of the device")
    large = {"size": 8192, "bytes": 2**31} if is_cuda else {"size": 512, "bytes": 2**25}
    peak = gemm_flops(chosen, getattr(torch, settings.precision), large["size"], seconds / 60)
    bandwidth = copy_bandwidth(chosen, large["bytes"], seconds / 60)
    with tempfile.TemporaryDirectory() as folder:
        tell("writing models")
        small, base = (TINY, TINY_BASE) if tiny else (None, BERT_BASE)
        models = {
            "tiny" if small else "all-MiniLM-L6-v2": write_random_model(
                Path(folder) / "small", source, small
            )
            if small
            else source,
            "tiny base" if tiny else "BERT-base shape, random weights": write_random_model(
                Path(folder) / "base", source, base
            ),
        }
        results: list[ModelResult] = []
        for name, at in models.items():
            # Compiling both would take most of the time.
            first = not results and is_cuda and compiled is None
            own = replace(settings, compiled=settings.compiled or first)
            results.append(run_model(name, at, passages, own, tell))
    facts = _facts(settings.precision, chosen, passages)
    facts["seconds of the whole run"] = round(time.perf_counter() - began, 1)
    page = report(results, facts, peak, bandwidth)
    print(page)
    out = os.environ.get("OUT")
    if out is None and (tiny or not is_cuda):
        return
    place = Path(out) if out else RESULTS
    place.mkdir(parents=True, exist_ok=True)
    (place / "embed_gpu.md").write_text(f"{page}\n", encoding="utf-8")
    measured = {
        "facts": facts,
        "gemm_flops_per_second": peak,
        "copy_bytes_per_second": bandwidth,
        "models": [asdict(result) for result in results],
    }
    (place / "embed_gpu.json").write_text(
        f"{json.dumps(measured, indent=1, ensure_ascii=False)}\n", encoding="utf-8"
    )


def _facts(precision: str, device: str, passages: list[str]) -> dict[str, Any]:
    import torch

    digest = hashlib.sha256("\n\n".join(passages).encode(errors="replace")).hexdigest()
    facts: dict[str, Any] = {"device": device, "precision": precision}
    if device.startswith("cuda"):
        properties = torch.cuda.get_device_properties(device)
        facts["GPU"] = properties.name
        facts["GPU memory, GiB"] = round(properties.total_memory / 2**30, 1)
        facts["CUDA"] = torch.version.cuda
    facts["cores"] = os.cpu_count()
    facts["machine"] = platform.machine()
    facts["Python"] = platform.python_version()
    for package in ("torch", "transformers", "sentence-transformers", "tokenizers", "triton"):
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    return facts | {"texts": len(passages), "sha256 of the texts": digest}


if __name__ == "__main__":
    typer.run(main)

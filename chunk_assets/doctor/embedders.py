"""The embedders of a configuration: what runs them, and whether all is there."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from chunk_assets.doctor.finding import Finding
from chunk_assets.doctor.probe import measure_speed, try_out
from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.embedder import Embedder
from chunk_assets.embedding.hardware import has_cuda
from chunk_assets.embedding.model_files import folder_at_hand, read_model_files
from chunk_assets.embedding.openvino_model import refusal
from chunk_assets.embedding.registry import build_embedder, describe
from chunk_assets.embedding.static_files import WORDLLAMA, locate_static_files

SPEED_S = 3.0
"""How long the speed of a model is measured, in seconds."""

_WEIGHTS = (".safetensors", ".bin")
# Float32 adds up in another order from one call to the next; more is another model.
_SAME = 1e-3


def embedder_findings(
    name: str, config: EmbedderConfig, *, embed: bool, tell: Callable[[str], None]
) -> Iterator[Finding]:
    """What runs a model, where its files are, its identity, and with `embed` a trial.

    Args:
        name: the key under `embedders:`.
        config: its settings, with paths resolved.
        embed: load the model and embed.
        tell: told what takes long, before it begins.
    """
    group = f"Embedder {name}"
    choice = describe(config)
    missing = choice.device.startswith("cuda") and not has_cuda()
    parts = (choice.backend, choice.device, choice.precision)
    yield Finding(
        group,
        "runs on",
        "problem" if missing else "ok",
        "\n".join([" · ".join(filter(None, parts)), *choice.reasons]),
        "No CUDA device can be used here: set device: auto, or install a GPU and a torch that is "
        "built for it."
        if missing
        else "",
        facts={
            "backend": choice.backend,
            "device": choice.device,
            "precision": choice.precision,
            "reasons": [*choice.reasons],
        },
    )
    files = _files(group, config)
    if files is not None:
        yield files
        if files.level != "ok":
            return
    if choice.backend == "openvino":
        yield from _refused(group, config)
    embedder = build_embedder(name, config)
    yield Finding(group, "fingerprint", "ok", embedder.fingerprint)
    yield Finding(
        group,
        "vectors",
        "ok",
        f"{embedder.dimension} components, texts of at most {embedder.max_tokens:,} tokens",
        facts={"dimension": embedder.dimension, "max_tokens": embedder.max_tokens},
    )
    if embed:
        yield from _trial(group, embedder, is_remote=config.remote is not None, tell=tell)


def _refused(group: str, config: EmbedderConfig) -> Iterator[Finding]:
    """What an earlier conversion found out."""
    folder = folder_at_hand(config.model, config.revision)
    reason = None if folder is None else refusal(read_model_files(config.model, folder))
    if reason is not None:
        yield Finding(
            group,
            "conversion",
            "warning" if config.backend == "auto" else "problem",
            f"OpenVINO cannot run this model: {reason}",
            "torch runs it with backend: auto or torch, more slowly.",
        )


def _files(group: str, config: EmbedderConfig) -> Finding | None:
    """Where the model's files are; None where it has none here."""
    if config.backend == "custom" or config.remote is not None:
        return None
    if config.model == WORDLLAMA:
        folder: Path | None = locate_static_files(WORDLLAMA).table_file.parent
    else:
        folder = folder_at_hand(config.model, config.revision)
    weights = _weights(folder) if folder is not None else []
    if folder is not None and weights:
        size = sum(path.stat().st_size for path in weights)
        return Finding(
            group,
            "model",
            "ok",
            f"{config.model}: {size / 1e6:,.0f} MB at {folder}",
            facts={"folder": str(folder), "weights_bytes": size},
        )
    is_local = config.model.startswith(("package:", ".", "/", "~"))
    if is_local and folder is None:
        # Whoever builds it says best what is wrong.
        return None
    if is_local or folder is not None:
        return Finding(
            group,
            "model",
            "problem",
            f"{config.model}: {folder} holds no weights",
            "fetch the model again, with its large files",
        )
    if os.environ.get("HF_HUB_OFFLINE", "0").upper() in ("1", "TRUE", "YES", "ON"):
        return Finding(
            group,
            "model",
            "problem",
            f"{config.model} is not in the Hugging Face cache, and HF_HUB_OFFLINE forbids to "
            "fetch it",
            "unset HF_HUB_OFFLINE, or copy the model to a folder and name that",
        )
    return Finding(
        group,
        "model",
        "warning",
        f"{config.model} is not in the Hugging Face cache",
        "nothing, where the hub can be reached: the first run downloads it",
    )


def _weights(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.suffix in _WEIGHTS and path.is_file()]


def _trial(
    group: str, embedder: Embedder, *, is_remote: bool, tell: Callable[[str], None]
) -> Iterator[Finding]:
    tell(f"{group}: loading the model and embedding three sentences")
    trial = try_out(embedder)
    yield Finding(
        group,
        "first vector",
        "ok",
        f"after {trial.first_vector_s:.2f} s in this process",
        facts={"seconds": trial.first_vector_s},
    )
    facts = {"largest_difference": trial.largest_difference}
    if trial.largest_difference > _SAME:
        yield Finding(
            group,
            "repeated",
            "problem",
            "the same texts gave other vectors: components differ by "
            f"{trial.largest_difference:.2g}",
            "pin the model's version; vectors of one store must come from one model",
            facts,
        )
    else:
        yield Finding(
            group,
            "repeated",
            "ok",
            "the same texts gave the same vectors"
            if trial.largest_difference == 0
            else f"components of the same texts differ by {trial.largest_difference:.2g}",
            facts=facts,
        )
    yield _meaning(group, trial.cosine_alike, trial.cosine_unlike)
    if is_remote:
        return  # every text costs
    tell(f"{group}: measuring its speed for {SPEED_S:.0f} s")
    speed = measure_speed(embedder, SPEED_S)
    yield Finding(
        group,
        "speed",
        "ok",
        f"{speed.tokens_per_s:,.0f} tokens a second over {speed.seconds:.1f} s",
        facts={"tokens_per_s": speed.tokens_per_s, "seconds": speed.seconds},
    )


def _meaning(group: str, alike: float, unlike: float) -> Finding:
    said = f"similar sentences have cosine {alike:.2f}, unlike ones {unlike:.2f}"
    facts = {"cosine_alike": alike, "cosine_unlike": unlike}
    if alike > unlike:
        return Finding(group, "meaning", "ok", said, facts=facts)
    return Finding(
        group,
        "meaning",
        "problem",
        said,
        "check that tokenizer, prompts and pooling are the model's own, and that it is meant for "
        "the language of your texts (the trial is in English)",
        facts,
    )

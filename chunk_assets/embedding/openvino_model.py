"""Models converted for OpenVINO, once for all processes of this machine."""

import json
import logging
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from filelock import FileLock

from chunk_assets.embedding.cache_folder import VARIABLE, cache_folder
from chunk_assets.embedding.fingerprint import file_sha256, model_identity
from chunk_assets.embedding.model_files import ModelFiles
from chunk_assets.errors import EmbeddingError
from chunk_assets.lineage.identity import fingerprint

MODEL_FILE = "model.xml"
REFUSED_FILE = "refused.txt"
_CHECKSUMS_FILE = "checksums.json"
_CONTENTS = ({MODEL_FILE, "model.bin"}, {REFUSED_FILE})
# Raised when a conversion would give another graph.
_CONVERSION_VERSION = 1
_CONVERTER = "chunk_assets.embedding.openvino_conversion"

_log = logging.getLogger(__name__)


def converted_model(files: ModelFiles) -> Path:
    """The file of the converted model; the first time it is converted, which takes some seconds.

    Raises:
        EmbeddingError: if it cannot be converted, or computes something else than the original.
    """
    folder = _folder(files)
    try:
        if not _is_whole(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{folder}.lock"):
                if not _is_whole(folder):  # no other process converted it meanwhile
                    _log.info("Converting model %s for OpenVINO, once", files.source)
                    if folder.exists():
                        shutil.rmtree(folder)
                    _convert(files, folder)
    except OSError as error:
        raise EmbeddingError(
            f"model {files.source!r} cannot be kept converted in {folder.parent}: "
            f"{error.strerror or error}. Make room there, name another folder in the environment "
            f"variable {VARIABLE}, or use backend: torch."
        ) from error
    reason = refusal(files)
    if reason is not None:
        raise EmbeddingError(
            f"model {files.source!r} cannot be run by OpenVINO: {reason}. Use backend: torch, or "
            f"auto. To try again after a change, delete {folder}."
        )
    return folder / MODEL_FILE


def refusal(files: ModelFiles) -> str | None:
    """Why OpenVINO cannot run a model, if a conversion has found that out; else None."""
    try:
        return (_folder(files) / REFUSED_FILE).read_text(encoding="utf-8").strip()
    except OSError:
        return None


def _folder(files: ModelFiles) -> Path:
    """Named by all that decides the graph, so nothing in it is ever out of date."""
    identity = fingerprint(
        "openvino_model",
        {
            "model": model_identity(files),
            "conversion": _CONVERSION_VERSION,
            "versions": {name: version(name) for name in ("openvino", "torch", "transformers")},
        },
    )
    return cache_folder() / "openvino" / identity[:32]


def _is_whole(folder: Path) -> bool:
    """Whether everything is there as it was written; a refusal is whole as well."""
    try:
        sums = json.loads((folder / _CHECKSUMS_FILE).read_text(encoding="utf-8"))
        whole = {*sums} in _CONTENTS
        return whole and all(file_sha256(name, folder / name) == sums[name] for name in sums)
    except (OSError, ValueError, TypeError, EmbeddingError):
        return False


def _convert(files: ModelFiles, folder: Path) -> None:
    """In a process of its own: the torch that this needs is not needed afterwards.

    What it leaves in its folder, a model or the reason why there is none, appears as a whole.
    """
    work = folder.with_suffix(".converting")
    if work.exists():
        shutil.rmtree(work)  # a killed one left it
    work.mkdir()
    try:
        task = json.dumps({"model": str(files.folder), "target": str(work)})
        done = subprocess.run(  # noqa: S603 - this Python, with a program of ours
            [sys.executable, "-m", _CONVERTER, task],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )
        if done.returncode != 0:
            last = done.stderr.strip().splitlines()[-1:] or ["nothing"]
            raise EmbeddingError(
                f"model {files.source!r}: its conversion for OpenVINO ended with exit code "
                f"{done.returncode} and said: {last[0]}. See that there is memory, and room in "
                f"{folder.parent}, and try again; or use backend: torch."
            )
        sums = {path.name: file_sha256(path.name, path) for path in work.iterdir()}
        (work / _CHECKSUMS_FILE).write_text(json.dumps(sums), encoding="utf-8")
        work.replace(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)

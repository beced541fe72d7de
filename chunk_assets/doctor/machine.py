"""The machine: what limits a run, and what makes it fast."""

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from chunk_assets.doctor.finding import Finding
from chunk_assets.embedding.hardware import available_cores, visible_gpus
from chunk_assets.lineage.identity import Json

GROUP = "Machine"
MIB, GIB = 2**20, 2**30

# The default model with torch takes about 600 MiB; Dagster, tables and store as much again.
LITTLE_MEMORY = 2 * GIB
# A Delta commit and the engine's write-ahead log of 62 MiB must fit, or a run ends half way.
LITTLE_DISK, NO_DISK = 2 * GIB, 200 * MIB

_CPUINFO = Path("/proc/cpuinfo")
_MEMINFO = Path("/proc/meminfo")
_MEMORY_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
# The kernel's names, on x86 and on Arm, of what matrix products are made of.
_INSTRUCTIONS = {
    "avx2": "AVX2",
    "avx512f": "AVX-512",
    "avx_vnni": "AVX-VNNI",
    "avx512_vnni": "AVX512-VNNI",
    "avx512_bf16": "AVX512-BF16",
    "amx_tile": "AMX",
    "amx_bf16": "AMX-BF16",
    "amx_int8": "AMX-INT8",
    "asimd": "NEON",
    "sve": "SVE",
    "i8mm": "I8MM",
    "bf16": "BF16",
}


def machine_findings(folders: dict[str, Path]) -> Iterator[Finding]:
    """Processor, memory, disk and GPUs.

    Args:
        folders: where a run writes, by what it is; they need not exist yet.
    """
    yield Finding(
        GROUP,
        "system",
        "ok",
        f"{platform.system()} {platform.release()} on {platform.machine()}",
        facts={"system": platform.system(), "machine": platform.machine()},
    )
    yield _cores()
    yield _instructions(_CPUINFO)
    yield from memory(_MEMINFO, _MEMORY_LIMITS)
    for name, folder in {**folders, "temporary files": Path(tempfile.gettempdir())}.items():
        yield disk(name, folder)
    yield from _gpus()


def _cores() -> Finding:
    usable, there = available_cores(), os.cpu_count() or 1
    of = "" if usable == there else f" of {there}; affinity or a container's quota keeps the others"
    return Finding(GROUP, "cores", "ok", f"{usable}{of}", facts={"usable": usable, "there": there})


def _instructions(cpuinfo: Path) -> Finding:
    found = instructions(cpuinfo)
    if found is None:
        return Finding(GROUP, "instructions", "ok", "unknown: this system does not say")
    return Finding(
        GROUP,
        "instructions",
        "ok",
        ", ".join(found) or "none that speed up a model",
        facts={"instructions": [*found]},
    )


def instructions(cpuinfo: Path) -> list[str] | None:
    """The instruction sets that matter to a model; None where that cannot be told."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    flags = next(
        (
            line.partition(":")[2].split()
            for line in lines
            if line.startswith(("flags", "Features"))
        ),
        None,
    )
    return (
        None if flags is None else [name for flag, name in _INSTRUCTIONS.items() if flag in flags]
    )


def memory(meminfo: Path, limits: tuple[Path, ...]) -> Iterator[Finding]:
    """How much memory there is, and how much a container may take.

    Args:
        meminfo: the kernel's `/proc/meminfo`.
        limits: the files of a container's limit; the first that can be read counts.
    """
    total, available = (_meminfo(meminfo, key) for key in ("MemTotal", "MemAvailable"))
    limit = next((found for path in limits if (found := _limit(path)) is not None), None)
    if total is None or available is None:
        yield Finding(GROUP, "memory", "ok", "unknown: this system does not say")
        return
    most = total if limit is None else min(total, limit)
    said = f"{_gib(available)} free of {_gib(total)}"
    if limit is not None and limit < total:
        said += f"; this container may take {_gib(limit)}"
    facts = {"total_bytes": total, "available_bytes": available, "limit_bytes": limit}
    if min(most, available) < LITTLE_MEMORY:
        yield Finding(
            GROUP,
            "memory",
            "warning",
            said,
            f"a run with the default model wants {_gib(LITTLE_MEMORY)}: end other programs, raise "
            "the container's limit, or use a static model",
            facts,
        )
        return
    yield Finding(GROUP, "memory", "ok", said, facts=facts)


def disk(name: str, folder: Path) -> Finding:
    """How much room a folder has, or will have once it is made."""
    place = nearest_there(folder)
    free = shutil.disk_usage(place).free
    facts: dict[str, Json] = {"folder": str(folder), "free_bytes": free}
    said = f"{_gib(free)} free for {name} at {folder}"
    what = f"disk for {name}"
    if free < NO_DISK:
        return Finding(GROUP, what, "problem", said, "make room: a run would stop half way", facts)
    if free < LITTLE_DISK:
        return Finding(GROUP, what, "warning", said, "make room before a large corpus", facts)
    return Finding(GROUP, what, "ok", said, facts=facts)


def nearest_there(folder: Path) -> Path:
    """The folder itself, or the nearest one above it that exists."""
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    return place


def _gpus() -> Iterator[Finding]:
    gpus = visible_gpus()
    if not gpus:
        yield Finding(GROUP, "GPUs", "ok", "none that CUDA could use", facts={"gpus": []})
        return
    memory_mib = _gpu_memory()
    described = [
        f"{gpu.name}{f', {memory_mib[gpu.visible_as]}' if gpu.visible_as in memory_mib else ''}"
        for gpu in gpus
    ]
    facts = {"gpus": [*described]}
    yield Finding(GROUP, "GPUs", "ok", "; ".join(described), facts=facts)
    yield _torch_uses_them()


def _gpu_memory() -> dict[str, str]:
    """Memory by number, as the driver's own tool says."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return {}
    try:
        printed = subprocess.run(  # noqa: S603 - the driver's own tool, fixed arguments
            [tool, "--query-gpu=index,memory.total", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=True,
            timeout=20,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(line.split(", ", 1) for line in printed.splitlines() if ", " in line)


def _torch_uses_them() -> Finding:
    """Only called where there is a GPU, since it imports torch."""
    name = "torch on GPUs"
    try:
        if version("torch").endswith("+cpu"):
            return Finding(
                GROUP,
                name,
                "warning",
                f"torch {version('torch')} was built without CUDA: models run on the processor",
                "install the torch of this platform's CUDA (pytorch.org/get-started)",
            )
    except PackageNotFoundError:
        return Finding(GROUP, name, "warning", "torch is not installed", "pip install torch")
    import torch

    if not torch.cuda.is_available():
        return Finding(
            GROUP,
            name,
            "warning",
            f"torch {torch.__version__} (CUDA {torch.version.cuda}) cannot use it: models run on "
            "the processor",
            "compare the driver's CUDA version (nvidia-smi) with torch's, and update the older",
        )
    return Finding(GROUP, name, "ok", f"torch {torch.__version__}, CUDA {torch.version.cuda}")


def _meminfo(path: Path, key: str) -> int | None:
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    return None


def _limit(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):  # no such file, or `max`
        return None


def _gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB"

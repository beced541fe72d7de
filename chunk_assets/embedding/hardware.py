"""What this machine offers, read without loading a numerical library."""

import os
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from chunk_assets.embedding.config import EmbedderConfig, Precision

_BFLOAT16_FLAGS = {"avx512_bf16": "AVX512-BF16", "amx_bf16": "AMX-BF16"}
_CPUINFO = Path("/proc/cpuinfo")
_CGROUP_LIMIT = Path("/sys/fs/cgroup/cpu.max")
_NVIDIA_GPUS = Path("/proc/driver/nvidia/gpus")
_DEVICES = Path("/dev")
_VISIBLE = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU of this machine that CUDA may use."""

    visible_as: str
    """What `CUDA_VISIBLE_DEVICES` must be for a process to see it alone."""
    name: str
    """`NVIDIA H200`, or `NVIDIA GPU` where the driver does not say."""


def available_cores() -> int:
    """Cores this process may use: its affinity, and a container's CPU quota, rounded up.

    More threads than cores is no small loss: spinning threads that wait for a descheduled one
    were measured to be up to fifty times slower.
    """
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux has it
        cores = os.cpu_count() or 1
    try:
        quota, period = _CGROUP_LIMIT.read_text(encoding="ascii").split()
        if quota != "max":
            cores = min(cores, -(-int(quota) // int(period)))
    except (OSError, ValueError):
        pass  # no such limit here
    return max(1, cores)


def cpu_bfloat16() -> str | None:
    """The instruction set with which this processor multiplies bfloat16; None without one."""
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    flags = next((line.split() for line in lines if line.startswith("flags")), [])
    return next((name for flag, name in _BFLOAT16_FLAGS.items() if flag in flags), None)


def has_cuda() -> bool:
    """Whether a CUDA device is visible and the installed torch was built for one."""
    try:
        if version("torch").endswith("+cpu"):
            return False
    except PackageNotFoundError:
        return False
    return bool(visible_gpus())


def visible_gpus() -> tuple[Gpu, ...]:
    """The NVIDIA GPUs that CUDA would find, in the order of `CUDA_VISIBLE_DEVICES`.

    Without that variable CUDA may number unequal GPUs in another order than the driver does; how
    many there are is sure, which of them has which name is not.
    """
    names = _gpu_names()
    visible = os.environ.get(_VISIBLE)
    if visible is None:
        return tuple(Gpu(str(number), name) for number, name in enumerate(names))
    gpus: list[Gpu] = []
    for entry in (entry.strip() for entry in visible.split(",")):
        if entry.isdecimal() and int(entry) < len(names):
            gpus.append(Gpu(entry, names[int(entry)]))
        elif names and entry.startswith(("GPU-", "MIG-")):
            gpus.append(Gpu(entry, names[0] if len(set(names)) == 1 else "NVIDIA GPU"))
        else:
            break  # CUDA reads no further either
    return tuple(gpus)


def _gpu_names() -> list[str]:
    """What the driver calls the GPUs whose device files are here."""
    try:
        present = {int(path.name.removeprefix("nvidia")) for path in _DEVICES.glob("nvidia[0-9]*")}
        described = sorted(_NVIDIA_GPUS.glob("*/information"))
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in described]
    except (OSError, ValueError):
        return []
    names: list[str] = []
    for text in texts:
        fields = dict(re.findall(r"^([^:\n]+):[ \t]*(.*?)[ \t]*$", text, re.MULTILINE))
        minor = fields.get("Device Minor", "")
        # A container lists all the GPUs of its host, but has the device files of its own.
        if not present or not minor.isdecimal() or int(minor) in present:
            names.append(fields.get("Model") or "NVIDIA GPU")
    return names or ["NVIDIA GPU"] * len(present)


def resolve_device(config: EmbedderConfig) -> tuple[str, str]:
    """The device to run on, and why."""
    if config.device != "auto":
        return config.device, "as configured"
    if has_cuda():
        return "cuda", "a CUDA device is visible"
    return "cpu", "no CUDA device is usable"


def resolve_precision(config: EmbedderConfig) -> tuple[Precision, str]:
    """The precision to compute in, and why."""
    if config.precision != "auto":
        return config.precision, "as configured"
    device, _ = resolve_device(config)
    if device != "cpu":
        return "bfloat16", f"{device} multiplies it fastest"
    instructions = cpu_bfloat16()
    if instructions is not None:
        return "bfloat16", f"the processor has {instructions}"
    return "float32", "the processor has neither AVX512-BF16 nor AMX-BF16"


def resolve_workers(config: EmbedderConfig) -> tuple[int, str]:
    """How many processes embed side by side, and why."""
    if config.workers is not None:
        return config.workers, "as configured"
    device, _ = resolve_device(config)
    if device == "cuda":
        return max(1, len(visible_gpus())), "one per visible GPU"
    return 1, f"one on {device}"

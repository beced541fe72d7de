"""What this machine offers, read without loading a numerical library."""

import os
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from chunk_assets.embedding.config import EmbedderConfig, Precision

_BFLOAT16_FLAGS = {"avx512_bf16": "AVX512-BF16", "amx_bf16": "AMX-BF16"}
_CPUINFO = Path("/proc/cpuinfo")
_CGROUP_LIMIT = Path("/sys/fs/cgroup/cpu.max")
_NVIDIA_GPUS = Path("/proc/driver/nvidia/gpus")


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
    if os.environ.get("CUDA_VISIBLE_DEVICES", "all").strip() in ("", "-1"):
        return False
    try:
        if version("torch").endswith("+cpu"):
            return False
    except PackageNotFoundError:
        return False
    return _NVIDIA_GPUS.is_dir() and any(_NVIDIA_GPUS.iterdir())


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

"""Environment variables: which are set, and which of them hurt."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from chunk_assets.doctor.finding import Finding

GROUP = "Environment"

_FOLDERS = ("DAGSTER_HOME", "HF_HOME", "HF_HUB_CACHE", "CHUNK_ASSETS_CACHE")
_PLAIN = ("HF_HUB_OFFLINE", "CUDA_VISIBLE_DEVICES", "TOKENIZERS_PARALLELISM")
_SECRET = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
"""Never shown: whether they are set is all that is told."""
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_PINNING = ("OMP_PROC_BIND", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")


def variable_findings(environment: Mapping[str, str], cores: int) -> Iterator[Finding]:
    """The variables that decide how a run goes; nothing is said of those that are not set.

    Args:
        environment: such as `os.environ`.
        cores: how many this process may use.
    """
    configured = environment.get("CHUNK_ASSETS_CONFIG")
    if configured is not None:
        yield Finding(GROUP, "CHUNK_ASSETS_CONFIG", "ok", configured)
    for name in _FOLDERS:
        if name in environment:
            yield _folder(name, environment[name])
    for name in _PLAIN:
        if name in environment:
            yield Finding(GROUP, name, "ok", environment[name])
    for name in _SECRET:
        if name in environment:
            yield Finding(GROUP, name, "ok", "set")
    for name in _THREADS:
        if name in environment:
            yield _threads(name, environment[name], cores)
    yield from _waiting(environment)


def _folder(name: str, value: str) -> Finding:
    folder = Path(value).expanduser()
    if name == "DAGSTER_HOME" and not folder.is_absolute():
        return Finding(
            GROUP,
            name,
            "problem",
            f"{value} is relative, which Dagster refuses",
            f"export DAGSTER_HOME={folder.absolute()}",
        )
    if folder.exists() and not (folder.is_dir() and os.access(folder, os.W_OK)):
        return Finding(
            GROUP,
            name,
            "problem",
            f"{value} is no folder that can be written",
            "name another folder, or correct its permissions",
        )
    return Finding(GROUP, name, "ok", value if folder.exists() else f"{value}, not there yet")


def _threads(name: str, value: str, cores: int) -> Finding:
    first = value.partition(",")[0].strip()  # OpenMP takes one number per level of nesting
    if not first.isdecimal() or int(first) < 1:
        return Finding(
            GROUP, name, "warning", f"{value!r} is no number of threads", f"unset {name}"
        )
    threads = int(first)
    if threads > cores:
        return Finding(
            GROUP,
            name,
            "warning",
            f"{threads} threads for {cores} cores: threads that wait for a core that another has "
            "make models many times slower",
            f"unset {name}, or set it to {cores} at most",
        )
    if threads < cores:
        return Finding(
            GROUP,
            name,
            "warning",
            f"{threads} of {cores} cores: numerical libraries leave the others idle",
            f"unset {name}, unless other programs need those cores",
        )
    return Finding(GROUP, name, "ok", value)


def _waiting(environment: Mapping[str, str]) -> Iterator[Finding]:
    policy = environment.get("OMP_WAIT_POLICY")
    if policy is not None and policy.lower() != "passive":
        yield Finding(
            GROUP,
            "OMP_WAIT_POLICY",
            "warning",
            f"{policy}: threads that spin while they wait take the cores from who else needs them",
            "unset OMP_WAIT_POLICY",
        )
    for name in _PINNING:
        if environment.get(name, "false").lower() not in ("false", "disabled", "none"):
            yield Finding(
                GROUP,
                name,
                "warning",
                f"{environment[name]}: processes side by side are pinned to the same cores",
                f"unset {name}, unless each process is given cores of its own",
            )

"""The packages that decide what runs."""

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from chunk_assets.doctor.finding import Finding

GROUP = "Versions"
PROJECT = "chunk-assets"
SHOWN = (
    PROJECT,
    "dagster",
    "torch",
    "openvino",
    "tokenizers",
    "qdrant-edge-py",
    "deltalake",
    "duckdb",
)


def version_findings() -> Iterator[Finding]:
    """Versions, and whether what this project requires is installed; imports none of them."""
    yield Finding(
        GROUP,
        "python",
        "ok",
        f"{platform.python_version()} ({platform.python_implementation()})",
        facts={"version": platform.python_version()},
    )
    for name in SHOWN:
        found = _version(name)
        yield Finding(GROUP, name, "ok", found or "not installed", facts={"version": found})
    yield from _requirements()


def _requirements() -> Iterator[Finding]:
    from packaging.requirements import Requirement

    needed = [Requirement(line) for line in requires(PROJECT) or ()]
    met = 0
    for requirement in needed:
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        found = _version(requirement.name)
        if found is not None and requirement.specifier.contains(found, prereleases=True):
            met += 1
            continue
        yield Finding(
            GROUP,
            requirement.name,
            "problem",
            f"{found or 'not installed'}; {PROJECT} needs {requirement}",
            f"pip install '{requirement}'",
        )
    yield Finding(
        GROUP,
        "requirements",
        "ok",
        f"{met} packages are as {PROJECT} needs them",
        facts={"met": met},
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None

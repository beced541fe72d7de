"""The whole examination, in the order in which it is shown."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from chunk_assets.config import CONFIG_ENVIRONMENT_VARIABLE, config_path
from chunk_assets.doctor.embedders import embedder_findings
from chunk_assets.doctor.finding import Finding, survive
from chunk_assets.doctor.machine import machine_findings
from chunk_assets.doctor.variables import variable_findings
from chunk_assets.doctor.versions import version_findings
from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.hardware import available_cores
from chunk_assets.errors import ChunkAssetsError

if TYPE_CHECKING:
    from resources.platform import Platform

CONFIGURATION = "Configuration"


def examine(named: Path | None, *, embed: bool, tell: Callable[[str], None]) -> Iterator[Finding]:
    """Everything that a run would need.

    Args:
        named: the configuration file that the user named; None: where it is usually found.
        embed: load every model and try it.
        tell: told what takes long, before it begins.
    """
    yield from survive("Versions", "versions", version_findings)
    configuration, platform = _configuration(named)
    folders = {"storage": Path(platform.local_folder)} if platform is not None else {}
    yield from survive("Machine", "machine", lambda: machine_findings(folders))
    yield from survive(
        "Environment",
        "environment",
        lambda: variable_findings(os.environ, available_cores()),
    )
    yield from configuration
    if platform is None:
        # What a new configuration would begin with.
        yield from _embedder("default", EmbedderConfig(), embed=embed, tell=tell)
        return
    from chunk_assets.doctor.platform_parts import (
        source_findings,
        storage_findings,
        unset_variables,
    )

    yield from survive(CONFIGURATION, "variables", lambda: unset_variables(platform, CONFIGURATION))
    are_well = True
    for name in platform.configuration.embedders:
        for finding in _embedder(name, platform.embedder_config(name), embed=embed, tell=tell):
            are_well = are_well and finding.level != "problem"
            yield finding
    if are_well:
        yield from survive(CONFIGURATION, "limits", lambda: _limits(platform))
    for corpus in platform.corpora.values():
        yield from source_findings(platform, corpus)
    yield from storage_findings(platform)


def _configuration(named: Path | None) -> tuple[list[Finding], "Platform | None"]:
    path = config_path(named)
    if not path.exists() and named is None and CONFIG_ENVIRONMENT_VARIABLE not in os.environ:
        return [
            Finding(
                CONFIGURATION,
                "file",
                "warning",
                f"there is none at {path}; the checks that need one are left out",
                "write one with `chunk-assets init DIR`, or name one with --config",
            )
        ], None
    from chunk_assets.config import load_configuration
    from resources.platform import Platform

    try:
        # Not `from_file`: a limit that is too high must not hide everything else.
        platform = Platform(load_configuration(path), path)
    except ChunkAssetsError as error:
        return [Finding(CONFIGURATION, "file", "problem", str(error))], None
    corpora, strategies = platform.corpora, platform.configuration.strategies
    return [
        Finding(
            CONFIGURATION,
            "file",
            "ok",
            f"{path}\ncorpora: {', '.join(corpora)}\nstrategies: {', '.join(strategies)}",
            facts={"file": str(path), "corpora": [*corpora], "strategies": [*strategies]},
        )
    ], platform


def _embedder(
    name: str, config: EmbedderConfig, *, embed: bool, tell: Callable[[str], None]
) -> Iterator[Finding]:
    yield from survive(
        f"Embedder {name}",
        "model",
        lambda: embedder_findings(name, config, embed=embed, tell=tell),
    )


def _limits(platform: "Platform") -> Iterator[Finding]:
    platform.check_limits(at_hand_only=True)
    yield Finding(
        CONFIGURATION, "limits", "ok", "every strategy fits the models that it is indexed with"
    )

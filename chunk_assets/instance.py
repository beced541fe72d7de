"""The Dagster instance that runs are recorded in."""

import os
import sys
from pathlib import Path

import dagster as dg

from chunk_assets.config import CONFIG_ENVIRONMENT_VARIABLE
from resources.platform import Platform

HOME = "DAGSTER_HOME"

SETTINGS = """\
# Written once by chunk-assets; yours to change.
telemetry:
  enabled: false
nux:
  enabled: false
"""


def dagster_home(platform: Platform) -> Path:
    """`$DAGSTER_HOME`, else a folder in the storage; created with its settings where missing."""
    home = Path(os.environ.get(HOME) or Path(platform.local_folder) / "dagster").absolute()
    home.mkdir(parents=True, exist_ok=True)
    settings = home / "dagster.yaml"
    if not settings.exists():
        settings.write_text(SETTINGS, encoding="utf-8")
    return home


def open_instance(platform: Platform) -> dg.DagsterInstance:
    """The instance that the UI shows as well."""
    home = dagster_home(platform)
    os.environ[HOME] = str(home)
    return dg.DagsterInstance.get()


def run_ui(platform: Platform, *, host: str, port: int) -> None:
    """Replace this process by `dagster dev` on the platform's configuration and instance.

    A `workspace.yaml` beside the configuration is used, else the shipped definitions.
    """
    os.environ[HOME] = str(dagster_home(platform))
    os.environ[CONFIG_ENVIRONMENT_VARIABLE] = str(platform.path)
    workspace = platform.path.parent / "workspace.yaml"
    loads = ["-w", str(workspace)] if workspace.exists() else ["-m", "chunk_assets.definitions"]
    command = [sys.executable, "-m", "dagster", "dev", *loads, "-h", host, "-p", str(port)]
    os.execv(sys.executable, command)  # noqa: S606 - fixed arguments, no shell

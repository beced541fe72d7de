"""The Dagster instance that runs are recorded in."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
from alembic.util.exc import CommandError
from filelock import FileLock
from sqlalchemy.exc import SQLAlchemyError

from chunk_assets.config import CONFIG_ENVIRONMENT_VARIABLE
from chunk_assets.errors import ChunkAssetsError
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


@contextmanager
def open_instance(platform: Platform) -> Iterator[dg.DagsterInstance]:
    """The instance that the UI shows as well.

    Raises:
        ChunkAssetsError: if its databases cannot be opened, read or written; the message names the
            folder.
    """
    home = dagster_home(platform)
    os.environ[HOME] = str(home)
    try:
        # Two processes that create Dagster's databases at once leave both their version stamps in
        # them, and nothing can open them ever after.
        with FileLock(home / "opening.lock"):
            instance = dg.DagsterInstance.get()
        with instance:
            yield instance
    except (CommandError, SQLAlchemyError) as error:
        raise ChunkAssetsError(
            f"Dagster's records in {home} cannot be used: {str(error).splitlines()[0]}. What was "
            "done is kept. If there is room on the disk and the folder is writable, they are "
            "damaged: delete that folder and run `chunk-assets apply`, which embeds nothing anew."
        ) from error


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

"""Fixtures that several packages of tests share."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from small_platform import SmallPlatform

# No test asserts time, and the first example of a test pays for imports.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Models are converted once for all workers, and never into the user's own cache."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    os.environ.setdefault("CHUNK_ASSETS_CACHE", str(shared / "cache"))


@pytest.fixture
def small(tmp_path: Path) -> Iterator["SmallPlatform"]:
    """An empty corpus of Markdown files with a counting embedder."""
    # Imported here, so that tests of the core load no Dagster.
    import dagster as dg
    from small_platform import SmallPlatform

    (tmp_path / "docs").mkdir()
    with dg.DagsterInstance.ephemeral() as instance:
        yield SmallPlatform(tmp_path, instance)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real corpora."""
    folder = os.environ.get("CHUNK_ASSETS_SHARED_DATA")
    if not folder:
        pytest.skip("CHUNK_ASSETS_SHARED_DATA is not set: no real corpora here")
    return Path(folder)

"""Lakes that the tests of the SQL models share."""

import shutil
from pathlib import Path

import pytest
from small_lake import SmallLake, whole_lake


@pytest.fixture
def lake(tmp_path: Path) -> SmallLake:
    """A corpus without rows."""
    return SmallLake(tmp_path)


@pytest.fixture(scope="session")
def whole_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The storage of a corpus without a fault; read it, do not change it."""
    folder = tmp_path_factory.mktemp("whole")
    whole_lake(folder)
    return folder


@pytest.fixture
def whole(whole_folder: Path) -> SmallLake:
    """A corpus without a fault; read it, do not change it."""
    return SmallLake(whole_folder)


@pytest.fixture
def spoiled(whole_folder: Path, tmp_path: Path) -> SmallLake:
    """A copy of a corpus without a fault, for planting one."""
    shutil.copytree(whole_folder, tmp_path / "copy")
    return SmallLake(tmp_path / "copy")

"""Where Dagster keeps its records."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from small_platform import SmallPlatform
from sqlalchemy.exc import OperationalError

from chunk_assets.errors import ChunkAssetsError
from chunk_assets.instance import dagster_home, open_instance


@pytest.fixture(autouse=True)
def _no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    # Set first, so that what a test sets is gone when it ends.
    monkeypatch.setenv("DAGSTER_HOME", "")
    monkeypatch.delenv("DAGSTER_HOME")


def test_without_a_home_the_records_lie_in_the_storage(small: SmallPlatform) -> None:
    home = dagster_home(small.platform())
    assert home == small.folder / ".chunk_assets" / "dagster"
    assert yaml.safe_load((home / "dagster.yaml").read_text())["telemetry"] == {"enabled": False}


def test_a_home_in_the_environment_is_used_and_its_settings_are_left_alone(
    small: SmallPlatform, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: true}\n")
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    assert dagster_home(small.platform()) == home
    assert (home / "dagster.yaml").read_text() == "telemetry: {enabled: true}\n"
    assert not (small.folder / ".chunk_assets").exists()


def test_the_instance_that_is_opened_lies_at_home(small: SmallPlatform) -> None:
    with open_instance(small.platform()) as instance:
        assert instance.root_directory == str(small.folder / ".chunk_assets" / "dagster")
        assert os.environ["DAGSTER_HOME"] == instance.root_directory


@pytest.mark.slow
def test_processes_that_open_a_new_instance_at_once_leave_it_usable(
    small: SmallPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.configure()
    opening = (
        "from pathlib import Path\n"
        "from chunk_assets.instance import open_instance\n"
        "from resources.platform import Platform\n"
        f"with open_instance(Platform.from_file(Path({str(small.config_file)!r}))):\n"
        "    pass\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent / "support"))
    processes = [subprocess.Popen([sys.executable, "-c", opening]) for _ in range(4)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0, 0]
    with open_instance(small.platform()) as instance:
        assert instance.get_runs_count() == 0


def test_damaged_records_are_named_with_the_remedy(small: SmallPlatform) -> None:
    with open_instance(small.platform()):
        pass
    home = dagster_home(small.platform())
    for database in home.rglob("*.db"):
        database.write_bytes(b"no database at all" * 100)
    with (
        pytest.raises(ChunkAssetsError, match="delete that folder") as caught,
        open_instance(small.platform()),
    ):
        pass
    assert str(home) in str(caught.value)


def test_records_that_cannot_be_written_are_told_without_a_traceback(small: SmallPlatform) -> None:
    full = OperationalError("insert", {}, sqlite3.OperationalError("disk is full"))
    with (
        pytest.raises(ChunkAssetsError, match=r"cannot be used: .*disk is full") as caught,
        open_instance(small.platform()),
    ):
        raise full
    assert "What was done is kept" in str(caught.value)

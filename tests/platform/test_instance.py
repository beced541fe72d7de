"""Where Dagster keeps its records."""

import os
from pathlib import Path

import pytest
import yaml
from small_platform import SmallPlatform

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

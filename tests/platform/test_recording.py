"""What was written counts only when its own checks have run."""

from dataclasses import replace

import pytest
from small_platform import SmallPlatform

from chunk_assets.assets.recording import CHECKED, accept
from chunk_assets.definitions_factory import build_definitions
from partitions.stages import STAGES, StagePartition
from resources.platform import Platform
from resources.run_log import Materialization

WORK = StagePartition("chunks", "b00|hierarchy")
WRITTEN = Materialization(
    stage=WORK.stage,
    partition=WORK.partition,
    run_id="1",
    data_version="version",
    inputs={"code": "1"},
    code_version="1",
    git_commit="",
    configuration={},
    counts={"chunks": 3},
    tokens=7,
    seconds=0.5,
    status="unchecked",
)


@pytest.fixture
def platform(small: SmallPlatform) -> Platform:
    return small.platform()


def status_of(platform: Platform) -> str:
    latest = platform.run_log.latest("guides", WORK)
    assert latest is not None
    return latest.status


def test_checks_that_have_run_accept_what_they_have_seen(platform: Platform) -> None:
    platform.run_log.record("guides", WRITTEN)
    accept(platform, platform.corpora["guides"], WORK, "1")
    assert platform.run_log.latest("guides", WORK) == replace(WRITTEN, status="ok")


def test_they_do_not_accept_what_another_run_has_written_meanwhile(platform: Platform) -> None:
    platform.run_log.record("guides", WRITTEN)
    platform.run_log.record("guides", replace(WRITTEN, run_id="2"))
    accept(platform, platform.corpora["guides"], WORK, "1")
    assert status_of(platform) == "unchecked"


def test_checks_of_another_run_accept_nothing(platform: Platform) -> None:
    platform.run_log.record("guides", WRITTEN)
    accept(platform, platform.corpora["guides"], WORK, "2")
    assert status_of(platform) == "unchecked"


def test_they_do_not_lift_a_refusal(platform: Platform) -> None:
    refused = replace(WRITTEN, status="check_failed")
    platform.run_log.record("guides", refused)
    accept(platform, platform.corpora["guides"], WORK, "1")
    assert status_of(platform) == "check_failed"


def test_the_stages_that_wait_for_checks_are_those_that_have_some(platform: Platform) -> None:
    keys = build_definitions(platform).resolve_asset_graph().asset_check_keys
    checked = {key.asset_key.path[1] for key in keys}
    assert checked & set(STAGES) == set(CHECKED)

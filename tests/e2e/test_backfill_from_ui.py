"""The UI's backfill button: Dagster's own web API, backfill daemon, queue and run processes."""

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import ModuleTarget
from dagster._daemon.backfill import execute_backfill_iteration
from dagster._daemon.run_coordinator.queued_run_coordinator_daemon import (
    QueuedRunCoordinatorDaemon,
)
from dagster_graphql.cli import execute_query
from small_platform import SmallPlatform, guide

from chunk_assets.instance import open_instance
from chunk_assets.selection import Selection
from chunk_assets.status import outlook

pytestmark = [
    pytest.mark.slow,
    # Dagster's web API calls functions of Dagster's that are deprecated.
    pytest.mark.filterwarnings("ignore::DeprecationWarning:dagster"),
]

REPOSITORY = Path(__file__).parents[2]
TIME_LIMIT_S = 120
LAUNCH = """
    mutation ($params: LaunchBackfillParams!) {
      launchPartitionBackfill(backfillParams: $params) {
        __typename
        ... on LaunchBackfillSuccess { backfillId }
        ... on PythonError { message }
      }
    }
"""


@dataclass
class Ui:
    """What answers the web page's requests, with the daemon's work done by hand."""

    small: SmallPlatform
    instance: dg.DagsterInstance
    context: WorkspaceProcessContext
    first_runs: Sequence[dict[str, Any]] = ()
    """Those that read and parsed the documents."""

    def backfill(self, stages: Sequence[str], partitions: Sequence[str]) -> list[dict[str, Any]]:
        """Launch one as the dialog does and wait for its end; its runs, by partition."""
        params = {
            "assetSelection": [{"path": ["guides", stage]} for stage in stages],
            "partitionNames": list(partitions),
        }
        answer = execute_query(self.context, LAUNCH, {"params": params})
        launched = answer["data"]["launchPartitionBackfill"]
        assert launched["__typename"] == "LaunchBackfillSuccess", launched
        return self._wait(launched["backfillId"])

    def _wait(self, backfill_id: str) -> list[dict[str, Any]]:
        queue = QueuedRunCoordinatorDaemon(interval_seconds=1)
        end = time.monotonic() + TIME_LIMIT_S
        while time.monotonic() < end:
            errors = [
                *execute_backfill_iteration(self.context, logging.getLogger("backfill")),
                *queue.run_iteration(self.context),
            ]
            assert not [error for error in errors if hasattr(error, "stack")], errors
            backfill = self.instance.get_backfill(backfill_id)
            assert backfill is not None
            if backfill.status.value.startswith("COMPLETED"):
                assert backfill.status.value == "COMPLETED_SUCCESS"
                return self._runs(backfill_id)
            time.sleep(0.5)
        raise AssertionError(f"the backfill did not end in {TIME_LIMIT_S} s")

    def _runs(self, backfill_id: str) -> list[dict[str, Any]]:
        tag = {"dagster/backfill": backfill_id}
        runs = self.instance.get_runs(filters=dg.RunsFilter(tags=tag))
        return sorted(
            (
                {
                    "partition": run.tags["dagster/partition"],
                    "stages": sorted(key.path[-1] for key in run.asset_selection or ()),
                    "success": run.is_success,
                }
                for run in runs
            ),
            key=lambda run: (run["partition"], run["stages"]),
        )

    def status(self) -> dict[str, tuple[str, ...]]:
        """What `chunk-assets status` lists."""
        found = outlook(self.small.platform(), self.instance, Selection()).out_of_date
        return {str(item.work): item.reasons for item in found}


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    """Two documents in two buckets, cut in two ways; a code server that has them loaded."""
    folder = tmp_path_factory.mktemp("ui")
    unopened: Any = None
    small = SmallPlatform(folder, unopened)
    small.write({"pump.md": guide("pump"), "drill.md": guide("drill")})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", str(folder / "dagster"))
        patch.setenv("CHUNK_ASSETS_CONFIG", str(small.configure()))
        # Of the code server and of the processes that it starts for runs.
        patch.setenv("PYTHONPATH", f"{REPOSITORY}:{REPOSITORY / 'tests' / 'support'}")
        patch.setenv("PYTHONWARNINGS", "ignore")
        target = ModuleTarget(
            "chunk_assets.definitions",
            attribute=None,
            working_directory=str(REPOSITORY),
            location_name="chunk_assets",
        )
        with (
            open_instance(small.platform()) as instance,
            WorkspaceProcessContext(instance, target) as context,
        ):
            running = Ui(small, instance, context)
            running.first_runs = running.backfill(["raw_documents", "documents"], ["b00", "b01"])
            yield running


def test_every_partition_is_a_run_that_the_status_knows_of(ui: Ui) -> None:
    stages = ["documents", "raw_documents"]
    assert ui.first_runs == [
        {"partition": "b00", "stages": stages, "success": True},
        {"partition": "b01", "stages": stages, "success": True},
    ]
    assert not [name for name in ui.status() if "documents/" in name]


def test_a_backfill_rooted_at_a_strategy_cuts_its_buckets_and_no_other_strategy(ui: Ui) -> None:
    runs = ui.backfill(["strategy_config", "chunks"], ["hierarchy"])
    assert runs == [
        {"partition": "b00|hierarchy", "stages": ["chunks"], "success": True},
        {"partition": "b01|hierarchy", "stages": ["chunks"], "success": True},
        {"partition": "hierarchy", "stages": ["strategy_config"], "success": True},
    ]
    status = ui.status()
    assert not {"strategy_config/hierarchy", "chunks/b00|hierarchy", "chunks/b01|hierarchy"} & {
        *status
    }
    assert status["chunks/b00|sentences"] == ("never materialized",)
    rows = ui.small.platform().tables.read("guides/chunks", where={"strategy": "hierarchy"})
    assert set(rows["uri"].to_pylist()) == {"pump.md", "drill.md"}


def test_exactly_the_partition_that_is_asked_for_runs(ui: Ui) -> None:
    before = ui.small.platform().run_log.state("guides")
    runs = ui.backfill(["chunks"], ["b01|sentences"])
    assert runs == [{"partition": "b01|sentences", "stages": ["chunks"], "success": True}]
    after = ui.small.platform().run_log.state("guides")
    changed = {str(work) for work in after if before.get(work) != after[work]}
    assert changed == {"chunks/b01|sentences"}


def test_a_run_lists_the_source_as_it_is_then(ui: Ui) -> None:
    # The code server was started before the edit and may remember nothing of it.
    ui.small.write({"pump.md": guide("pump", sections=5)})
    assert ui.status()["raw_documents/b00"] == ("source listing changed",)
    ui.backfill(["raw_documents", "documents"], ["b00"])
    assert not [name for name in ui.status() if "documents/" in name]
    texts = ui.small.platform().tables.read("guides/documents", ["text"])["text"].to_pylist()
    assert any("pump part 4" in text for text in texts)

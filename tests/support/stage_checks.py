"""Carrying out the checks of one partition without materializing it, as the UI's button does."""

import dagster as dg
from small_platform import SmallPlatform

from chunk_assets.definitions_factory import build_definitions
from partitions.stages import StagePartition


def run_checks(small: SmallPlatform, work: StagePartition) -> dict[str, bool]:
    """Which checks of the partition passed."""
    asset = dg.AssetKey(["guides", work.stage])
    job = build_definitions(small.platform()).resolve_implicit_global_asset_job_def()
    keys = {key for key in job.asset_layer.asset_graph.asset_check_keys if key.asset_key == asset}
    outcome = job.get_subset(asset_selection=set(), asset_check_selection=keys).execute_in_process(
        instance=small.instance,
        tags={"dagster/partition": work.partition},
        raise_on_error=False,
        run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
    )
    return {check.check_name: check.passed for check in outcome.get_asset_check_evaluations()}

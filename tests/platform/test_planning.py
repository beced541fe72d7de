"""Why a partition is out of date: a comparison of two dictionaries."""

import pytest

from chunk_assets.planning import CODE_VERSIONS, reasons_for, versions_of
from partitions.stages import STAGES, StagePartition
from resources.run_log import Materialization

WORK = StagePartition("chunks", "b00|long")
INPUTS = {"documents/b00": "d", "strategy_config/long": "s", "code": "1"}


def last(inputs: dict[str, str] | None = None, status: str = "ok") -> Materialization:
    return Materialization(
        stage=WORK.stage,
        partition=WORK.partition,
        run_id="run",
        data_version="version",
        inputs=INPUTS if inputs is None else inputs,
        code_version="1",
        git_commit="",
        configuration={},
        counts={},
        tokens=0,
        seconds=0.0,
        status=status,
    )


def reasons(
    expected: dict[str, str], materialization: Materialization | None, recorded: str = "version"
) -> tuple[str, ...]:
    state = {} if materialization is None else {WORK: materialization}
    return reasons_for(WORK, state, expected, lambda work, version: version == recorded)


def test_equal_inputs_are_no_reason() -> None:
    assert reasons(dict(reversed(INPUTS.items())), last()) == ()


def test_without_a_run_it_was_never_materialized() -> None:
    assert reasons(INPUTS, None) == ("never materialized",)


def test_a_refusal_is_a_reason_of_its_own() -> None:
    assert reasons(INPUTS, last(status="check_failed")) == (
        "its last run did not pass: check_failed",
    )


def test_checks_that_have_not_run_are_a_reason_of_their_own() -> None:
    assert reasons(INPUTS, last(status="unchecked")) == ("its checks have not run",)


def test_a_run_that_dagster_has_another_version_of_does_not_count() -> None:
    # A run killed before its event was stored, or an instance that was wiped.
    assert reasons(INPUTS, last(), recorded="other") == ("Dagster has no record of it",)


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        ({**INPUTS, "documents/b00": "x"}, ("documents/b00 changed",)),
        ({**INPUTS, "tokenizer": "new"}, ("tokenizer changed",)),
        ({name: v for name, v in INPUTS.items() if name == "code"}, None),
        ({**INPUTS, "code": "2"}, ("code version 1 → 2",)),
        (
            {**INPUTS, "strategy_config/long": "x", "documents/b00": "x", "code": "2"},
            ("documents/b00 changed", "strategy_config/long changed", "code version 1 → 2"),
        ),
    ],
)
def test_every_input_that_changed_came_or_went_is_named(
    expected: dict[str, str], told: tuple[str, ...] | None
) -> None:
    if told is None:
        told = ("documents/b00 changed", "strategy_config/long changed")
    assert reasons(expected, last()) == told


def test_the_versions_of_a_state_are_those_of_its_latest_runs() -> None:
    assert versions_of({WORK: last()}) == {WORK: "version"}


def test_every_stage_has_a_code_version() -> None:
    assert CODE_VERSIONS.keys() == set(STAGES)

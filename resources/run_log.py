"""The `runs` table: what was materialized from what; its latest rows are the platform's state."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from chunk_assets.lineage.identity import Json, canonical_json
from partitions.stages import StagePartition
from resources.schemas import SHARED_TABLES
from resources.tables import Tables

OK, UNCHECKED, CHECK_FAILED = "ok", "unchecked", "check_failed"


@dataclass(frozen=True, slots=True)
class Materialization:
    """One row of the table."""

    stage: str
    partition: str
    run_id: str
    data_version: str
    inputs: Mapping[str, str]
    """Name of each input → its version: what the planner compares, and shows as the reason."""
    code_version: str
    git_commit: str
    configuration: Mapping[str, Json]
    counts: Mapping[str, int]
    tokens: int
    seconds: float
    status: str = OK
    """`unchecked` until the checks of its stage have run; then `ok`, or `check_failed` if a
    blocking one refused what the run had written."""


State = dict[StagePartition, Materialization]


class RunLog:
    """Reads and appends materializations."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def record(self, corpus: str, materialization: Materialization) -> None:
        """Append one row."""
        row = {
            "corpus": corpus,
            "stage": materialization.stage,
            "partition": materialization.partition,
            "run_id": materialization.run_id,
            "status": materialization.status,
            "data_version": materialization.data_version,
            "inputs": canonical_json(dict(materialization.inputs)),
            "code_version": materialization.code_version,
            "git_commit": materialization.git_commit,
            "configuration": canonical_json(dict(materialization.configuration)),
            "counts": canonical_json(dict(materialization.counts)),
            "tokens": materialization.tokens,
            "seconds": materialization.seconds,
            "finished_at": datetime.now(UTC),
        }
        self._tables.append("runs", pa.Table.from_pylist([row], schema=SHARED_TABLES["runs"]))

    def latest(self, corpus: str, work: StagePartition) -> Materialization | None:
        """The latest materialization of one partition."""
        where = {"corpus": corpus, "stage": work.stage, "partition": work.partition}
        rows = self._tables.read("runs", where=where).sort_by("finished_at")
        return _materialization(rows.slice(rows.num_rows - 1).to_pylist()[0]) if rows else None

    def state(self, corpus: str) -> State:
        """The latest materialization of every partition."""
        rows = self._tables.read("runs", where={"corpus": corpus}).sort_by("finished_at")
        # Only the latest rows are unpacked: there are as many others as there ever were runs.
        keys = zip(rows["stage"].to_pylist(), rows["partition"].to_pylist(), strict=True)
        latest = {StagePartition(*key): number for number, key in enumerate(keys)}
        taken = rows.take(pa.array(latest.values(), pa.int64())).to_pylist()
        return {work: _materialization(row) for work, row in zip(latest, taken, strict=True)}


def _materialization(row: dict[str, object]) -> Materialization:
    values = {key: value for key, value in row.items() if key not in ("corpus", "finished_at")}
    for key in ("inputs", "configuration", "counts"):
        values[key] = json.loads(str(values[key]))
    return Materialization(**values)  # type: ignore[arg-type]  # the schema gives the types

"""The `quarantine` table: what a stage could not process, by name and with its reason."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from chunk_assets.lineage.identity import Fingerprint, fingerprint
from partitions.stages import StagePartition
from resources.schemas import SHARED_TABLES
from resources.tables import Tables


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that a stage could not process."""

    document_id: str
    uri: str
    input_version: str
    """Identity of what failed: the same input is not tried again."""
    error: str
    """The kind of error (its class)."""
    message: str


class Quarantine:
    """Reads and replaces the failures of one stage partition."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def failures(self, corpus: str, work: StagePartition) -> list[Failure]:
        """What the partition's latest materialization could not process."""
        columns = ["document_id", "uri", "input_version", "error", "message"]
        rows = self._tables.read("quarantine", columns, where=_key(corpus, work))
        return [Failure(**row) for row in rows.to_pylist()]

    def version(self, corpus: str) -> Fingerprint:
        """The identity of all of a corpus's failures, whenever they were seen."""
        columns = ["stage", "partition", "document_id", "input_version", "error", "message"]
        rows = self._tables.read("quarantine", columns, where={"corpus": corpus}).to_pylist()
        return fingerprint("quarantine", sorted(list(row.values()) for row in rows))

    def replace(
        self, corpus: str, work: StagePartition, failures: Iterable[Failure], run_id: str
    ) -> None:
        """Make these the partition's failures; one that stays keeps the time it was first seen."""
        key = _key(corpus, work)
        known = {
            (row["document_id"], row["input_version"], row["message"]): row["first_seen"]
            for row in self._tables.read("quarantine", where=key).to_pylist()
        }
        now = datetime.now(UTC)
        rows = [
            {
                **key,
                "document_id": failure.document_id,
                "uri": failure.uri,
                "input_version": failure.input_version,
                "error": failure.error,
                "message": failure.message,
                "first_seen": known.get(
                    (failure.document_id, failure.input_version, failure.message), now
                ),
                "last_seen": now,
                "run_id": run_id,
            }
            for failure in sorted(failures, key=lambda f: (f.uri, f.input_version))
        ]
        if not rows and not known:
            return
        table = pa.Table.from_pylist(rows, schema=SHARED_TABLES["quarantine"])
        self._tables.replace("quarantine", table, key)


def _key(corpus: str, work: StagePartition) -> dict[str, str]:
    return {"corpus": corpus, "stage": work.stage, "partition": work.partition}

"""What every materialization does at its start and its end."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import dagster as dg
import pyarrow as pa

from chunk_assets.assets.preview import markdown_table, table_schema
from chunk_assets.corpus import Corpus
from chunk_assets.lineage.identity import Json
from chunk_assets.planning import expected_inputs, versions_of
from partitions.stages import StagePartition
from resources.platform import Platform, git_commit
from resources.run_log import CHECK_FAILED, OK, UNCHECKED, Materialization

CHECKED = ("raw_documents", "documents", "chunks", "embeddings", "collections")
"""The stages that have checks."""


class Recorder:
    """Notes the inputs before the work starts, and the result when it is done.

    The inputs are read before the data: if one changes in between, the recorded version is the
    older one and the next `apply` does the work again, never the other way round.
    """

    def __init__(
        self,
        context: dg.AssetExecutionContext,
        platform: Platform,
        corpus: Corpus,
        stage: str,
    ) -> None:
        self._started = time.perf_counter()
        self._platform = platform
        self._corpus = corpus
        partition = context.partition_key if context.has_partition_key else ""
        self.work = StagePartition(stage, str(partition))
        self.run_id = context.run.run_id
        state = platform.run_log.state(corpus.name)
        self.inputs = expected_inputs(platform, corpus, self.work, versions_of(state))
        last = state.get(self.work)
        self.may_reuse = last is None or last.status != CHECK_FAILED
        """False after a blocking check refused this partition: then nothing of it is kept."""

    def finish(
        self,
        *,
        data_version: str,
        counts: Mapping[str, int],
        table: str,
        rows: pa.Table,
        preview: Sequence[str],
        tokens: int = 0,
        configuration: Mapping[str, Json] | None = None,
        columns: Mapping[str, str] | None = None,
        metadata: Mapping[str, dg.MetadataValue] | None = None,
    ) -> dg.MaterializeResult[None]:
        """Append the run to the `runs` table, and tell Dagster the same.

        Where checks follow it stays unchecked until they have run (`accept`): a process may be
        killed in between.

        Args:
            data_version: the identity of the partition's content.
            counts: what was seen and done, by name.
            table: the name of the table that was written.
            rows: the partition as it is now.
            preview: columns of the rows to show.
            tokens: of the partition's texts, where the stage counts them.
            configuration: the settings that made it.
            columns: descriptions of columns, by name.
            metadata: further entries for the UI.
        """
        seconds = time.perf_counter() - self._started
        code_version = self.inputs.get("code", self.inputs.get("sql", ""))
        self._platform.run_log.record(
            self._corpus.name,
            Materialization(
                stage=self.work.stage,
                partition=self.work.partition,
                run_id=self.run_id,
                data_version=data_version,
                inputs=self.inputs,
                code_version=code_version,
                git_commit=git_commit(self._platform.path.parent),
                configuration=configuration or {},
                counts=counts,
                tokens=tokens,
                seconds=seconds,
                status=UNCHECKED if self._has_checks else OK,
            ),
        )
        partition_rows = "partition_row_count" if self.work.partition else "row_count"
        return dg.MaterializeResult(
            data_version=dg.DataVersion(data_version),
            metadata={
                **{name: dg.MetadataValue.int(count) for name, count in counts.items()},
                "tokens": dg.MetadataValue.int(tokens),
                "seconds": dg.MetadataValue.float(round(seconds, 3)),
                f"dagster/{partition_rows}": dg.MetadataValue.int(rows.num_rows),
                "dagster/column_schema": dg.MetadataValue.table_schema(
                    table_schema(rows.schema, columns)
                ),
                "dagster/uri": dg.MetadataValue.text(self._platform.tables.uri(table)),
                "preview": dg.MetadataValue.md(markdown_table(rows, preview)),
                "inputs": dg.MetadataValue.json(dict(self.inputs)),
                **(metadata or {}),
            },
        )

    @property
    def _has_checks(self) -> bool:
        stage = self.work.stage
        return stage in CHECKED or bool(self._platform.warehouse.tests_of(stage))


def accept(platform: Platform, corpus: Corpus, work: StagePartition, run_id: str) -> None:
    """Note that the checks of what a run has written have run, in that run, and none refused it.

    Where another run has written the partition meanwhile, its own checks decide.
    """
    last = platform.run_log.latest(corpus.name, work)
    if last is not None and (last.run_id, last.status) == (run_id, UNCHECKED):
        platform.run_log.record(corpus.name, replace(last, status=OK))

"""The SQL models of `dbt_like_sql/` as assets, and their tests as asset checks."""

from typing import TYPE_CHECKING

import dagster as dg
import pyarrow as pa

from chunk_assets.assets.plots import intervals
from chunk_assets.assets.preview import markdown_table
from chunk_assets.assets.recording import Recorder, accept
from chunk_assets.corpus import Corpus
from chunk_assets.lineage.identity import data_version
from chunk_assets.lineage.sql_models import SqlModel
from chunk_assets.planning import stages_behind
from partitions.mappings import all_partitions
from partitions.stages import StagePartition
from resources.platform import Platform
from resources.schemas import SHARED_TABLES

if TYPE_CHECKING:
    from chunk_assets.lineage.sql_columns import ColumnLineage

GROUP_SUFFIX = "_sql"
GOLD_STAGES = ("retrieval_runs", "evaluations")


def build_sql_assets(
    platform: Platform, corpus: Corpus
) -> tuple[list[dg.AssetsDefinition], list[dg.AssetChecksDefinition]]:
    """One asset per model, and the checks of its SQL tests in one step."""
    models = platform.sql_models
    assets = [_asset(platform, corpus, model) for model in models.values()]
    checks = [
        check
        for model in models.values()
        if (check := _checks(corpus, model, platform.warehouse.tests_of(model.name)))
    ]
    return assets, checks


def _asset(platform: Platform, corpus: Corpus, model: SqlModel) -> dg.AssetsDefinition:
    stages = [s for s in stages_behind(model) if corpus.gold_sets or s not in GOLD_STAGES]
    deps = [
        *(
            dg.AssetDep([corpus.name, stage], partition_mapping=all_partitions())
            for stage in stages
        ),
        *(dg.AssetDep([corpus.name, name]) for name in platform.upstream_marts(model)),
    ]

    @dg.asset(
        key=[corpus.name, model.name],
        deps=deps,
        group_name=f"{corpus.name}{GROUP_SUFFIX}",
        kinds={"duckdb", "sql"},
        description=f"{model.description}\n\n```sql\n{model.sql}\n```",
    )
    def sql_model(
        context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform]
    ) -> dg.MaterializeResult[None]:
        recorder = Recorder(context, platform, corpus, model.name)
        rows = platform.warehouse.run_model(corpus.name, model.name)
        table = corpus.table(model.name)
        platform.tables.overwrite(table, rows)
        lineage = platform.warehouse.stored_column_lineage(model.name)
        return recorder.finish(
            data_version=data_version("sql", [[str(row)] for row in rows.to_pylist()]),
            counts={"rows": rows.num_rows},
            table=table,
            rows=rows,
            preview=_preview_columns(rows, model),
            # The open-source UI draws no column lineage, so each column says where it comes from.
            columns={
                column: "from " + ", ".join(f"`{table}.{name}`" for table, name in sources)
                for column, sources in lineage.items()
                if sources
            },
            metadata={
                "dagster/column_lineage": dg.MetadataValue.column_lineage(
                    _column_lineage(corpus, lineage)
                ),
                **({"intervals": _intervals(rows)} if model.name == "leaderboard" else {}),
            },
        )

    return sql_model


def _preview_columns(rows: pa.Table, model: SqlModel) -> list[str]:
    if model.name == "leaderboard":
        return [
            "rank",
            "index",
            "budget_span_recall_mean",
            "evidence_recall_mean",
            "ndcg_mean",
            "mrr_mean",
            "distinct_vectors",
            "tokens_total",
        ]
    columns: list[str] = rows.column_names[:8]
    return columns


def _column_lineage(corpus: Corpus, lineage: "ColumnLineage") -> dg.TableColumnLineage:
    return dg.TableColumnLineage(
        deps_by_column={
            column: [
                dg.TableColumnDep(asset_key=_asset_of(corpus, table), column_name=name)
                for table, name in sources
            ]
            for column, sources in lineage.items()
        }
    )


def _asset_of(corpus: Corpus, table: str) -> dg.AssetKey:
    """The asset that writes a table; tables shared by all corpora are shown under their name."""
    if table in SHARED_TABLES:
        return dg.AssetKey([table])
    return dg.AssetKey([corpus.name, "evaluations" if table == "evaluation_summaries" else table])


def _intervals(rows: pa.Table) -> dg.MetadataValue:
    scored = [row for row in rows.to_pylist() if row["budget_span_recall_low"] is not None]
    tokens = scored[0]["budget_span_recall_tokens"] if scored else 0
    return intervals(
        [f"{row['gold_set']} · {row['index']}" for row in scored],
        [row["budget_span_recall_mean"] for row in scored],
        [row["budget_span_recall_low"] for row in scored],
        [row["budget_span_recall_high"] for row in scored],
        f"share of the evidence found in the first {tokens:,} tokens",
    )


def _checks(
    corpus: Corpus, model: SqlModel, tests: list[SqlModel]
) -> dg.AssetChecksDefinition | None:
    if not tests:
        return None
    key = dg.AssetKey([corpus.name, model.name])

    @dg.multi_asset_check(
        name=f"{corpus.name}__{model.name}__sql_tests",
        specs=[
            dg.AssetCheckSpec(
                name=test.name.partition("__")[2], asset=key, description=test.description
            )
            for test in tests
        ],
    )
    def sql_tests(context: dg.AssetCheckExecutionContext, platform: dg.ResourceParam[Platform]):  # type: ignore[no-untyped-def]  # noqa: ANN202 - Dagster reads the annotation
        for test in tests:
            offending = platform.warehouse.run_test(corpus.name, test.name)
            yield dg.AssetCheckResult(
                asset_key=key,
                check_name=test.name.partition("__")[2],
                passed=offending.num_rows == 0,
                metadata={
                    "offending_rows": dg.MetadataValue.int(offending.num_rows),
                    "preview": dg.MetadataValue.md(
                        markdown_table(offending, offending.column_names[:8])
                    ),
                },
            )
        accept(platform, corpus, StagePartition(model.name, ""), context.run.run_id)

    return sql_tests

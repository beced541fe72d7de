"""Materialize exactly what is missing or out of date, each partition a real Dagster run."""

import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import dagster as dg

from chunk_assets.corpus import Corpus
from chunk_assets.definitions_factory import build_definitions
from chunk_assets.errors import ChunkAssetsError
from chunk_assets.quarantined import documents_in, quarantined
from chunk_assets.selection import Selection
from chunk_assets.status import DATA_VERSION_TAG, Inspector, models_of, outlook
from chunk_assets.totals import totals
from partitions.stages import STAGES, StagePartition, partitions_of, upstream_of
from resources.platform import Platform

COMPACT_RUNS_AFTER_FILES = 64


@dataclass(frozen=True, slots=True)
class Materialized:
    """What one run did."""

    corpus: str
    work: StagePartition
    run_id: str
    success: bool
    seconds: float
    counts: dict[str, int]
    reasons: tuple[str, ...]
    data_version: str = ""
    message: str = ""
    """Why it failed."""


class Observer(Protocol):
    """Shows progress."""

    def planned(self, total: int) -> None:
        """How many partitions will be looked at, at most."""

    def started(self, corpus: str, work: StagePartition) -> None:
        """A run begins."""

    def finished(self, result: Materialized) -> None:
        """A run ended."""

    def skipped(self, corpus: str, work: StagePartition, why: str) -> None:
        """A partition that was expected to change did not have to, or could not."""


@dataclass
class Report:
    """What `apply` did."""

    seconds: float = 0.0
    results: list[Materialized] = field(default_factory=list)
    blocked: list[tuple[str, StagePartition, str]] = field(default_factory=list)
    """Partitions whose upstream failed: corpus, partition, reason."""
    totals: dict[str, dict[str, int]] = field(default_factory=dict)
    failed_checks: list[str] = field(default_factory=list)
    """Checks that did not pass but stop nothing."""
    unlisted: dict[str, str] = field(default_factory=dict)
    """Corpora whose source could not be listed, with the reason: nothing was done for them."""
    remarks: list[str] = field(default_factory=list)
    """What sources left out that somebody might miss."""
    in_quarantine: int = 0
    """Documents that are in quarantine now, whichever call put them there."""

    @property
    def failed(self) -> list[Materialized]:
        """Runs that did not succeed."""
        return [result for result in self.results if not result.success]

    def to_json(self) -> dict[str, Any]:
        """What `apply --json` prints."""
        return {
            "runs": len({result.run_id for result in self.results}),
            "seconds": round(self.seconds, 3),
            **self.totals,
            "in_quarantine": self.in_quarantine,
            "remarks": self.remarks,
            "failed_checks": self.failed_checks,
            "failed_corpora": [
                {"corpus": corpus, "message": message} for corpus, message in self.unlisted.items()
            ],
            "by_partition": [
                {
                    "corpus": result.corpus,
                    "asset": result.work.stage,
                    "partition": result.work.partition,
                    "run_id": result.run_id,
                    "success": result.success,
                    "seconds": round(result.seconds, 3),
                    "reasons": list(result.reasons),
                    "counts": result.counts,
                    "message": result.message,
                }
                for result in self.results
            ],
            "skipped": [
                {"corpus": corpus, "asset": work.stage, "partition": work.partition, "why": why}
                for corpus, work, why in self.blocked
            ],
        }


def apply(
    platform: Platform, instance: dg.DagsterInstance, selection: Selection, observer: Observer
) -> Report:
    """Bring every selected partition up to date, in dependency order, in this process.

    A failed run stops only what depends on it, a source that cannot be listed only its corpus.
    Whatever was done before a kill is kept; the next call goes on from there.
    """
    started = time.perf_counter()
    platform.check_limits()
    platform.listings.refresh()
    planned = outlook(platform, instance, selection)
    report = Report(unlisted=planned.unlisted, remarks=planned.remarks)
    observer.planned(len(planned.out_of_date))
    expected = {(item.corpus, item.work) for item in planned.out_of_date}
    job = build_definitions(platform).resolve_implicit_global_asset_job_def()
    runner = _Runner(platform, instance, job, observer, report)
    for corpus in platform.corpora.values():
        if any(name == corpus.name for name, _ in expected):
            works = {work for name, work in expected if name == corpus.name}
            runner.run_corpus(corpus, works)
    # On a full disk, what failed has told so already; the next call compacts.
    with suppress(ChunkAssetsError):
        platform.tables.compact("runs", COMPACT_RUNS_AFTER_FILES)
    report.totals = totals(
        platform, selection, {(done.corpus, done.work): done.counts for done in report.results}
    )
    report.in_quarantine = documents_in(quarantined(platform, selection))
    report.seconds = time.perf_counter() - started
    return report


@dataclass
class _Runner:
    platform: Platform
    instance: dg.DagsterInstance
    job: dg.JobDefinition
    observer: Observer
    report: Report

    def run_corpus(self, corpus: Corpus, works: set[StagePartition]) -> None:
        inspector = Inspector.of(self.platform, corpus, self.instance)
        failed: dict[StagePartition, str] = {}
        for stage in STAGES:
            for work in partitions_of(corpus, stage):
                if work in works:
                    self._bring_up_to_date(corpus, work, inspector, failed)
        self._run_models(corpus, [work for work in models_of(self.platform) if work in works])

    def _bring_up_to_date(
        self,
        corpus: Corpus,
        work: StagePartition,
        inspector: Inspector,
        failed: dict[StagePartition, str],
    ) -> None:
        cause = next((failed[part] for part in upstream_of(corpus, work) if part in failed), None)
        if cause is not None:
            failed[work] = cause
            self.report.blocked.append((corpus.name, work, cause))
            self.observer.skipped(corpus.name, work, cause)
            return
        reasons = inspector.reasons(work)
        if not reasons:
            self.observer.skipped(corpus.name, work, "its inputs did not change after all")
            return
        result = self._run(corpus, {work: reasons})[0]
        if result.success:
            inspector.versions[work] = result.data_version
        else:
            failed[work] = f"{work} failed"

    def _run_models(self, corpus: Corpus, works: list[StagePartition]) -> None:
        """All SQL models in one run: they have no partitions, and each takes milliseconds."""
        inspector = Inspector.of(self.platform, corpus, self.instance)
        reasons = {work: inspector.reasons(work) for work in works}
        todo: dict[StagePartition, tuple[str, ...]] = {}
        for work in works:
            marts = self.platform.upstream_marts(self.platform.sql_models[work.stage])
            redone = [name for name in marts if StagePartition(name, "") in todo]
            why = reasons[work] or tuple(f"{name} was redone" for name in redone[:1])
            if why:
                todo[work] = why
            else:
                self.observer.skipped(corpus.name, work, "its inputs did not change after all")
        if todo:
            self._run(corpus, todo)

    def _run(
        self, corpus: Corpus, todo: dict[StagePartition, tuple[str, ...]]
    ) -> list[Materialized]:
        first = next(iter(todo))
        self.observer.started(corpus.name, first)
        started = time.perf_counter()
        keys = {dg.AssetKey([corpus.name, work.stage]): work for work in todo}
        outcome = self.job.get_subset(asset_selection=set(keys)).execute_in_process(
            instance=self.instance,
            partition_key=first.partition or None,
            raise_on_error=False,
            tags={
                "chunk_assets/apply": "true",
                "chunk_assets/reason": "; ".join(todo[first])[:250],
            },
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        )
        if _was_interrupted(outcome):
            raise KeyboardInterrupt
        seconds = time.perf_counter() - started
        done = {
            keys[event.materialization.asset_key]: event.materialization
            for event in outcome.get_asset_materialization_events()
        }
        refused: dict[StagePartition, list[str]] = {}
        for check in outcome.get_asset_check_evaluations():
            work = keys[check.asset_key]
            if not check.passed and check.blocking:
                found = f"check {check.check_name} did not pass: {check.description}"
                refused.setdefault(work, []).append(found)
            elif not check.passed:
                self.report.failed_checks.append(f"{corpus.name}/{work}: {check.check_name}")
        message = "" if outcome.success else _failure_message(outcome)
        # A check that could not be carried out protects nothing: its asset did not pass either.
        unchecked = not outcome.success and not refused and done.keys() == todo.keys()
        results = []
        for work, reasons in todo.items():
            materialization = done.get(work)
            success = materialization is not None and work not in refused and not unchecked
            result = Materialized(
                corpus=corpus.name,
                work=work,
                run_id=outcome.run_id,
                success=success,
                seconds=seconds / len(todo),
                counts=_integers(materialization.metadata) if materialization else {},
                reasons=reasons,
                data_version=(materialization.tags or {}).get(DATA_VERSION_TAG, "")
                if materialization
                else "",
                message="" if success else "\n".join(refused.get(work, [message])),
            )
            results.append(result)
            self.observer.finished(result)
        self.report.results += results
        return results


def _integers(metadata: Any) -> dict[str, int]:  # noqa: ANN401 - Dagster's metadata mapping
    return {
        name: value.value
        for name, value in metadata.items()
        if isinstance(value, dg.IntMetadataValue)
        and value.value is not None
        and not name.startswith("dagster/")
    }


def _was_interrupted(outcome: dg.ExecuteInProcessResult) -> bool:
    """Whether a signal ended the run: Dagster notes it as a failure, but the user said stop."""
    return any(
        error.cls_name == dg.DagsterExecutionInterruptedError.__name__
        for event in outcome.all_events
        if event.is_step_failure and (error := event.step_failure_data.error) is not None
    )


def _failure_message(outcome: dg.ExecuteInProcessResult) -> str:
    for event in outcome.all_events:
        if event.is_step_failure:
            error = event.step_failure_data.error
            # Below Dagster's own wrapper lies what was raised; its cause is no message for a user.
            while error and error.cause and (error.cls_name or "").startswith("Dagster"):
                error = error.cause
            if error is not None:
                # The class name in front is noise for a mistake of the user's.
                _, _, message = error.message.partition(": ")
                return (message or error.message).strip()
    return "the run failed before its first step; see it in the Dagster UI"

"""What people see: one line a run, sums at the end, no markup out of file names."""

import io
from datetime import UTC, datetime

import pytest
from rich.console import Console

from chunk_assets.apply import Materialized, Report
from chunk_assets.planning import OutOfDate
from chunk_assets.terminal import (
    ApplyProgress,
    print_quarantine,
    print_report,
    print_rows,
    print_status,
)
from partitions.stages import StagePartition

CHUNKS = StagePartition("chunks", "b00|long")
TOTALS = {
    "documents": {"seen": 2, "quarantined": 0},
    "chunks": {"total": 1234},
    "embeddings": {"embedded": 5},
    "points": {"written": 5},
}


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=200)


def said(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def result(
    work: StagePartition = CHUNKS, *, message: str = "", counts: dict[str, int] | None = None
) -> Materialized:
    return Materialized(
        corpus="guides",
        work=work,
        run_id="run",
        success=not message,
        seconds=0.25,
        counts=counts or {},
        reasons=("never materialized",),
        message=message,
    )


def test_a_run_is_a_line_with_the_counts_that_are_not_zero(console: Console) -> None:
    with ApplyProgress(console) as progress:
        progress.planned(2)
        progress.started("guides", CHUNKS)
        progress.finished(result(counts={"added": 1500, "removed": 0, "kept": 3}))
    assert "✓ guides/chunks/b00|long 0.2 s 1,500 chunks added\n" in said(console)


def test_a_run_that_failed_is_a_line_with_its_reason_and_so_is_what_it_stops(
    console: Console,
) -> None:
    embeddings = StagePartition("embeddings", "b00|long__m")
    with ApplyProgress(console) as progress:
        progress.planned(3)
        progress.finished(result(message="the [disk] is full"))
        progress.skipped("guides", embeddings, "chunks/b00|long failed")
        progress.skipped("guides", embeddings, "its inputs did not change after all")
    assert "✗ guides/chunks/b00|long: the [disk] is full\n" in said(console)
    assert "– guides/embeddings/b00|long__m: skipped, chunks/b00|long failed\n" in said(console)
    assert "did not change" not in said(console)


def test_work_inside_a_partition_can_be_told_before_and_after_others(console: Console) -> None:
    with ApplyProgress(console) as progress:
        progress.work_done("tokens", 0, 100)
        progress.planned(1)
        progress.started("guides", CHUNKS)
        progress.work_done("tokens", 50, 100)
        progress.work_done("tokens", 100, 100)
        progress.finished(result())
        progress.started("guides", CHUNKS)
        progress.work_done("tokens", 1, 0)
    assert "✓" in said(console)


def test_nothing_to_do_is_said_in_one_line(console: Console) -> None:
    print_report(console, Report(totals=TOTALS))
    assert said(console) == "Everything is up to date: nothing to do, 0 texts embedded.\n"


def test_what_is_in_quarantine_is_told_even_if_nothing_was_done(console: Console) -> None:
    print_report(console, Report(totals=TOTALS, in_quarantine=1))
    assert said(console).splitlines() == [
        "Everything is up to date: nothing to do, 0 texts embedded.",
        "1 document in quarantine: `chunk-assets quarantine` lists them with their reasons.",
    ]


def test_a_remark_on_a_source_is_a_warning(console: Console) -> None:
    print_report(console, Report(totals=TOTALS, remarks=["corpus wiki: [a] link"]))
    assert said(console).splitlines()[1:] == ["warning: corpus wiki: [a] link"]


def test_a_corpus_that_could_not_be_listed_is_told_and_nothing_is_called_up_to_date(
    console: Console,
) -> None:
    print_report(console, Report(totals=TOTALS, unlisted={"wiki": "/mnt/[wiki] does not exist"}))
    assert said(console) == "failed: corpus wiki: /mnt/[wiki] does not exist\n"


def test_the_report_has_sums_failures_and_what_they_stopped(console: Console) -> None:
    report = Report(
        seconds=1.5,
        results=[result(), result(message="it's [broken]")],
        blocked=[("guides", CHUNKS, "documents/b00 failed")],
        totals=TOTALS,
        failed_checks=["guides/documents/b00: nothing_quarantined"],
    )
    print_report(console, report)
    text = said(console)
    assert "1 runs in 1.5 s\n" in text
    assert "chunks      1,234 total\n" in text
    assert "failed: guides/chunks/b00|long: it's [broken]\n" in text
    assert "check fell short: guides/documents/b00: nothing_quarantined\n" in text
    assert "1 partitions were skipped because of that.\n" in text


def test_a_build_that_embeds_nothing_says_so(console: Console) -> None:
    print_report(
        console, Report(results=[result()], totals={**TOTALS, "embeddings": {"embedded": 0}})
    )
    assert "Nothing had to be embedded" in said(console)


def out_of_date(partition: str, *reasons: str) -> OutOfDate:
    return OutOfDate("guides", StagePartition("chunks", partition), reasons)


def test_the_status_counts_equal_reasons_of_a_stage_together(console: Console) -> None:
    found = [
        out_of_date("b00|long", "documents/b00 changed", "strategy_config/long changed"),
        out_of_date("b01|long", "documents/b01 changed"),
        out_of_date("b02|long", "documents/b02 and 3 more will change"),
        out_of_date("b03|long", "the table guides/chunks is gone"),
    ]
    print_status(console, found, verbose=False)
    (line,) = [line for line in said(console).splitlines() if line.startswith("guides/chunks")]
    assert "documents changed (2)" in line
    assert "documents and 3 more will change (1)" in line
    assert "the table guides/chunks is gone (1)" in line
    assert line.split()[1] == "4"


def test_the_verbose_status_has_every_partition_with_all_reasons(console: Console) -> None:
    print_status(console, [out_of_date("b00|long", "a changed", "b changed")], verbose=True)
    assert "chunks/b00|long" in said(console)
    assert "a changed; b changed" in said(console)


def test_names_from_files_are_no_markup(console: Console) -> None:
    moment = datetime(2024, 5, 1, 12, 30, tzinfo=UTC)
    row = {
        "corpus": "guides",
        "stage": "documents",
        "partition": "b00",
        "uri": "[red]a[/red].md",
        "error": "ParseError",
        "message": "is [no text]",
        "first_seen": moment,
    }
    print_quarantine(console, [row])
    print_rows(console, [{"[b]name": "[i]value", "none": None}])
    text = said(console)
    assert "[red]a[/red].md" in text
    assert "ParseError: is [no text]" in text
    assert "2024-05-01 12:30" in text
    assert "[i]value" in text
    assert "[b]name" in text

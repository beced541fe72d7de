"""What `apply`, `status` and `leaderboard` show on a terminal."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from chunk_assets.plain import shown
from partitions.stages import STAGES, StagePartition

if TYPE_CHECKING:  # a command that shows a table needs neither Dagster nor a chunker
    from chunk_assets.apply import Materialized, Report
    from chunk_assets.chunk_file import CutFile
    from chunk_assets.planning import OutOfDate
    from chunk_assets.retrieval.search import SearchHit

SHOWN_COUNTS = (
    ("read", "read"),
    ("parsed", "parsed"),
    ("documents_cut", "cut"),
    ("added", "chunks added"),
    ("moved", "moved"),
    ("removed", "removed"),
    ("embedded", "texts embedded"),
    ("reused", "reused"),
    ("written", "points written"),
    ("updated", "updated"),
    ("deleted", "deleted"),
    ("quarantined", "quarantined"),
)


class ApplyProgress:
    """A bar over partitions, a bar over the tokens of the partition at work, a line per run."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._partitions: TaskID | None = None
        self._inner: TaskID | None = None

    def __enter__(self) -> "ApplyProgress":
        """Start drawing."""
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop drawing."""
        self._progress.stop()

    def planned(self, total: int) -> None:
        """How many partitions will be looked at, at most."""
        self._partitions = self._progress.add_task("partitions", total=total, rate="")

    def started(self, corpus: str, work: StagePartition) -> None:
        """Name the partition at work."""
        self._drop_inner()
        self._describe(f"{corpus}/{work}")

    def finished(self, result: "Materialized") -> None:
        """One line with the counts that are not zero."""
        self._drop_inner()
        self._advance()
        name = shown(f"{result.corpus}/{result.work}")
        if result.success:
            said = ", ".join(
                f"{result.counts[key]:,} {label}"
                for key, label in SHOWN_COUNTS
                if result.counts.get(key)
            )
            self._console.print(
                f"[green]✓[/] {name} [dim]{result.seconds:.1f} s[/] {said}", highlight=False
            )
        else:
            self._console.print(
                f"[red]✗[/] {name}: {shown(result.message, lines=True)}", highlight=False
            )

    def skipped(self, corpus: str, work: StagePartition, why: str) -> None:
        """Count it; only what failed upstream is worth a line."""
        self._advance()
        if why.endswith("failed"):
            name = shown(f"{corpus}/{work}")
            self._console.print(f"[yellow]–[/] {name}: skipped, {shown(why)}", highlight=False)

    def work_done(self, unit: str, done: int, total: int) -> None:
        """Progress inside the partition at work."""
        if self._inner is None:
            self._inner = self._progress.add_task(f"  {unit}", total=total, rate="")
        self._progress.update(self._inner, completed=done, total=total)
        speed = self._progress.tasks[-1].speed
        rate = f"{speed:,.0f} {unit}/s" if speed else ""
        self._progress.update(self._inner, rate=rate)

    def _describe(self, text: str) -> None:
        if self._partitions is not None:
            self._progress.update(self._partitions, description=text)

    def _advance(self) -> None:
        if self._partitions is not None:
            self._progress.advance(self._partitions)

    def _drop_inner(self) -> None:
        if self._inner is not None:
            self._progress.remove_task(self._inner)
            self._inner = None


def print_report(console: Console, report: "Report") -> None:
    """What `apply` did, in a few lines."""
    if report.results or report.blocked:
        _print_work(console, report)
    elif not report.unlisted:
        console.print("Everything is up to date: nothing to do, 0 texts embedded.")
    print_unlisted(console, report.unlisted)
    print_remarks(console, report.remarks)
    if report.in_quarantine:
        console.print(quarantine_line(report.in_quarantine), highlight=False)


def quarantine_line(documents: int) -> str:
    """How many documents are left out, and how to see which."""
    number = "1 document" if documents == 1 else f"{documents:,} documents"
    return (
        f"[yellow]{number} in quarantine:[/] `chunk-assets quarantine` lists them with their "
        "reasons."
    )


def print_unlisted(console: Console, unlisted: Mapping[str, str]) -> None:
    """Corpora whose source cannot be listed, each with its reason."""
    for corpus, message in unlisted.items():
        console.print(
            f"[red]failed:[/] corpus {corpus}: {shown(message, lines=True)}", highlight=False
        )


def print_remarks(console: Console, remarks: Sequence[str]) -> None:
    """What sources left out that somebody might miss."""
    for remark in remarks:
        console.print(f"[yellow]warning:[/] {shown(remark)}", highlight=False)


def _print_work(console: Console, report: "Report") -> None:
    totals = report.totals
    runs = len({result.run_id for result in report.results})
    console.print(f"{runs} runs in {report.seconds:.1f} s")
    for stage, counts in totals.items():
        said = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        console.print(f"  {stage:<11} {said}", highlight=False)
    if totals["documents"]["seen"] == 0:
        console.print(
            "[yellow]The source lists no document:[/] check `source.root`, `include` and "
            "`exclude` in the configuration."
        )
    elif totals["embeddings"]["embedded"] == 0:
        console.print("Nothing had to be embedded: every text already has its vector.")
    for check in report.failed_checks:
        console.print(f"[yellow]check fell short:[/] {shown(check)}", highlight=False)
    for result in report.failed:
        what = shown(f"{result.corpus}/{result.work}: {result.message}", lines=True)
        console.print(f"[red]failed:[/] {what}", highlight=False)
    if report.blocked:
        console.print(f"{len(report.blocked)} partitions were skipped because of that.")


def print_status(console: Console, found: Sequence["OutOfDate"], verbose: bool) -> None:
    """What is out of date and why, one line per stage unless all are asked for."""
    if not found:
        console.print("Everything is up to date.")
        return
    table = Table("asset", "out of date", "why", box=None, pad_edge=False)
    if verbose:
        for item in found:
            table.add_row(item.corpus, shown(str(item.work)), shown("; ".join(item.reasons)))
    else:
        reasons: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for item in found:
            reasons[item.corpus, item.work.stage][_generic(item)] += 1
        for (corpus, stage), why in reasons.items():
            said = "; ".join(f"{reason} ({count})" for reason, count in why.most_common(3))
            table.add_row(f"{corpus}/{stage}", str(why.total()), shown(said))
    console.print(table)
    console.print("`chunk-assets apply` brings them up to date.")


def _generic(item: "OutOfDate") -> str:
    """A reason without the partition, so that equal ones count together."""
    first = item.reasons[0]
    name, _, rest = first.partition("/")
    return f"{name} {rest.partition(' ')[2]}" if name in STAGES else first


def print_leaderboard(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """The leaderboard with intervals, tokens and vector counts."""
    if not rows:
        console.print(
            "The leaderboard is empty: add a gold set to the corpus (gold:) and run "
            "`chunk-assets apply`."
        )
        return
    first = rows[0]
    table = Table(title=None, box=None, pad_edge=False, header_style="bold")
    table.add_column("#", justify="right")
    table.add_column("index")
    for name in (
        f"span recall @{first['budget_span_recall_tokens']} tok",
        f"evidence recall @{first['evidence_recall_k']}",
        f"nDCG @{first['ndcg_k']}",
        "MRR",
    ):
        table.add_column(name, justify="right")
    for name in ("vectors", "tokens", "tok/chunk"):
        table.add_column(name, justify="right")
    table.add_column("")
    for row in rows:
        table.add_row(
            str(row["rank"]),
            row["index"],
            _interval(row, "budget_span_recall"),
            _interval(row, "evidence_recall"),
            _interval(row, "ndcg"),
            _interval(row, "mrr"),
            f"{row['distinct_vectors']:,}",
            f"{row['tokens_total']:,}",
            "" if row["tokens_mean"] is None else f"{row['tokens_mean']:.0f}",
            "tied with the best" if row["tied_with_best"] and row["rank"] > 1 else "",
        )
    console.print(table)
    console.print(
        f"[dim]{first['queries']} questions over {first['clusters']} documents; intervals: "
        f"{first['confidence']:.0%}, resampled by document[/]",
        highlight=False,
    )


def _interval(row: dict[str, Any], metric: str) -> str:
    mean, low, high = (row[f"{metric}_{part}"] for part in ("mean", "low", "high"))
    if mean is None:
        return "–"
    if low is None:
        return f"{mean:.3f}"
    return f"{mean:.3f} [{low:.3f}, {high:.3f}]"


def print_hits(console: Console, hits: Sequence["SearchHit"]) -> None:
    """Ranked chunks with where they come from."""
    if not hits:
        console.print("Nothing found.")
        return
    for hit in hits:
        path = " › ".join(hit.heading_path)
        console.print(
            f"[bold]{hit.rank}.[/] [cyan]{shown(hit.uri)}[/] "
            f"[dim]\\[{hit.start}, {hit.end})  score {hit.score:.4f}[/]  {shown(path)}",
            highlight=False,
        )
        console.print(f"   {shown(_shortened(hit.text))}", highlight=False)


def print_quarantine(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """What could not be processed."""
    if not rows:
        console.print("The quarantine is empty.")
        return
    table = Table("corpus", "stage", "document", "error", "first seen", box=None, pad_edge=False)
    for row in rows:
        table.add_row(
            row["corpus"],
            f"{row['stage']}/{row['partition']}",
            shown(row["uri"]),
            shown(f"{row['error']}: {row['message']}"),
            f"{row['first_seen']:%Y-%m-%d %H:%M}",
        )
    console.print(table)


def print_rows(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """Any rows as a table."""
    if not rows:
        console.print("no rows")
        return
    table = Table(*map(shown, rows[0]), box=None, pad_edge=False)
    for row in rows:
        table.add_row(*("" if value is None else shown(str(value)) for value in row.values()))
    console.print(table)


def print_chunks(console: Console, cut: "CutFile") -> None:
    """Each chunk below a line with its span, size and headings."""
    for warning in cut.warnings:
        console.print(f"[yellow]warning:[/] {shown(warning)}", highlight=False)
    for chunk in cut.chunks:
        flags = f"  [yellow]{' '.join(chunk.flags)}[/]" if chunk.flags else ""
        console.print(
            f"[bold]── {chunk.ordinal}[/]  \\[{chunk.start}, {chunk.end})  "
            f"{chunk.size} {cut.unit}  {shown(' › '.join(chunk.heading_path))}{flags}",
            highlight=False,
        )
        console.print(shown(chunk.text, lines=True), highlight=False)
    console.print(f"[dim]{len(cut.chunks)} chunks[/]", highlight=False)


def _shortened(text: str, limit: int = 240) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"

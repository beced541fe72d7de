"""The command line: `chunk-assets`. Every command takes `--json`; progress goes to stderr."""

import errno
import io
import json
import math
import shlex
import sys
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from chunk_assets.errors import ChunkAssetsError, ConfigurationError
from chunk_assets.plain import shown

DONE, FAILED, SOMETHING_TO_DO, INTERRUPTED = 0, 1, 2, 130
PIPE_WIDTH = 10_000
_OF_THE_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EROFS)
"""Errors of files that are no fault of the program: a full disk, a missing permission."""

_UsageError: Any = typer.BadParameter.__base__  # Typer exports no other name for it

app = typer.Typer(
    name="chunk-assets",
    help="Chunk, embed, index and evaluate documents as Dagster assets, and prove where every "
    "vector came from.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 done, 1 failed, 2 nothing wrong but something to do, or a check fell "
    "short.",
)

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        help="Configuration file; default: $CHUNK_ASSETS_CONFIG, else ./chunk_assets.yaml.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document to stdout.")]
SelectOption = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        "-s",
        help="corpus, corpus/strategy or corpus/strategy/bucket; * stands for all; repeatable.",
        show_default=False,
    ),
]
CorpusOption = Annotated[
    str | None,
    typer.Option(help="The corpus; needed only where there are several.", show_default=False),
]


def main() -> None:
    """Run the command line; a mistake of the user's shows its message, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character is no reason to fail.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(standalone_mode=False)
    except _UsageError as error:
        # Exit code 2 is taken: it says that there is something to do.
        error.show()
        sys.exit(FAILED)
    except typer.Abort:
        sys.exit(INTERRUPTED)
    except ChunkAssetsError as error:
        _stderr().print(
            f"[red]error:[/] {shown(str(error), lines=True)}", highlight=False, soft_wrap=True
        )
        sys.exit(FAILED)
    except RecursionError:
        _stderr().print("[red]error:[/] the input is nested too deeply to be read")
        sys.exit(FAILED)
    except OSError as error:
        if error.filename is not None and error.errno not in _OF_THE_MACHINE:
            raise
        where = "" if error.filename is None else f"{error.filename}: "
        _stderr().print(f"[red]error:[/] {shown(where)}{error.strerror}", highlight=False)
        sys.exit(FAILED)
    if code == INTERRUPTED:  # what Typer makes of Ctrl-C
        _stderr().print("Stopped. What was done is kept; run the same command to go on.")
    sys.exit(code)


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Your folder of documents.")],
    corpus: Annotated[str, typer.Option(help="Name of the corpus.")] = "docs",
    force: Annotated[bool, typer.Option(help="Replace a configuration that is there.")] = False,
) -> None:
    """Write a commented configuration into a folder of documents."""
    from chunk_assets.config import DEFAULT_FILE, checked_name, load_configuration

    try:
        checked_name(corpus)
    except ValueError as error:
        raise ConfigurationError(f"--corpus: {error}") from None
    if not folder.is_dir():
        raise ConfigurationError(
            f"{folder} is no folder; name the folder that holds your documents"
        )
    path = folder / DEFAULT_FILE
    if path.exists() and not force:
        raise ConfigurationError(f"{path} exists already; edit it, or replace it with --force")
    template = files("chunk_assets").joinpath("templates/chunk_assets.yaml")
    text = template.read_text(encoding="utf-8").format(corpus=corpus)
    before = path.read_text(encoding="utf-8") if path.exists() else None
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror or error}") from error
    try:
        load_configuration(path)
    except ConfigurationError:
        path.unlink() if before is None else path.write_text(before, encoding="utf-8")
        raise
    console = _stdout()
    console.print(f"Wrote {shown(str(path))}.", highlight=False)
    next_step = f"cd {shlex.quote(str(folder))} && chunk-assets apply"
    console.print(f"Next: edit it, then run: {shown(next_step)}", highlight=False)


@app.command()
def config(
    config: ConfigOption = None,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="Show every default as well.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check the configuration and show it; secrets stay names of environment variables."""
    import yaml

    platform = _platform(config)
    _warn_of_what_is_not_there(platform)
    configuration = platform.configuration
    if resolved:
        from chunk_assets.resolved import resolved as resolve

        values = resolve(configuration)
    else:
        values = configuration.model_dump(mode="json", exclude_unset=True)
    if as_json:
        _print_json(values)
    else:
        typer.echo(yaml.safe_dump(values, sort_keys=False, allow_unicode=True), nl=False)


@app.command()
def apply(
    select: SelectOption = None,
    config: ConfigOption = None,
    wait: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="How long to wait for another apply on the same storage; default: until it is "
            "done.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Materialize exactly what is missing or out of date, each partition a Dagster run."""
    from chunk_assets.apply import apply as apply_platform
    from chunk_assets.apply_lock import apply_lock
    from chunk_assets.instance import open_instance
    from chunk_assets.selection import parse_selection
    from chunk_assets.terminal import ApplyProgress, print_report

    platform = _platform(config)
    selection = parse_selection(select or [], platform.corpora)
    with (
        apply_lock(Path(platform.local_folder), wait_s=wait, on_wait=_say),
        open_instance(platform) as instance,
        ApplyProgress(_stderr()) as progress,
    ):
        platform.on_progress = progress.work_done
        report = apply_platform(platform, instance, selection, progress)
    if as_json:
        _print_json(report.to_json())
    else:
        print_report(_stdout(), report)
    if report.failed or report.unlisted:
        raise typer.Exit(FAILED)
    if report.failed_checks or report.in_quarantine:
        raise typer.Exit(SOMETHING_TO_DO)


@app.command()
def status(
    select: SelectOption = None,
    config: ConfigOption = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="One line per partition.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List what is out of date, and why; exit code 2 if anything is, or is in quarantine."""
    from chunk_assets.instance import open_instance
    from chunk_assets.quarantined import documents_in, quarantined
    from chunk_assets.selection import parse_selection
    from chunk_assets.status import outlook
    from chunk_assets.terminal import (
        print_remarks,
        print_status,
        print_unlisted,
        quarantine_line,
    )

    platform = _platform(config)
    selection = parse_selection(select or [], platform.corpora)
    with open_instance(platform) as instance:
        found = outlook(platform, instance, selection)
    in_quarantine = documents_in(quarantined(platform, selection))
    console = _stderr() if as_json else _stdout()
    if as_json:
        _print_json(
            [
                {
                    "corpus": item.corpus,
                    "asset": item.work.stage,
                    "partition": item.work.partition,
                    "reasons": list(item.reasons),
                }
                for item in found.out_of_date
            ]
        )
    elif found.out_of_date or not found.unlisted:
        print_status(console, found.out_of_date, verbose)
    print_remarks(console, found.remarks)
    if in_quarantine:
        console.print(quarantine_line(in_quarantine), highlight=False)
    print_unlisted(_stderr(), found.unlisted)
    if found.unlisted:
        raise typer.Exit(FAILED)
    if found.out_of_date or in_quarantine:
        raise typer.Exit(SOMETHING_TO_DO)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="A question or key words.")],
    corpus: CorpusOption = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            help="A strategy or an index (strategy__embedder); default: what the corpus serves.",
            show_default=False,
        ),
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="How many chunks.")] = 5,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search a corpus, with sources: the same code that the evaluation measures."""
    from chunk_assets.serving import index_of, only_corpus, search_corpus
    from chunk_assets.staleness import staleness_of
    from chunk_assets.terminal import print_hits

    platform = _platform(config)
    hits = search_corpus(
        platform,
        query,
        corpus=corpus,
        strategy=strategy,
        k=k,
        on_wait=_say,
    )
    chosen = only_corpus(platform, corpus)
    staleness = staleness_of(platform, chosen, index_of(chosen, strategy))
    if staleness.message:
        _say(staleness.message)
    if as_json:
        _print_json([asdict(hit) | {"out_of_date": staleness.partitions} for hit in hits])
    else:
        print_hits(_stdout(), hits)


@app.command()
def leaderboard(
    corpus: CorpusOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """Show how the indexes of a corpus compare, with intervals, tokens and vector counts."""
    from chunk_assets.serving import only_corpus
    from chunk_assets.staleness import staleness_of
    from chunk_assets.terminal import print_leaderboard

    platform = _platform(config)
    chosen = only_corpus(platform, corpus)
    table = chosen.table("leaderboard")
    rows = platform.tables.read(table).to_pylist() if platform.tables.exists(table) else []
    staleness = staleness_of(platform, chosen)
    if staleness.message:
        _say(staleness.message)
    if as_json:
        _print_json([row | {"out_of_date": staleness.partitions} for row in rows])
    else:
        print_leaderboard(_stdout(), rows)


@app.command()
def quarantine(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List what could not be processed, by name and with its reason."""
    from chunk_assets.quarantined import quarantined
    from chunk_assets.terminal import print_quarantine

    rows = quarantined(_platform(config))
    if as_json:
        _print_json(rows)
    else:
        print_quarantine(_stdout(), rows)


@app.command()
def sql(
    query: Annotated[
        str, typer.Argument(help="A select over the models (leaderboard, …) and lake.<table>.")
    ],
    corpus: CorpusOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Query the tables and SQL models of a corpus with DuckDB."""
    from chunk_assets.serving import only_corpus
    from chunk_assets.terminal import print_rows

    platform = _platform(config)
    rows = platform.warehouse.query(only_corpus(platform, corpus).name, query).to_pylist()
    if as_json:
        _print_json(rows)
    else:
        print_rows(_stdout(), rows)


@app.command()
def chunk(
    file: Annotated[str, typer.Argument(help="A file, or - for standard input.")],
    strategy: Annotated[
        str,
        typer.Option(
            help="A strategy of the configuration, or one written out: "
            '\'{"chunker": "hierarchy", "max_tokens": 200}\'.'
        ),
    ],
    format_: Annotated[
        str | None,
        typer.Option("--format", help="Pin the format (markdown, …).", show_default=False),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(
            help="Parse the file as this corpus does; default: with default options.",
            show_default=False,
        ),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Cut one file and show the chunks: no Dagster, no store."""
    from chunk_assets.chunk_file import chunk_bytes
    from chunk_assets.terminal import print_chunks

    if file == "-":
        raw, name = sys.stdin.buffer.read(), "stdin"
    else:
        raw, name = _read(Path(file)), file
    cut = chunk_bytes(
        raw, name=name, strategy=strategy, format_=format_, config=config, corpus=corpus
    )
    if as_json:
        _print_json(cut.to_json())
    else:
        print_chunks(_stdout(), cut)


@app.command()
def doctor(
    embed: Annotated[
        bool,
        typer.Option("--embed", help="Load every model, embed with it, and measure its speed."),
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check everything that a run would need, and say what to do; exit code 1 on a problem."""
    from chunk_assets.doctor.examination import examine
    from chunk_assets.doctor.report import count, print_findings, to_json

    findings = list(examine(config, embed=embed, tell=_say))
    if as_json:
        _print_json(to_json(findings))
    else:
        print_findings(_stdout(), findings)
    if count(findings, "problem"):
        raise typer.Exit(FAILED)


@app.command()
def ui(
    config: ConfigOption = None,
    port: Annotated[int, typer.Option(help="Port of the web page.")] = 3000,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
) -> None:
    """Open the Dagster UI on this configuration (dagster dev)."""
    from chunk_assets.instance import run_ui

    run_ui(_platform(config), host=host, port=port)


def _platform(config: Path | None) -> Any:  # noqa: ANN401 - its module is imported only when used
    from chunk_assets.config import config_path
    from resources.platform import Platform

    return Platform.from_file(config_path(config))


def _warn_of_what_is_not_there(platform: Any) -> None:  # noqa: ANN401 - as above
    from chunk_assets.doctor.platform_parts import gold_findings, unset_variables

    findings = list(unset_variables(platform, "Environment variable"))
    for corpus in platform.corpora.values():
        findings += gold_findings(platform, corpus)
    for finding in findings:
        if finding.level != "ok":
            remedy = f" ({finding.remedy})" if finding.remedy else ""
            what = shown(f"{finding.group} {finding.name}: {finding.found}{remedy}", lines=True)
            _stderr().print(f"[yellow]warning:[/] {what}", highlight=False)


def _say(message: str) -> None:
    """A line to standard error, which neither `--json` nor a pipe sees."""
    _stderr().print(shown(message), highlight=False)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror or error}") from error


def _print_json(value: object) -> None:
    # Lone surrogates (from file names) are escaped, so that the output is always valid UTF-8.
    text = json.dumps(_without_nan(value), ensure_ascii=False, default=str, indent=2)
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")


def _without_nan(value: object) -> object:
    """JSON knows neither NaN nor infinity: null takes their place."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    return [_without_nan(item) for item in value] if isinstance(value, list | tuple) else value


def _stdout() -> Console:
    # A pipe has no width: lines are not broken there, so that they can be searched and cut.
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)


def _stderr() -> Console:
    return Console(stderr=True, width=None if sys.stderr.isatty() else PIPE_WIDTH)


if __name__ == "__main__":
    main()

"""The findings on a terminal, and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console

from chunk_assets.doctor.finding import Finding, Level
from chunk_assets.plain import shown

_MARKS: dict[Level, str] = {
    "ok": "[green]ok     [/]",
    "warning": "[yellow]warning[/]",
    "problem": "[red]problem[/]",
}


def count(findings: Sequence[Finding], level: Level) -> int:
    """How many findings there are of a level."""
    return sum(finding.level == level for finding in findings)


def to_json(findings: Sequence[Finding]) -> dict[str, Any]:
    """`{problems, warnings, findings: [{group, name, level, found, remedy, facts}]}`."""
    return {
        "problems": count(findings, "problem"),
        "warnings": count(findings, "warning"),
        "findings": [asdict(finding) for finding in findings],
    }


def print_findings(console: Console, findings: Sequence[Finding]) -> None:
    """Groups of findings, each with what to do where something is not well."""
    for group in dict.fromkeys(finding.group for finding in findings):
        members = [finding for finding in findings if finding.group == group]
        width = max(len(shown(finding.name)) for finding in members)
        console.print(f"\n[bold]{shown(group)}[/]", highlight=False)
        for finding in members:
            name = shown(finding.name).ljust(width)
            found = _indented(finding.found, len("problem  ") + width)
            console.print(f"  {_MARKS[finding.level]} {name} {found}", highlight=False)
            if finding.remedy:
                remedy = _indented(finding.remedy, len("problem → "))
                console.print(f"          → {remedy}", highlight=False)
    problems, warnings = count(findings, "problem"), count(findings, "warning")
    console.print(
        f"\n{_counted(problems, 'problem')}, {_counted(warnings, 'warning')} in "
        f"{len(findings)} findings",
        highlight=False,
    )


def _indented(text: str, columns: int) -> str:
    """Text whose further lines stand below its first."""
    return shown(text, lines=True).replace("\n", "\n" + " " * (columns + 2))


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"

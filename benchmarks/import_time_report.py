"""The page that the benchmark of cold starts prints and keeps."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """One statement in new processes, a value per round."""

    statement: str
    wall_s: tuple[float, ...]
    cpu_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Dear:
    """An import with everything that it was the first to import."""

    name: str
    by: str
    seconds: float


@dataclass(frozen=True, slots=True)
class FirstVector:
    """A backend: seconds from the start of a process to its first vector."""

    backend: str
    first_process_s: float
    later_processes_s: tuple[float, ...]
    later_processes_cpu_s: tuple[float, ...]
    """Of all cores together."""


def ratio(measured: Sequence[Measured], floor: str, statement: str) -> float:
    """How many times the CPU seconds of the floor a statement takes: median over rounds.

    Both of a round ran one after the other, and CPU seconds know nothing of who else was at work.
    """
    cpu = {each.statement: each.cpu_s for each in measured}
    return statistics.median(a / b for a, b in zip(cpu[statement], cpu[floor], strict=True))


def report(
    imports: Sequence[Measured],
    floor: str,
    definitions: str,
    dear: Sequence[Dear],
    vectors: Sequence[FirstVector],
    skipped: Mapping[str, str],
    facts: Mapping[str, object],
) -> str:
    """The whole page, in Markdown."""
    return "\n\n".join(
        [
            "# Cold start",
            "Medians over rounds; a round runs every statement once, in a process of its own.",
            _table(
                ["statement", "wall s", "CPU s", f"× `{floor}`"],
                [
                    (
                        f"`{each.statement}`",
                        f"{statistics.median(each.wall_s):.2f}",
                        f"{statistics.median(each.cpu_s):.2f}",
                        f"{ratio(imports, floor, each.statement):.2f}",
                    )
                    for each in imports
                ],
            ),
            f"What `{definitions}` waits for, each with everything that it is the first to import "
            "(seconds under `-X importtime`, which slows every import):",
            _table(
                ["import", "by", "s"],
                [(f"`{d.name}`", f"`{d.by}`" if d.by else "", f"{d.seconds:.3f}") for d in dear],
            ),
            "From the start of a process to its first vector, interpreter and imports included. "
            "The first process may convert its model, and keep the result for the others:",
            _table(
                ["backend", "wall s", "fastest", "CPU s", "the first process"],
                [
                    (
                        each.backend,
                        f"{statistics.median(each.later_processes_s):.2f}",
                        f"{min(each.later_processes_s):.2f}",
                        f"{statistics.median(each.later_processes_cpu_s):.2f}",
                        f"{each.first_process_s:.2f}",
                    )
                    for each in vectors
                ],
            ),
            *(f"Left out: {name}: {why}" for name, why in skipped.items()),
            ", ".join(f"{name}: {value}" for name, value in facts.items()),
        ]
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

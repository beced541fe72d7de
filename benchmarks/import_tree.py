"""What `python -X importtime` prints, as a tree."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

_LINE = re.compile(r"^import time:\s+(\d+) \|\s+(\d+) \| ( *)(\S+)$")
_INDENT = 2


@dataclass(frozen=True, slots=True)
class Import:
    """One module, imported for the first time."""

    name: str
    own_us: int
    """Microseconds of the module itself."""
    subtree_us: int
    """With everything that it was the first to import."""
    by: str | None
    """The module that imported it; None for the program."""


def parse(printed: str) -> list[Import]:
    """The imports of a run in the order in which they ended; other lines are left out."""
    lines = [match for line in printed.splitlines() if (match := _LINE.match(line))]
    found: list[Import] = []
    # A module is printed after what it imports, one level further out: backwards it comes first.
    above: list[tuple[int, str]] = []
    for match in reversed(lines):
        own, subtree, indent, name = match.groups()
        depth = len(indent) // _INDENT
        while above and above[-1][0] >= depth:
            above.pop()
        found.append(Import(name, int(own), int(subtree), above[-1][1] if above else None))
        above.append((depth, name))
    return found[::-1]


def foreign(imports: Sequence[Import], ours: Collection[str]) -> Iterator[Import]:
    """The imports of other packages that modules of `ours` (top-level names) make themselves."""
    for each in imports:
        if each.by is not None and _package(each.by) in ours and _package(each.name) not in ours:
            yield each


def own_time_us(imports: Sequence[Import], ours: Collection[str]) -> int:
    """Microseconds of the modules of `ours` alone, what they run when imported included."""
    return sum(each.own_us for each in imports if _package(each.name) in ours)


def _package(module: str) -> str:
    return module.partition(".")[0]

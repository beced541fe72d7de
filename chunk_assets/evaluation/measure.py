"""Naming what is measured."""

from typing import Literal, NamedTuple

CutoffUnit = Literal["chunks", "documents", "tokens"]


class Measure(NamedTuple):
    """A metric at a cutoff; without one, of the whole ranking."""

    metric: str
    cutoff_unit: CutoffUnit | None = None
    cutoff: int | None = None

"""Parallel arrays of spans."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Positions = npt.NDArray[np.int64]


class Spans(NamedTuple):
    """Units of a text in order: `[starts[i], stops[i])` in code points, disjoint.

    What lies between two units is blank; a unit ends with a non-blank character.
    """

    starts: Positions
    stops: Positions


def positions(values: list[int] | Positions) -> Positions:
    """An array of positions; always int64, since searching with another type copies the array."""
    return np.asarray(values, dtype=np.int64)

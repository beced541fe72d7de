"""Evidence as arrays: the pieces that queries want, and the places where each can be read."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chunk_assets.evaluation.spans import Integers, Spans


class Evidence(NamedTuple):
    """Places of evidence: parallel arrays, one entry a place.

    A piece with several places is found when any one of them is.
    """

    spans: Spans
    piece: Integers
    """The piece each place belongs to, numbered from 0 through all queries, ascending."""
    relevance: Integers

    def first_places(self) -> "Evidence":
        """The first place of each piece."""
        first = self._first()
        return Evidence(self.spans.take(first), self.piece[first], self.relevance[first])

    def best_places(self, cost: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> Integers:
        """The cheapest place of each piece, the earlier one of equals: indices, shape (pieces,)."""
        order = np.lexsort((cost, self.piece))
        best: Integers = order[self._first()]
        return best

    def has_one_place(self) -> npt.NDArray[np.bool_]:
        """Whether each place is the only one of its piece: shape (places,)."""
        alone: npt.NDArray[np.bool_] = np.bincount(self.piece)[self.piece] == 1
        return alone

    def _first(self) -> Integers:
        # `piece` is ascending, so each piece's places stand together.
        return np.flatnonzero(np.diff(self.piece, prepend=-1)).astype(np.int64)

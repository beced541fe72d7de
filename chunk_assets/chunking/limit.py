"""The limit stage: where a chunk ends, on a ladder from the coarsest unit to grapheme clusters."""

import numpy as np

from chunk_assets.chunking.cut import Cut
from chunk_assets.chunking.graphemes import grapheme_ends
from chunk_assets.chunking.view import DocumentView

WELL_FILLED = 0.5
"""From this share of the room on a chunk ends at the coarser unit, though the next one has to be
divided anyway and a part of it would still fit."""


def furthest_end(
    view: DocumentView, cut: Cut, *, begin: int, core: int, stop: int, room: int
) -> tuple[int, int]:
    """Where a chunk ends, and at which level of the cut (their number: between graphemes).

    A unit is divided only if it does not fit into a chunk of its own.

    Args:
        view: the document.
        cut: its levels.
        begin: where the chunk's text begins, overlap included: its size counts from here.
        core: where its own text begins; the end lies behind it.
        stop: the end of its region.
        room: the size that the text may have.
    """
    fitting = view.ruler.furthest(begin, room)
    if stop <= fitting:
        return stop, 0
    for level, units in enumerate(cut.levels):
        following = int(units.stops.searchsorted(fitting, "right"))
        end = int(units.stops[following - 1]) if following else 0
        if end <= core:
            continue
        next_size = view.ruler.size(
            int(units.starts[following]), min(int(units.stops[following]), stop)
        )
        if next_size <= room or view.ruler.size(begin, end) >= WELL_FILLED * room:
            return end, level
    return _grapheme_end(view, core, fitting), len(cut.levels)


def _grapheme_end(view: DocumentView, core: int, fitting: int) -> int:
    """The last grapheme cluster that fits, where a unit of size ends too if possible.

    One cluster is taken even if it does not fit, since nothing can be made of less.
    """
    before = view.word_end_before(fitting)
    start = view.letters_after(max(core, view.start_after(before)))
    ends = grapheme_ends(view.text, start, view.word_end(start))
    within = ends[: ends.searchsorted(fitting, "right")]
    edges = view.ruler.edges(start, fitting)
    if edges is not None:
        shared = np.intersect1d(within, edges)
        within = shared if len(shared) else within
    if len(within):
        return int(within[-1])
    return before if before > core else int(ends[0])

"""The overlap stage: where the text that a chunk shares with the one before it begins."""

from chunk_assets.chunking.cut import Cut
from chunk_assets.chunking.view import DocumentView

WORTH = 0.5
"""A preferred unit is taken if its overlap is at least this share of the size asked for."""


def overlap_begin(view: DocumentView, cut: Cut, *, core: int, after: int, size: int) -> int:
    """Where the overlap before `core` begins; `core` itself if no whole unit fits.

    Args:
        view: the document.
        cut: its overlap levels.
        core: where the chunk's own text begins.
        after: the overlap begins behind this position (where the chunk before begins), so that
            chunks always move forward.
        size: the most that the overlap may have.
    """
    if size <= 0:
        return core
    earliest = max(view.ruler.earliest(core, size), after + 1)
    begin = core
    for units in cut.overlap_levels:
        index = int(units.starts.searchsorted(earliest, "left"))
        start = int(units.starts[index]) if index < len(units.starts) else core
        if start < core and view.letters_after(start) < core:  # more than core's own indentation
            begin = start
            if view.ruler.size(begin, core) >= WORTH * size:
                break
    return begin

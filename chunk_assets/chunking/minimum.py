"""The minimum stage: chunks that are too small join a neighbour."""

from collections.abc import Iterable
from dataclasses import replace

from chunk_assets.chunking.context import Context
from chunk_assets.chunking.pack import Piece
from chunk_assets.chunking.settings import StrategySettings
from chunk_assets.chunking.view import DocumentView


def merge_small(
    pieces: Iterable[Piece], view: DocumentView, settings: StrategySettings, context: Context
) -> list[Piece]:
    """Merge pieces below the minimum with a neighbour, first inside their region, then beyond.

    The neighbour before is preferred. A piece that fits with neither stays as small as it is.
    """
    merged = list(pieces)
    if settings.min_size:
        for across_regions in (False, True):
            merged = _merged(merged, view, settings, context, across_regions)
    return merged


def _merged(
    pieces: list[Piece],
    view: DocumentView,
    settings: StrategySettings,
    context: Context,
    across_regions: bool,
) -> list[Piece]:
    merged: list[Piece] = []
    for piece in pieces:
        before = merged[-1] if merged else None
        if (
            before is not None
            and (across_regions or before.region == piece.region)
            and min(_own_size(before, view), _own_size(piece, view)) < settings.min_size
            and view.ruler.size(before.begin, piece.end)
            + context.opening(before.begin, before.core)
            <= settings.maximum
        ):
            merged[-1] = replace(before, end=piece.end)
        else:
            merged.append(piece)
    return merged


def _own_size(piece: Piece, view: DocumentView) -> int:
    return view.ruler.size(piece.core, piece.end)

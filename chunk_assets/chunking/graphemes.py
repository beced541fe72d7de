"""Grapheme clusters: what a reader takes for one character (UAX #29); they are never cut."""

import numpy as np
import regex

from chunk_assets.chunking.spans import Positions

_CLUSTER = regex.compile(r"\X")


def grapheme_ends(text: str, start: int, stop: int) -> Positions:
    """Where the grapheme clusters of `text[start:stop]` end; `start` must begin one."""
    part = text[start:stop]
    if part.isascii() and "\r" not in part:
        return np.arange(start + 1, stop + 1, dtype=np.int64)
    clusters = _CLUSTER.finditer(text, start, stop)
    return np.fromiter((cluster.end() for cluster in clusters), dtype=np.int64)

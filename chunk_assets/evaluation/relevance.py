"""Which chunks of an index are relevant to which evidence.

Gold is given as spans of the document, so that it survives any re-chunking; ranking metrics need
relevant *chunks*. The rule:

A chunk is relevant to a place of evidence when they share at least `relevance_overlap` of the
shorter of the two. A short answer must lie mostly in the chunk; of a long section, every chunk that
lies mostly inside it counts. If no chunk reaches that, the chunks that share most with the place
are relevant. Lengths are in characters (code points), as in the span metrics: the rule then needs
nothing but offsets.
"""

from typing import NamedTuple

import numpy as np

from chunk_assets.evaluation.evidence import Evidence
from chunk_assets.evaluation.spans import Integers, overlapping


class Relevant(NamedTuple):
    """Pairs of a place of evidence and a unit (chunk or document) relevant to it."""

    place: Integers
    unit: Integers


def relevant_chunks(
    evidence: Evidence, start: Integers, end: Integers, relevance_overlap: float
) -> Relevant:
    """Pair places with relevant chunks; a place that no chunk overlaps has no pair.

    Args:
        evidence: places, on the same axis as the chunks.
        start: first position of each chunk of the index (the chunks of one level: those that a
            search returns).
        end: one past the last position of each chunk.
        relevance_overlap: part of the shorter of chunk and place that they must share.
    """
    places = evidence.spans
    place, chunk = overlapping(places, start, end)
    shared = np.minimum(end[chunk], places.end[place]) - np.maximum(
        start[chunk], places.start[place]
    )
    shorter = np.minimum(end[chunk] - start[chunk], (places.end - places.start)[place])
    # The allowance keeps a share of exactly 3 of 30 at 0.1, which is 3.0000000000000004 in floats.
    reaches = shared + 1e-9 >= relevance_overlap * shorter
    most = np.zeros(len(evidence.piece), dtype=np.int64)
    np.maximum.at(most, place, shared)
    is_reached = np.zeros(len(evidence.piece), dtype=bool)
    is_reached[place[reaches]] = True
    relevant = np.where(is_reached[place], reaches, shared == most[place])
    return Relevant(place[relevant], chunk[relevant])

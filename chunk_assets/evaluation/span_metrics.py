"""How much of the evidence is read, and how much else with it, in characters.

For one query let R be the characters retrieved and G those of the evidence, as sets of positions
in documents (so an overlap between two chunks counts once):

* recall = |R ∩ G| / |G|
* precision = |R ∩ G| / |R|
* IoU = |R ∩ G| / |R ∪ G|
* PrecisionΩ = the IoU of *all* chunks that overlap the evidence: the best that a chunking allows,
  with no model involved.

Source: Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval", Chroma Technical
Report, July 2024 (https://research.trychroma.com/evaluating-chunking), which defines them on
tokens; characters need no tokenizer, and its published code counts characters too. The options
`count_repeats` and `touching` reproduce what that code computes.

Where a piece of evidence has several places, any one is right. Recall gives each such piece the
share of the place that is covered most, weighted by the length of its first place (it can then
never fall as more is read); IoU asks for the place covered most; for precision all places are
right; PrecisionΩ, where nothing is retrieved, takes the first place.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chunk_assets.evaluation.evidence import Evidence
from chunk_assets.evaluation.spans import Integers, Spans, Union, overlapping, summed

Values = npt.NDArray[np.float64]


class SpanScores(NamedTuple):
    """Scores per query: arrays of shape (queries,)."""

    recall: Values
    precision: Values
    iou: Values


def span_scores(
    retrieved: Spans,
    evidence: Evidence,
    queries: int,
    axis_size: int,
    *,
    count_repeats: bool = False,
) -> SpanScores:
    """Recall, precision and IoU of what was retrieved; 0 where nothing was.

    Args:
        retrieved: the chunks read for each query, in any order.
        evidence: the places of evidence.
        queries: number of queries.
        axis_size: size of the axis that both lie on.
        count_repeats: take for |R| the sum of the chunks' lengths, so that text read twice counts
            twice, as Chroma's code does.
    """
    read = Union(retrieved, axis_size)
    size = (
        summed(retrieved.query, retrieved.end - retrieved.start, queries)
        if count_repeats
        else read.lengths(queries)
    )
    wanted = Union(evidence.spans.take(_most_covered(read, evidence)), axis_size)
    both = _shared(read, wanted, queries)
    right = _shared(read, Union(evidence.spans, axis_size), queries)
    return SpanScores(
        recall=_recall(read, evidence, queries, axis_size),
        precision=_ratio(right, size),
        iou=_ratio(both, size + wanted.lengths(queries) - both),
    )


def precision_omega(
    chunks: Spans,
    evidence: Evidence,
    queries: int,
    axis_size: int,
    *,
    touching: bool = False,
) -> Values:
    """PrecisionΩ of a chunking: shape (queries,).

    Args:
        chunks: every chunk of the index once, on the axis; its `query` is not used.
        evidence: the places of evidence.
        queries: number of queries.
        axis_size: size of the axis that both lie on.
        touching: also take chunks that only touch the evidence, sharing no character with it, as
            Chroma's code does.
    """
    first = evidence.first_places()
    place, chunk = overlapping(first.spans, chunks.start, chunks.end, touching=touching)
    needed = Spans(first.spans.query[place], chunks.start[chunk], chunks.end[chunk])
    return span_scores(needed, first, queries, axis_size).iou


def within_budget(retrieved: Spans, tokens: Integers, budget: int) -> Spans:
    """What is read when chunks are taken in rank order until a number of tokens is full.

    The chunk that would exceed the budget is cut in proportion: of its characters as large a part,
    rounded down, as of its tokens still fits. Text in two chunks is paid for twice, as a reader
    would.

    Args:
        retrieved: chunks sorted by query, then rank.
        tokens: tokens of each chunk, by one tokenizer for all strategies that are compared.
        budget: tokens per query.
    """
    running = np.cumsum(tokens)
    opens = np.diff(retrieved.query, prepend=-1) != 0
    spent_before_query = np.maximum.accumulate(np.where(opens, running - tokens, 0))
    left = budget - (running - tokens - spent_before_query)
    kept = np.clip(left, 0, tokens)
    length = retrieved.end - retrieved.start
    # A chunk of no tokens (blank text) costs nothing as long as the budget is not full.
    part = np.where(tokens > 0, length * kept // np.maximum(tokens, 1), length * (left > 0))
    cut = Spans(retrieved.query, retrieved.start, retrieved.start + part)
    return cut.take(part > 0)


def _recall(read: Union, evidence: Evidence, queries: int, axis_size: int) -> Values:
    """Pieces with one place count as one set of characters, each other piece by its best place."""
    certain = Union(evidence.spans.take(evidence.has_one_place()), axis_size)
    found, whole = _shared(read, certain, queries), certain.lengths(queries)

    best = _most_covered(read, evidence)
    chosen = ~evidence.has_one_place()[best]
    places = evidence.spans.take(best[chosen])
    first = evidence.first_places().spans.take(chosen)
    weight = first.end - first.start
    share = read.covered(places) / (places.end - places.start)
    return _ratio(
        found + np.bincount(places.query, weight * share, minlength=queries),
        whole + np.bincount(places.query, weight, minlength=queries),
    )


def _most_covered(read: Union, evidence: Evidence) -> Integers:
    """Of each piece, the place of which the largest share is read."""
    covered = read.covered(evidence.spans)
    return evidence.best_places(-covered / (evidence.spans.end - evidence.spans.start))


def _shared(one: Union, other: Union, queries: int) -> Integers:
    spans = other.spans()
    return summed(spans.query, one.covered(spans), queries)


def _ratio(
    part: Integers | npt.NDArray[np.float64], whole: Integers | npt.NDArray[np.float64]
) -> Values:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)

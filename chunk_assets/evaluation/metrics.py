"""Metrics of a ranking, per query, computed by trec_eval (through pytrec_eval).

Definitions are trec_eval's (https://github.com/usnistgov/trec_eval), with `k` units read:

* `precision`: relevant among the first k, divided by k.
* `recall`: relevant among the first k, divided by all that are relevant.
* `hit`: 1 if any of the first k is relevant (trec_eval's `success`).
* `recip_rank`: 1 / rank of the first relevant one (its mean is MRR).
* `ndcg`: gain / log2(rank + 1) summed over the first k, divided by that of the best possible
  ranking (Järvelin and Kekäläinen, TOIS 2002), gain = relevance.
* `map`: precision at the rank of each relevant one, averaged over all that are relevant.

Rankings are given by rank, so equal scores play no part. A query for which nothing was retrieved,
or to which nothing is relevant, scores 0 (trec_eval would leave it out of the mean).

Where a piece of evidence has several places, retrieving any one of them is right: for `precision`,
`hit` and `recip_rank` all of them are relevant; `recall`, `ndcg` and `map`, which count what
*should* have been retrieved, ask only for the place that the ranking finds first.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chunk_assets.evaluation.evidence import Evidence
from chunk_assets.evaluation.relevance import Relevant
from chunk_assets.evaluation.spans import Integers, summed

Values = npt.NDArray[np.float64]
_UNRANKED = np.iinfo(np.int64).max


class Ranking(NamedTuple):
    """Retrieved units in rank order: parallel arrays, sorted by query, then rank."""

    query: Integers
    unit: Integers
    """Chunk or document, numbered from 0; at most once per query."""
    position: Integers
    """0-based rank within the query, without gaps."""

    def collapsed(self, document_of_unit: Integers) -> "Ranking":
        """The ranking of documents: each stands where its first chunk stands."""
        document = document_of_unit[self.unit]
        documents = int(document_of_unit.max(initial=0)) + 1
        _, first = np.unique(self.query * documents + document, return_index=True)
        first = np.sort(first)
        return Ranking(self.query[first], document[first], positions(self.query[first]))


def positions(query: Integers) -> Integers:
    """0-based positions within each run of equal values: `[7, 7, 9]` → `[0, 1, 0]`."""
    opens = np.flatnonzero(np.diff(query, prepend=-1))
    lengths = np.diff(np.append(opens, len(query)))
    return np.arange(len(query)) - np.repeat(opens, lengths)


def first_positions(evidence: Evidence, relevant: Relevant, ranking: Ranking) -> Integers:
    """Where a ranking finds each place: the position of its first relevant unit.

    Returns:
        Shape (places,); the greatest int64 where it finds none.
    """
    found = np.full(len(evidence.piece), _UNRANKED, dtype=np.int64)
    if not len(ranking.unit) or not len(relevant.unit):
        return found
    units = int(max(ranking.unit.max(), relevant.unit.max())) + 1
    ranked = ranking.query * units + ranking.unit
    order = np.argsort(ranked)
    wanted = evidence.spans.query[relevant.place] * units + relevant.unit
    slot = np.minimum(np.searchsorted(ranked, wanted, sorter=order), len(ranked) - 1)
    is_ranked = ranked[order[slot]] == wanted
    np.minimum.at(found, relevant.place[is_ranked], ranking.position[order[slot[is_ranked]]])
    return found


def evidence_recall(
    evidence: Evidence, first: Integers, queries: int, ks: Sequence[int]
) -> dict[int, Values]:
    """The share of a query's pieces of evidence that the first k units are relevant to, per k.

    Unlike `recall`, it does not depend on how many chunks a strategy makes of the evidence, so
    strategies can be compared by it.

    Args:
        evidence: the places; every query scored has at least one.
        first: where the ranking finds each place, from `first_positions`.
        queries: number of queries.
        ks: cutoffs.
    """
    query = evidence.first_places().spans.query
    pieces = summed(query, np.ones(len(query), dtype=np.int64), queries)
    best = first[evidence.best_places(first)]
    return {
        k: summed(query, (best < k).astype(np.int64), queries) / np.maximum(pieces, 1) for k in ks
    }


def ranking_metrics(
    evidence: Evidence, relevant: Relevant, ranking: Ranking, queries: int, ks: Sequence[int]
) -> dict[tuple[str, int | None], Values]:
    """Every metric of this module by (name, k): arrays of shape (queries,)."""
    first = first_positions(evidence, relevant, ranking)
    is_asked_for = np.zeros(len(evidence.piece), dtype=bool)
    is_asked_for[evidence.best_places(first)] = True
    run: dict[str, dict[str, float]] = {}
    for query, unit, position in zip(*(column.tolist() for column in ranking), strict=True):
        run.setdefault(str(query), {})[str(unit)] = -float(position)

    cut = ",".join(map(str, ks))
    everything = np.ones(len(relevant.place), dtype=bool)
    scores = [
        _scores(
            _qrels(evidence, relevant, everything),
            run,
            {f"P.{cut}", f"success.{cut}", "recip_rank"},
        ),
        _scores(
            _qrels(evidence, relevant, is_asked_for[relevant.place]),
            run,
            {f"recall.{cut}", f"ndcg_cut.{cut}", "map"},
        ),
    ]
    values: dict[tuple[str, int | None], Values] = {}
    for name, prefix in _AT_K.items():
        for k in ks:
            values[name, k] = _column(scores, f"{prefix}_{k}", queries)
    for name in ("recip_rank", "map"):
        values[name, None] = _column(scores, name, queries)
    return values


_AT_K = {"recall": "recall", "precision": "P", "ndcg": "ndcg_cut", "hit": "success"}


def _qrels(
    evidence: Evidence, relevant: Relevant, which: npt.NDArray[np.bool_]
) -> dict[str, dict[str, int]]:
    """Graded judgements; a unit relevant to several places has the highest grade of them."""
    place, unit = relevant.place[which], relevant.unit[which]
    qrels: dict[str, dict[str, int]] = {}
    for query, judged, grade in zip(
        evidence.spans.query[place].tolist(),
        unit.tolist(),
        evidence.relevance[place].tolist(),
        strict=True,
    ):
        grades = qrels.setdefault(str(query), {})
        grades[str(judged)] = max(grade, grades.get(str(judged), 0))
    return qrels


def _scores(
    qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]], measures: set[str]
) -> Mapping[str, Mapping[str, float]]:
    import pytrec_eval

    evaluator = pytrec_eval.RelevanceEvaluator(qrels, measures)
    scores: Mapping[str, Mapping[str, float]] = evaluator.evaluate(run)
    return scores


def _column(scores: Sequence[Mapping[str, Mapping[str, float]]], name: str, queries: int) -> Values:
    column = np.zeros(queries)
    for by_query in scores:
        for query, measured in by_query.items():
            if name in measured:
                column[int(query)] = measured[name]
    return column

"""Scoring the rankings of one index against a gold set: tables in, tables out."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from chunk_assets.evaluation.anchor import Anchoring
from chunk_assets.evaluation.config import GoldSetConfig
from chunk_assets.evaluation.inputs import Inputs
from chunk_assets.evaluation.measure import Measure
from chunk_assets.evaluation.metrics import (
    Values,
    evidence_recall,
    first_positions,
    ranking_metrics,
)
from chunk_assets.evaluation.relevance import Relevant, relevant_chunks
from chunk_assets.evaluation.span_metrics import precision_omega, span_scores, within_budget
from chunk_assets.evaluation.spans import summed
from chunk_assets.evaluation.tables import per_query_table, summary_table


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A piece of evidence none of whose places any chunk of the index overlaps."""

    query_id: str
    piece: int
    """0-based, among the query's pieces."""


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """What one index scores on one gold set."""

    per_query: pa.Table
    """Schema `PER_QUERY_SCHEMA` of `chunk_assets.evaluation.tables`."""
    summary: pa.Table
    """Schema `SUMMARY_SCHEMA` of `chunk_assets.evaluation.tables`."""
    unreachable: tuple[Unreachable, ...]


def evaluate(
    run: pa.Table, gold: Anchoring, chunks: pa.Table, config: GoldSetConfig
) -> EvaluationResult:
    """Score rankings.

    Every anchored query is scored; one for which nothing was retrieved scores 0. Metrics:

    * of chunks, at each of `config.ks` (`cutoff_unit` chunks): `evidence_recall`, `recall`,
      `precision`, `ndcg`, `hit`, `retrieved_tokens`; and `recip_rank`, `map` of the whole ranking
      (`chunk_assets.evaluation.metrics`);
    * of characters, at each k and at each of `config.token_budgets` (`cutoff_unit` tokens):
      `span_recall`, `span_precision`, `span_iou`; and `precision_omega` of the index
      (`chunk_assets.evaluation.span_metrics`);
    * of documents, unless each query is searched in its own document (`cutoff_unit` documents; a
      document ranks where its first chunk does): `document_recall`, `document_precision`,
      `document_ndcg`, `document_hit`, `document_recip_rank`, `document_map`.

    Queries whose gold is documents only have document metrics only.

    Args:
        run: retrieved chunks, rows in any order, with the columns `RUN_COLUMNS` of
            `chunk_assets.evaluation.tables`.
        gold: the anchored gold set; rows of queries that did not anchor are left out.
        chunks: the index, with the columns `CHUNK_COLUMNS`.
        config: cutoffs, relevance rule, intervals.

    Raises:
        EvaluationError: if the run has a query that the gold set has not, a chunk that the index
            has not, or the same rank or chunk twice for a query.
    """
    inputs = Inputs(run, gold, chunks)
    queries = gold.queries
    relevant = relevant_chunks(
        inputs.evidence, inputs.chunks.start, inputs.chunks.end, config.relevance_overlap
    )
    has_evidence = np.array([bool(query.evidence) for query in queries], dtype=bool)
    of_evidence = {
        **_of_chunks(inputs, relevant, len(queries), config),
        **_of_spans(inputs, len(queries), config),
    }
    parts = [(has_evidence, of_evidence)]
    if config.scope == "corpus":
        of_documents = ranking_metrics(
            inputs.documents,
            inputs.relevant_documents,
            inputs.ranking.collapsed(inputs.document_of_chunk),
            len(queries),
            config.ks,
        )
        named = {
            Measure(f"document_{name}", None if k is None else "documents", k): values
            for (name, k), values in of_documents.items()
        }
        parts.append((np.ones(len(queries), dtype=bool), named))
    return EvaluationResult(
        per_query=pa.concat_tables(
            [per_query_table(scores, queries, defined) for defined, scores in parts]
        ),
        summary=pa.concat_tables(
            [
                summary_table(
                    scores,
                    queries,
                    defined,
                    confidence=config.confidence,
                    resamples=config.resamples,
                    seed=config.seed,
                )
                for defined, scores in parts
            ]
        ),
        unreachable=_unreachable(inputs, relevant, gold),
    )


def _of_chunks(
    inputs: Inputs, relevant: Relevant, queries: int, config: GoldSetConfig
) -> dict[Measure, Values]:
    """Metrics of the ranking of chunks."""
    evidence, ranking = inputs.evidence, inputs.ranking
    first = first_positions(evidence, relevant, ranking)
    found = evidence_recall(evidence, first, queries, config.ks)
    scores = {Measure("evidence_recall", "chunks", k): values for k, values in found.items()}
    for (name, k), values in ranking_metrics(
        evidence, relevant, ranking, queries, config.ks
    ).items():
        scores[Measure(name, None if k is None else "chunks", k)] = values
    for k in config.ks:
        is_read = ranking.position < k
        read = summed(ranking.query[is_read], inputs.tokens[is_read], queries)
        scores[Measure("retrieved_tokens", "chunks", k)] = read.astype(np.float64)
    return scores


def _of_spans(inputs: Inputs, queries: int, config: GoldSetConfig) -> dict[Measure, Values]:
    """Metrics of the characters read."""
    readings = [
        (Measure("", "chunks", k), inputs.retrieved.take(inputs.ranking.position < k))
        for k in config.ks
    ] + [
        (Measure("", "tokens", budget), within_budget(inputs.retrieved, inputs.tokens, budget))
        for budget in config.token_budgets
    ]
    scores: dict[Measure, Values] = {}
    for cutoff, read in readings:
        scored = span_scores(read, inputs.evidence, queries, inputs.axis.size)
        for name, values in scored._asdict().items():
            scores[cutoff._replace(metric=f"span_{name}")] = values
    scores[Measure("precision_omega")] = precision_omega(
        inputs.chunks, inputs.evidence, queries, inputs.axis.size
    )
    return scores


def _unreachable(inputs: Inputs, relevant: Relevant, gold: Anchoring) -> tuple[Unreachable, ...]:
    reached = set(inputs.evidence.piece[relevant.place].tolist())
    pieces = [
        Unreachable(query.query_id, piece)
        for query in gold.queries
        for piece in range(len(query.evidence))
    ]
    return tuple(lost for number, lost in enumerate(pieces) if number not in reached)

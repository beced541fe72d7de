"""Rankings, index and gold set as arrays on one axis."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chunk_assets.errors import EvaluationError
from chunk_assets.evaluation.anchor import AnchoredQuery, Anchoring
from chunk_assets.evaluation.evidence import Evidence
from chunk_assets.evaluation.metrics import Ranking, positions
from chunk_assets.evaluation.relevance import Relevant
from chunk_assets.evaluation.spans import Axis, Integers, Spans
from chunk_assets.evaluation.tables import CHUNK_COLUMNS, RUN_COLUMNS


class Inputs:
    """What is evaluated: queries numbered in the gold set's order, chunks in the index's."""

    def __init__(self, run: pa.Table, gold: Anchoring, chunks: pa.Table) -> None:
        """Bring the tables together.

        Raises:
            EvaluationError: if they do not belong together.
        """
        run = _ranked_rows(run.select(RUN_COLUMNS), gold)
        chunks = chunks.select(CHUNK_COLUMNS)
        evidence = _Places(gold.queries)
        documents = _Documents(gold.queries)
        run_uris, chunk_uris = run["uri"].to_pylist(), chunks["uri"].to_pylist()
        self.axis = Axis(
            [
                (chunk_uris, _integers(chunks, "end")),
                (run_uris, _integers(run, "end")),
                (evidence.uris, evidence.end),
                (documents.uris, np.zeros(len(documents.uris), dtype=np.int64)),
            ]
        )
        self.chunks = self.axis.spans(
            np.zeros(chunks.num_rows, dtype=np.int64),
            chunk_uris,
            _integers(chunks, "start"),
            _integers(chunks, "end"),
        )
        self.document_of_chunk = self.axis.codes(chunk_uris)
        query = _integers(run, "query")
        self.retrieved = self.axis.spans(
            query, run_uris, _integers(run, "start"), _integers(run, "end")
        )
        self.tokens = _integers(run, "tokens")
        self.ranking = Ranking(query, _chunk_numbers(run, chunks), positions(query))
        self.evidence = Evidence(
            self.axis.spans(evidence.query, evidence.uris, evidence.start, evidence.end),
            evidence.piece,
            evidence.relevance,
        )
        nowhere = np.zeros(len(documents.uris), dtype=np.int64)
        self.documents = Evidence(
            Spans(documents.query, nowhere, nowhere), documents.piece, documents.relevance
        )
        self.relevant_documents = Relevant(
            np.arange(len(documents.uris), dtype=np.int64), self.axis.codes(documents.uris)
        )


class _Places:
    """Every place of every piece of evidence."""

    def __init__(self, queries: Sequence[AnchoredQuery]) -> None:
        pieces = [
            (number, piece) for number, query in enumerate(queries) for piece in query.evidence
        ]
        places = [
            (number, index, place)
            for index, (number, piece) in enumerate(pieces)
            for place in piece
        ]
        self.query = _array([number for number, _, _ in places])
        self.piece = _array([index for _, index, _ in places])
        self.uris = [place.doc_id for _, _, place in places]
        self.start = _array([place.start for _, _, place in places])
        self.end = _array([place.end for _, _, place in places])
        self.relevance = _array([place.relevance for _, _, place in places])


class _Documents:
    """Gold as documents: those that evidence lies in, and those judged as a whole."""

    def __init__(self, queries: Sequence[AnchoredQuery]) -> None:
        pieces = [
            (number, piece)
            for number, query in enumerate(queries)
            for piece in [
                *([(place.doc_id, place.relevance) for place in piece] for piece in query.evidence),
                *([judged] for judged in query.documents.items()),
            ]
        ]
        places = [
            (number, index, *place)
            for index, (number, piece) in enumerate(pieces)
            for place in piece
        ]
        self.query = _array([number for number, _, _, _ in places])
        self.piece = _array([index for _, index, _, _ in places])
        self.uris = [uri for _, _, uri, _ in places]
        self.relevance = _array([relevance for _, _, _, relevance in places])


def _ranked_rows(run: pa.Table, gold: Anchoring) -> pa.Table:
    """The rows of anchored queries, by query and rank, with the query's number."""
    number: Mapping[str, int] = {query.query_id: index for index, query in enumerate(gold.queries)}
    not_scored = {lost.query_id for lost in gold.unanchored}
    names = run["query_id"].to_pylist()
    unknown = sorted({name for name in names if name not in number and name not in not_scored})
    if unknown:
        raise EvaluationError(
            f"the run has queries that the gold set has not ({len(unknown)}, such as "
            f"{unknown[0]!r}). Retrieve again with the present gold set."
        )
    query = pa.array([number.get(name, -1) for name in names], pa.int64())
    run = run.append_column("query", query).filter(pc.greater_equal(query, 0))
    run = run.sort_by([("query", "ascending"), ("rank", "ascending")])
    for column in ("rank", "chunk_id"):
        counted = run.group_by(["query_id", column]).aggregate([([], "count_all")])
        repeated = counted.filter(pc.greater(counted["count_all"], 1)).slice(0, 1).to_pylist()
        if repeated:
            raise EvaluationError(
                f"the run has {column} {repeated[0][column]!r} more than once for query "
                f"{repeated[0]['query_id']!r}. A ranking has each rank and each chunk once."
            )
    return run


def _chunk_numbers(run: pa.Table, chunks: pa.Table) -> Integers:
    """The row in the index of each retrieved chunk."""
    chunk_ids = run["chunk_id"].to_pylist()
    number = {chunk_id: index for index, chunk_id in enumerate(chunks["chunk_id"].to_pylist())}
    missing = [chunk_id for chunk_id in chunk_ids if chunk_id not in number]
    if missing:
        raise EvaluationError(
            f"the run has chunks that the index has not ({len(missing)} rows, such as "
            f"{missing[0]!r}). Retrieve again from the present index."
        )
    return _array([number[chunk_id] for chunk_id in chunk_ids])


def _integers(table: pa.Table, column: str) -> Integers:
    if table[column].null_count:
        raise EvaluationError(
            f"`{column}` is missing in {table[column].null_count} of {table.num_rows} rows, but "
            "every row needs it. Make the table again."
        )
    numbers: Integers = table[column].to_numpy().astype(np.int64)
    return numbers


def _array(numbers: Sequence[int]) -> Integers:
    return np.array(numbers, dtype=np.int64)

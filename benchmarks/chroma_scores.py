"""Scores as Chroma's code computes them (base_evaluation.py at commit d451fc4).

They differ from this project's own span metrics in three ways. Two are options of the same
functions: text that two retrieved chunks share counts twice among what was read, and PrecisionΩ
also takes chunks that only touch an excerpt. The third is where a chunk stands: that code searches
the document for the chunk's text and takes the first occurrence (`first_occurrence`), which moves
chunks of text that repeats (one in six of the 200-token windows, nearly all in `finance`) onto an
earlier copy. "Tokens" in the report's text are characters in its code. Spreads are population
standard deviations over questions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.chroma_data import ChromaData
from chunk_assets.evaluation.evidence import Evidence
from chunk_assets.evaluation.span_metrics import precision_omega, span_scores, within_budget
from chunk_assets.evaluation.spans import Axis, Spans

Span = tuple[str, int, int]
"""Document, start, end."""
Values = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation, in per cent."""

    mean: float
    sd: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.sd:.1f}"


class Scorer:
    """Scores against the excerpts of one choice of corpora."""

    def __init__(self, data: ChromaData) -> None:
        self._queries = len(data.queries)
        self._axis = Axis(
            [(list(data.texts), np.array([len(text) for text in data.texts.values()]))]
        )
        places = [
            (number, place)
            for number, query in enumerate(data.queries)
            for (place,) in query.evidence
        ]
        self._evidence = Evidence(
            self._spans(
                [number for number, _ in places],
                [(place.doc_id, place.start, place.end) for _, place in places],
            ),
            np.arange(len(places), dtype=np.int64),
            np.ones(len(places), dtype=np.int64),
        )

    def precision_omega(self, chunks: Sequence[Span]) -> Values:
        """PrecisionΩ of a chunking, per question."""
        return precision_omega(
            self._spans([0] * len(chunks), chunks),
            self._evidence,
            self._queries,
            self._axis.size,
            touching=True,
        )

    def scores(self, retrieved: Sequence[Sequence[Span]]) -> Mapping[str, Values]:
        """Recall, precision and IoU of the chunks retrieved for each question."""
        flat = [(number, span) for number, spans in enumerate(retrieved) for span in spans]
        scores = span_scores(
            self._spans([number for number, _ in flat], [span for _, span in flat]),
            self._evidence,
            self._queries,
            self._axis.size,
            count_repeats=True,
        )
        return scores._asdict()

    def recall_within(self, retrieved: Sequence[Sequence[tuple[Span, int]]], budget: int) -> Values:
        """Recall of what fits into a budget of tokens, given chunks with their tokens."""
        flat = [(number, *chunk) for number, chunks in enumerate(retrieved) for chunk in chunks]
        spans = self._spans([number for number, _, _ in flat], [span for _, span, _ in flat])
        tokens = np.array([tokens for _, _, tokens in flat], dtype=np.int64)
        read = within_budget(spans, tokens, budget)
        return span_scores(read, self._evidence, self._queries, self._axis.size).recall

    def _spans(self, query: Sequence[int], spans: Sequence[Span]) -> Spans:
        return self._axis.spans(
            np.array(query, dtype=np.int64),
            [uri for uri, _, _ in spans],
            np.array([start for _, start, _ in spans], dtype=np.int64),
            np.array([end for _, _, end in spans], dtype=np.int64),
        )


def first_occurrence(text: str, start: int, end: int) -> tuple[int, int]:
    """Where Chroma's code believes a chunk to stand; it also cuts off a full stop at the end."""
    chunk = text[start:end].removesuffix(".")
    found = text.find(chunk)
    return found, found + len(chunk)


def spread(values: Values) -> Spread:
    """Mean and population standard deviation over questions, in per cent."""
    return Spread(100 * float(values.mean()), 100 * float(values.std()))

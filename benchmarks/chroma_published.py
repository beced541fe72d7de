"""Chroma's published tables: all five corpora, 472 questions, 5 retrieved chunks, per cent.

Source: Smith, B. and Troynikov, A., "Evaluating Chunking Strategies for Retrieval", Chroma
Technical Report, July 2024, https://research.trychroma.com/evaluating-chunking. Sizes are in
cl100k tokens, the mean size in brackets.

What is known of them: the report's appendix gives up to 1.7 points of recall other than its main
table for the same runs, so a reproduction within about 2 points is as close as the report is to
itself. The MiniLM table was not made with the chunks that its caption names (TokenText and
Recursive 200/0 have a PrecisionΩ here that differs from the other table's, though no embedding has
a part in it).
"""

from dataclasses import dataclass

from benchmarks.chroma_scores import Spread


@dataclass(frozen=True, slots=True)
class Published:
    """One row of a table."""

    chunking: str
    size: str
    overlap: int
    recall: Spread
    precision: Spread
    precision_omega: Spread
    iou: Spread


def _rows(table: str) -> tuple[Published, ...]:
    rows = []
    for line in table.strip().splitlines():
        chunking, size, overlap, *spreads = (cell.strip() for cell in line.split("|"))
        measured = [Spread(*(float(part) for part in spread.split("±"))) for spread in spreads]
        rows.append(Published(chunking, size, int(overlap), *measured))
    return tuple(rows)


MINILM = _rows(
    """
    Recursive | 250 (~180) | 125 | 78.7 ± 39.2 | 4.9 ± 4.5 | 21.9 ± 14.9 | 4.9 ± 4.4
    TokenText | 250        | 125 | 82.4 ± 36.2 | 3.6 ± 3.1 | 11.4 ± 6.6  | 3.5 ± 3.1
    Recursive | 250 (~162) | 0   | 78.5 ± 39.5 | 5.4 ± 4.9 | 26.7 ± 18.3 | 5.4 ± 4.9
    TokenText | 250        | 0   | 77.1 ± 39.3 | 3.3 ± 3.0 | 16.4 ± 10.3 | 3.3 ± 3.0
    Recursive | 200 (~128) | 0   | 75.7 ± 40.7 | 6.5 ± 6.2 | 31.2 ± 18.4 | 6.5 ± 6.1
    TokenText | 200        | 0   | 76.6 ± 38.8 | 4.1 ± 3.7 | 19.1 ± 11.0 | 4.1 ± 3.6
    Cluster   | 250 (~168) | 0   | 77.3 ± 38.6 | 6.1 ± 5.1 | 28.6 ± 16.7 | 6.0 ± 5.1
    Cluster   | 200 (~102) | 0   | 75.2 ± 39.9 | 7.2 ± 6.1 | 33.6 ± 20.0 | 7.2 ± 6.0
    """
)
"""all-MiniLM-L6-v2."""

LARGE = _rows(
    """
    Recursive   | 800 (~661)   | 400 | 85.4 ± 34.9 | 1.5 ± 1.3 | 6.7 ± 5.2   | 1.5 ± 1.3
    TokenText   | 800          | 400 | 87.9 ± 31.7 | 1.4 ± 1.1 | 4.7 ± 3.1   | 1.4 ± 1.1
    Recursive   | 400 (~312)   | 200 | 88.1 ± 31.6 | 3.3 ± 2.7 | 13.9 ± 10.4 | 3.3 ± 2.7
    TokenText   | 400          | 200 | 88.6 ± 29.7 | 2.7 ± 2.2 | 8.4 ± 5.1   | 2.7 ± 2.2
    Recursive   | 400 (~276)   | 0   | 89.5 ± 29.7 | 3.6 ± 3.2 | 17.7 ± 14.0 | 3.6 ± 3.2
    TokenText   | 400          | 0   | 89.2 ± 29.2 | 2.7 ± 2.2 | 12.5 ± 8.1  | 2.7 ± 2.2
    Recursive   | 200 (~137)   | 0   | 88.1 ± 30.1 | 7.0 ± 5.6 | 29.9 ± 18.4 | 6.9 ± 5.6
    TokenText   | 200          | 0   | 87.0 ± 30.8 | 5.2 ± 4.1 | 21.0 ± 11.9 | 5.1 ± 4.1
    Kamradt     | N/A (~660)   | 0   | 83.6 ± 36.8 | 1.5 ± 1.6 | 7.4 ± 10.2  | 1.5 ± 1.6
    KamradtMod  | 300 (~397)   | 0   | 87.1 ± 31.9 | 2.1 ± 2.0 | 10.5 ± 12.3 | 2.1 ± 2.0
    Cluster     | 400 (~182)   | 0   | 91.3 ± 25.4 | 4.5 ± 3.4 | 20.7 ± 14.5 | 4.5 ± 3.4
    Cluster     | 200 (~103)   | 0   | 87.3 ± 29.8 | 8.0 ± 6.0 | 34.0 ± 19.7 | 8.0 ± 6.0
    LLM (GPT-4o) | N/A (~240)  | 0   | 91.9 ± 26.5 | 3.9 ± 3.2 | 19.9 ± 16.3 | 3.9 ± 3.2
    """
)
"""text-embedding-3-large."""

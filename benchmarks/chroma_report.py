"""The tables that the benchmark prints and keeps."""

from collections.abc import Iterable, Mapping, Sequence

from benchmarks.chroma_data import ChromaData
from benchmarks.chroma_published import LARGE, MINILM
from benchmarks.chroma_run import BUDGETS, RETRIEVED, Result
from benchmarks.chroma_scores import Scorer, first_occurrence, spread
from benchmarks.chroma_token_windows import Cl100k, windows

SOURCE = (
    'Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval", Chroma Technical Report, '
    "July 2024 (https://research.trychroma.com/evaluating-chunking)"
)


def full_report(results: Sequence[Result], facts: Mapping[str, object], complete: bool) -> str:
    """Our strategies beside the published MiniLM table.

    Args:
        results: ours.
        facts: of the machine and the run.
        complete: whether all corpora were used; otherwise the published figures, which are over
            all of them, are left out.
    """
    ours = [
        (
            result.strategy,
            f"{result.mean_tokens:.0f}",
            str(result.chunks),
            result.recall,
            result.precision,
            result.precision_omega,
            result.iou,
        )
        for result in results
    ]
    published = [
        (
            f"*published: {row.chunking} {row.size.split()[0]}/{row.overlap}*",
            row.size.partition("~")[2].rstrip(")") or row.size,
            "",
            row.recall,
            row.precision,
            row.precision_omega,
            row.iou,
        )
        for row in MINILM
    ]
    headings = ("chunking", "mean tokens", "chunks", "recall", "precision", "PrecisionΩ", "IoU")
    exact = [
        (
            result.strategy,
            result.exact_recall,
            result.exact_precision_omega,
            *(result.recall_at_tokens[budget] for budget in BUDGETS),
        )
        for result in results
    ]
    return "\n".join(
        [
            "# Chroma's chunking evaluation",
            "",
            f"all-MiniLM-L6-v2, {facts['questions']} questions, {RETRIEVED} chunks retrieved, "
            "per cent, mean ± standard deviation over questions, by the definitions of Chroma's "
            "code (`benchmarks/chroma_scores.py` says how they differ from this project's own).",
            "Our sizes are tokens of MiniLM; the published ones are given as cl100k tokens. Rows "
            "of different chunk sizes read different amounts of text: compare them in the second "
            "table. The corpora have no Markdown headings, so `hierarchy` cuts them as "
            "`sentence_aware` does.",
            "",
            *_table(headings, [*ours, *(published if complete else [])]),
            "",
            "The same runs with chunks where they really stand (Chroma's code puts a chunk whose "
            f"text repeats at its first occurrence): recall of {RETRIEVED} chunks, PrecisionΩ, and "
            "recall at equal budgets of retrieved MiniLM tokens.",
            "",
            *_table(
                (
                    "chunking",
                    f"recall@{RETRIEVED} chunks",
                    "PrecisionΩ",
                    *(f"recall@{budget} tokens" for budget in BUDGETS),
                ),
                exact,
            ),
            "",
            "; ".join(f"{name}: {_fact(value)}" for name, value in facts.items()) + ".",
            "",
            f"Published figures: {SOURCE}.",
        ]
    )


def precision_omega_report(data: ChromaData) -> str:
    """PrecisionΩ of token windows beside the published one: what needs no model.

    Raises:
        ImportError: if bpe-openai is not installed.
    """
    scorer, encoding = Scorer(data), Cl100k()
    borders = {uri: encoding.borders(text) for uri, text in data.texts.items()}
    rows = []
    for row in LARGE:
        if row.chunking != "TokenText":
            continue
        chunks = [
            (uri, *window)
            for uri in data.texts
            for window in windows(borders[uri], int(row.size), row.overlap)
        ]
        found = [
            (uri, *first_occurrence(data.texts[uri], start, end)) for uri, start, end in chunks
        ]
        rows.append(
            (
                f"{row.chunking} {row.size}/{row.overlap}",
                spread(scorer.precision_omega(found)),
                row.precision_omega,
                spread(scorer.precision_omega(chunks)),
            )
        )
    headings = ("chunking", "computed here", "published", "with chunks where they really stand")
    return "\n".join([*_table(headings, rows), "", f"Published figures: {SOURCE}."])


def _table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    return [
        f"| {' | '.join(str(cell) for cell in row)} |"
        for row in [headings, ["---"] * len(headings), *rows]
    ]


def _fact(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)

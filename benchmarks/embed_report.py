"""The page that the benchmark of embedding prints and keeps."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.embed_contenders import DEFAULT, OURS
from benchmarks.embed_process import Timing
from benchmarks.embed_reuse import Step

_NEIGHBOURS = 10


@dataclass(frozen=True, slots=True)
class Round:
    """One share of the texts, through every contender one after the other."""

    tokens: int
    """Of the inputs, special ones included, without padding."""
    flops: int
    """What they cost without padding."""
    gemm_flops_per_s: Mapping[str, float]
    """What the cores multiplied just before, by precision."""
    timings: Mapping[str, Timing]


@dataclass(frozen=True, slots=True)
class Likeness:
    """A contender's vectors beside those of the reference."""

    least_cosine: float
    mean_cosine: float
    same_neighbours: float
    """The share of the ten nearest other texts that is the same, mean over the queries."""


def likeness(
    vectors: npt.NDArray[np.float32], reference: npt.NDArray[np.float32], queries: int = 500
) -> Likeness:
    """Compare vectors of the same texts: shapes (texts, dimension)."""
    one, other = _unit(vectors), _unit(reference)
    cosines = np.sum(one * other, axis=1)
    shared = [
        len(_nearest(one, query) & _nearest(other, query)) / _NEIGHBOURS
        for query in range(min(queries, len(one)))
    ]
    return Likeness(float(cosines.min()), float(cosines.mean()), float(np.mean(shared)))


def _nearest(vectors: npt.NDArray[np.float64], query: int) -> set[int]:
    scores = vectors @ vectors[query]
    scores[query] = -np.inf
    return {int(position) for position in np.argsort(-scores, kind="stable")[:_NEIGHBOURS]}


def _unit(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    exact = vectors.astype(np.float64)
    return np.asarray(exact / np.linalg.norm(exact, axis=1, keepdims=True))


def speed(rounds: Sequence[Round], name: str) -> float:
    """Tokens per second: median over rounds."""
    return statistics.median(each.tokens / each.timings[name].wall_s for each in rounds)


def times_default(rounds: Sequence[Round], name: str, *, cpu: bool = False) -> float:
    """How many times as fast as sentence-transformers' default: median over rounds.

    Args:
        rounds: all of them.
        name: the contender.
        cpu: compare CPU seconds, which know little of who else was at work.
    """

    def seconds(timing: Timing) -> float:
        return timing.cpu_s if cpu else timing.wall_s

    return statistics.median(
        seconds(each.timings[DEFAULT]) / seconds(each.timings[name]) for each in rounds
    )


def share_of_peak(rounds: Sequence[Round], name: str, precision: str) -> float:
    """Useful operations per second by what the cores multiplied in the same round: median."""
    return statistics.median(
        each.flops / each.timings[name].wall_s / each.gemm_flops_per_s[precision] for each in rounds
    )


def report(
    rounds: Sequence[Round],
    alike: Mapping[str, Likeness],
    skipped: Mapping[str, str],
    seconds: Mapping[str, float],
    steps: Sequence[Step],
    facts: Mapping[str, object],
) -> str:
    """The whole page, in Markdown."""
    names = list(rounds[0].timings)
    peaks = [
        f"{precision} {max(each.gemm_flops_per_s[precision] for each in rounds) / 1e9:,.0f}"
        for precision in rounds[0].gemm_flops_per_s
    ]
    return "\n\n".join(
        [
            "# Embedding",
            f"The same texts with the same weights, in {len(rounds)} interleaved rounds; medians. "
            "Tokens are those of the inputs, without padding. `% of bf16` is the useful work by "
            "what the cores multiply in bfloat16 in the same round (`% of fp32` likewise); the "
            "best of all rounds, in GFLOP/s: " + ", ".join(peaks) + ".",
            _table(
                [
                    *["", "tokens/s", "× default", "tokens/CPU-s", "× default (CPU)"],
                    *["% of bf16", "% of fp32", "peak MB", "least cosine", "same top 10"],
                ],
                [_row(name, rounds, alike[name]) for name in names],
            ),
            "Cosines and neighbours are compared with sentence-transformers' default, in float32.",
            *(f"Not run: {name}: {why}" for name, why in skipped.items()),
            "## Where the time goes",
            f"One thread of `{OURS}` on a part of the texts, seconds.",
            _profile_table(seconds),
            *(_bakeoff(steps) if steps else ()),
            _table(["", ""], [[name, str(value)] for name, value in facts.items()]),
        ]
    )


def _bakeoff(steps: Sequence[Step]) -> list[str]:
    return [
        "## Tokens embedded in a bakeoff",
        "Five strategies on one corpus. An embedder without a memory is given every chunk; a "
        "pipeline that compares files, the chunks of the files that changed.",
        _table(
            ["step", OURS, "of changed files", "of all chunks"],
            [[each.name, *map("{:,}".format, _counts(each))] for each in [*steps, _sum_of(steps)]],
        ),
    ]


def _counts(step: Step) -> tuple[int, int, int]:
    return step.embedded_tokens, step.changed_tokens, step.chunk_tokens


def _sum_of(steps: Sequence[Step]) -> Step:
    columns = zip(*map(_counts, steps), strict=True)
    embedded, changed, all_chunks = map(sum, columns)
    return Step("**all**", embedded, all_chunks, changed)


def _row(name: str, rounds: Sequence[Round], alike: Likeness) -> list[str]:
    cpu = statistics.median(each.tokens / each.timings[name].cpu_s for each in rounds)
    return [
        name,
        f"{speed(rounds, name):,.0f}",
        f"{times_default(rounds, name):.2f}",
        f"{cpu:,.0f}",
        f"{times_default(rounds, name, cpu=True):.2f}",
        *(f"{share_of_peak(rounds, name, each):.0%}" for each in ("bfloat16", "float32")),
        f"{max(each.timings[name].peak_mb for each in rounds):,.0f}",
        f"{alike.least_cosine:.5f}",
        f"{alike.same_neighbours:.1%}",
    ]


def _profile_table(seconds: Mapping[str, float]) -> str:
    total = sum(seconds.values())
    shown = [(name, spent) for name, spent in seconds.items() if spent >= 0.005 * total]
    rest = total - sum(spent for _, spent in shown)
    return _table(
        ["what", "s", "share"],
        [
            [name, f"{spent:.3f}", f"{spent / total:.1%}"]
            for name, spent in [*shown, ("rest", rest)]
        ],
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

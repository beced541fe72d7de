"""The tables of the GPU benchmark."""

from collections.abc import Iterable, Mapping, Sequence

from benchmarks.embed_gpu_run import ModelResult, WayResult


def report(
    results: Sequence[ModelResult],
    facts: Mapping[str, object],
    gemm_flops: float,
    bandwidth: float,
) -> str:
    """Everything as Markdown.

    Args:
        results: one per model.
        facts: of the machine and the run.
        gemm_flops: FLOP/s of a large square product in the precision of the models.
        bandwidth: bytes per second of a copy within the device, read and written.
    """
    parts = [
        "# Embedding on a GPU",
        "Measured in one run, ways interleaved, medians over rounds. Tokens are those of the "
        "inputs, special ones included, padding apart. FLOPs and bytes are counted by the formulas "
        "in `benchmarks/embed_shapes.py`; bytes are those of a pass whose steps are not fused, "
        "so a share above 100 % means that caches or fusion saved some. Cosines are to our own "
        "float32 vectors, from batches without padding. All ways share a process, so our switches "
        "for products (no TF32, sums in float32) hold for sentence-transformers too.",
        f"Measured limits: {_flops(gemm_flops)} in a large {facts['precision']} product; "
        f"{bandwidth / 1e9:,.1f} GB/s read and written by a copy.",
        _table(["fact", "value"], [[name, str(value)] for name, value in facts.items()]),
    ]
    for result in results:
        parts += _model(result, gemm_flops, bandwidth)
    return "\n\n".join(parts)


def _model(result: ModelResult, gemm_flops: float, bandwidth: float) -> list[str]:
    shape = result.shape
    trials = ", ".join(
        f"{tokens:,}: {rate / 1e6:,.3f}" for tokens, rate in result.budget_trials.items()
    )
    return [
        f"## {result.name}",
        f"{shape.layers} layers, h = {shape.hidden}, i = {shape.intermediate}, "
        f"{result.flops_per_token / 1e6:,.2f} MFLOP a token at {result.mean_length:.0f} tokens an "
        f"input. Linear layers alone: {_flops(result.linear_flops_per_second)} "
        f"({result.linear_flops_per_second / gemm_flops:.0%} of the large product). Least cosine "
        f"of our float32 to sentence-transformers' float32: {result.reference_least_cosine:.7f}.",
        f"Token budget: {result.budget_reason}. Tried (tokens: million tokens/s): {trials or '–'}.",
        _table(
            [
                "way",
                "tokens/s",
                "texts/s",
                "× default",
                "of GEMM peak",
                "of bandwidth",
                "cosine, least",
                "cosine, mean",
                "batch tokens",
                "padding",
                "activations, MiB",
                "rounds",
            ],
            [_row(way, result.ways, gemm_flops, bandwidth) for way in result.ways],
        ),
        *[f"Not run: {name}: {reason}" for name, reason in result.skipped.items()],
        "Where the device's time goes in one pass over a full batch:",
        _table(
            ["kernel", "share"],
            [[f"`{key[:90]}`", f"{share:.1%}"] for key, share in result.kernels.items()],
        ),
    ]


def _row(
    way: WayResult, ways: Sequence[WayResult], gemm_flops: float, bandwidth: float
) -> list[str]:
    default = next(each for each in ways if "default" in each.name)
    return [
        way.name,
        f"{way.tokens_per_second:,.0f}",
        f"{way.texts_per_second:,.0f}",
        f"{way.tokens_per_second / default.tokens_per_second:.2f}",
        f"{way.flops_per_second / gemm_flops:.1%}",
        "–" if way.bytes_per_second is None else f"{way.bytes_per_second / bandwidth:.1%}",
        f"{way.least_cosine:.6f}",
        f"{way.mean_cosine:.6f}",
        "–" if way.batch_tokens is None else f"{way.batch_tokens:,}",
        "–" if way.padding_share is None else f"{way.padding_share:.1%}",
        f"{way.peak_bytes / 2**20:,.0f}" if way.peak_bytes else "–",
        str(way.rounds),
    ]


def _flops(rate: float) -> str:
    return f"{rate / 1e12:,.1f} TFLOP/s" if rate > 1e12 else f"{rate / 1e9:,.1f} GFLOP/s"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

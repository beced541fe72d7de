"""Small plots for the UI, as PNG inside Markdown (the UI strips `<svg>`)."""

import base64
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import dagster as dg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_BYTES = 50_000  # metadata lives in Dagster's event log, which should stay small


def histogram(values: Sequence[float], label: str, mark: float | None = None) -> dg.MetadataValue:
    """How values are distributed; `mark` draws a limit."""
    if not values:
        return dg.MetadataValue.md("_nothing to plot_")
    figure = _figure(5.0, 2.2)
    # Fixed margins: a layout engine draws everything twice, and this is drawn in every run.
    figure.subplots_adjust(left=0.1, right=0.97, bottom=0.24, top=0.95)
    axes = figure.add_subplot()
    axes.hist(values, bins=min(40, max(5, len(set(values)))), color="#4f6bed")
    if mark is not None:
        axes.axvline(mark, color="#d13438", linewidth=1, label=f"limit {mark:g}")
        axes.legend(frameon=False, fontsize=8)
    axes.set_xlabel(label, fontsize=8)
    axes.tick_params(labelsize=7)
    return _markdown(figure)


def intervals(
    labels: Sequence[str],
    means: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    label: str,
) -> dg.MetadataValue:
    """Shares between 0 and 1 with their intervals, one line each, the first on top."""
    if not labels:
        return dg.MetadataValue.md("_nothing to plot_")
    figure = _figure(6.0, 0.8 + 0.35 * len(labels), layout="constrained")
    axes = figure.add_subplot()
    places = range(len(labels))
    # A corrected interval may end short of the mean; matplotlib refuses negative lengths.
    errors = [
        [max(0.0, mean - low) for mean, low in zip(means, lows, strict=True)],
        [max(0.0, high - mean) for mean, high in zip(means, highs, strict=True)],
    ]
    axes.errorbar(means, places, xerr=errors, fmt="o", color="#4f6bed", capsize=3)
    axes.set_yticks(list(places), labels, fontsize=8)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_xlim(0, 1)
    axes.set_xlabel(label, fontsize=8)
    axes.tick_params(axis="x", labelsize=7)
    axes.grid(axis="x", alpha=0.3)
    return _markdown(figure)


def _figure(width: float, height: float, layout: Literal["constrained"] | None = None) -> "Figure":
    # Imported here: matplotlib costs half a second that a run without a plot need not pay.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=80, layout=layout)


def _markdown(figure: "Figure") -> dg.MetadataValue:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    content = buffer.getvalue()
    if len(content) > MAX_BYTES:
        return dg.MetadataValue.md("_the plot is too large for the event log_")
    return dg.MetadataValue.md(
        f"![plot](data:image/png;base64,{base64.b64encode(content).decode()})"
    )

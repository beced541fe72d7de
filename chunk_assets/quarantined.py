"""What is in quarantine now, of all that the configuration defines."""

from collections.abc import Sequence
from typing import Any

from chunk_assets.selection import Selection
from partitions.stages import STAGES, StagePartition, partitions_of
from resources.platform import Platform


def quarantined(platform: Platform, selection: Selection | None = None) -> list[dict[str, Any]]:
    """The rows of the quarantine, by corpus, stage and document.

    What a removed corpus, strategy or bucket left there is not among them.

    Args:
        platform: gives configuration and tables.
        selection: which partitions; None: all.
    """
    chosen = selection or Selection()
    defined = {
        (corpus.name, work)
        for corpus in platform.corpora.values()
        for stage in STAGES
        for work in partitions_of(corpus, stage)
        if chosen.includes(corpus, work)
    }
    order = [("corpus", "ascending"), ("stage", "ascending"), ("uri", "ascending")]
    return [
        row
        for row in platform.tables.read("quarantine").sort_by(order).to_pylist()
        if (row["corpus"], StagePartition(row["stage"], row["partition"])) in defined
    ]


def documents_in(rows: Sequence[dict[str, Any]]) -> int:
    """How many documents rows of the quarantine are about: one may stand there several times."""
    return len({(row["corpus"], row["document_id"]) for row in rows})

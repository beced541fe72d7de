"""The counts that `apply` reports."""

from collections import Counter
from collections.abc import Mapping

from chunk_assets.selection import Selection
from partitions.stages import StagePartition, partitions_of
from resources.platform import Platform


def totals(
    platform: Platform,
    selection: Selection,
    done: Mapping[tuple[str, StagePartition], Mapping[str, int]],
) -> dict[str, dict[str, int]]:
    """The counts of what was done, and of what is there, over all selected partitions.

    Args:
        platform: gives the state that is recorded now.
        selection: what `apply` was about.
        done: the counts of every partition that was materialized; of the others everything stayed.
    """
    documents: Counter[str] = Counter()
    chunks: Counter[str] = Counter()
    embeddings: Counter[str] = Counter()
    points: Counter[str] = Counter()
    for corpus in platform.corpora.values():
        if not selection.includes_corpus(corpus.name):
            continue
        state = platform.run_log.state(corpus.name)
        for stage in ("raw_documents", "documents", "chunks", "embeddings", "collections"):
            for work in partitions_of(corpus, stage):
                if work not in state or not selection.includes(corpus, work):
                    continue
                counts = done.get((corpus.name, work))
                standing = state[work].counts
                match stage:
                    case "raw_documents":
                        _add_documents(documents, counts, standing)
                    case "documents":
                        documents["quarantined"] += standing.get("quarantined", 0)
                    case "chunks":
                        _add_chunks(chunks, counts, standing)
                    case "embeddings" if counts is not None:
                        for name in ("embedded", "reused"):
                            embeddings[name] += counts.get(name, 0)
                        embeddings["tokens"] += counts.get("tokens_embedded", 0)
                    case "collections" if counts is not None:
                        for name in ("written", "updated", "deleted"):
                            points[name] += counts.get(name, 0)
    return {
        "documents": {
            name: documents[name]
            for name in ("seen", "new", "changed", "unchanged", "removed", "quarantined")
        },
        "chunks": {name: chunks[name] for name in ("total", "added", "kept", "moved", "removed")},
        "embeddings": {name: embeddings[name] for name in ("embedded", "reused", "tokens")},
        "points": {name: points[name] for name in ("written", "updated", "deleted")},
    }


def _add_documents(
    total: Counter[str], counts: Mapping[str, int] | None, standing: Mapping[str, int]
) -> None:
    total["seen"] += standing.get("seen", 0)
    total["quarantined"] += standing.get("quarantined", 0)
    if counts is None:
        total["unchanged"] += standing.get("seen", 0)
    else:
        for name in ("new", "changed", "unchanged", "removed"):
            total[name] += counts.get(name, 0)


def _add_chunks(
    total: Counter[str], counts: Mapping[str, int] | None, standing: Mapping[str, int]
) -> None:
    total["total"] += standing.get("chunks", 0)
    if counts is None:
        total["kept"] += standing.get("chunks", 0)
    else:
        for name in ("added", "kept", "moved", "removed"):
            total[name] += counts.get(name, 0)

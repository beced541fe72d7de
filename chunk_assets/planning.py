"""What every partition should be made from; where that differs from what it was made from, work.

The inputs of a partition are names with versions: the data versions of the partitions it reads,
and fingerprints of the configuration and files it depends on. They are recorded with every
materialization, so that what is out of date, and why, is a comparison of two dictionaries.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from chunk_assets.corpus import Corpus
from chunk_assets.lineage.identity import content_hash, fingerprint
from chunk_assets.lineage.sql_models import SqlModel
from partitions.stages import STAGES, StagePartition, partitions_of, split, upstream_of
from resources.platform import Platform
from resources.run_log import OK, UNCHECKED, State

CODE_VERSIONS = dict.fromkeys(STAGES, "1")
"""Raise a stage's number when its algorithm changes for everybody; all of it is then redone."""

MISSING = "missing"

QUARANTINING = ("raw_documents", "documents", "chunks", "embeddings")
"""The stages that put what they cannot process into the quarantine."""


@dataclass(frozen=True, slots=True)
class OutOfDate:
    """A partition that must be materialized, and why."""

    corpus: str
    work: StagePartition
    reasons: tuple[str, ...]


def expected_inputs(
    platform: Platform, corpus: Corpus, work: StagePartition, versions: Mapping[StagePartition, str]
) -> dict[str, str]:
    """The inputs a materialization would have now.

    Args:
        platform: gives configuration fingerprints and source listings.
        corpus: the corpus of the partition.
        work: the partition.
        versions: the data version of every partition that was materialized.
    """
    inputs = {
        str(upstream): versions.get(upstream, MISSING) for upstream in upstream_of(corpus, work)
    }
    model = platform.sql_models.get(work.stage)
    if model is not None:
        return inputs | _sql_inputs(platform, corpus, model, versions)
    return inputs | {"code": CODE_VERSIONS[work.stage]} | _configured(platform, corpus, work)


def _configured(platform: Platform, corpus: Corpus, work: StagePartition) -> dict[str, str]:
    key = work.partition
    index = corpus.indexes.get(key.rpartition("|")[2])
    match work.stage:
        case "raw_documents":
            return {"source listing": platform.listings.of(corpus.name).bucket_fingerprint(key)}
        case "documents":
            return {"parser": platform.parser_fingerprint(corpus)}
        case "strategy_config":
            return {"configuration": platform.strategy_fingerprint(corpus, key)}
        case "embedder_config" if index is not None:
            return {"configuration": platform.embedder(index.embedder).fingerprint}
        case "collections" if index is not None:
            return {
                "configuration": platform.index_fingerprint(corpus, index),
                "served": str(corpus.served_index == index.name),
            }
        case "retrieval_runs":
            return {
                "retrieval": corpus.config.retrieval.fingerprint,
                "gold": _gold_version(platform, corpus, work),
            }
        case "evaluations":
            return {"gold": _gold_version(platform, corpus, work)}
    return {}


def _gold_version(platform: Platform, corpus: Corpus, work: StagePartition) -> str:
    gold_set = split(work.partition)[0]
    path = platform.gold_path(corpus, gold_set)
    content = content_hash(path.read_bytes()) if path.is_file() else MISSING
    settings = corpus.config.gold[gold_set].model_dump(mode="json", exclude={"path", "description"})
    return fingerprint("gold", [content, settings])


def _sql_inputs(
    platform: Platform,
    corpus: Corpus,
    model: SqlModel,
    versions: Mapping[StagePartition, str],
) -> dict[str, str]:
    inputs: dict[str, str] = {"sql": model.fingerprint}
    for stage in stages_behind(model):
        parts = [versions.get(part, MISSING) for part in partitions_of(corpus, stage)]
        inputs[stage] = fingerprint("inputs", parts)
    if "quarantine" in model.reads:
        inputs["quarantine"] = platform.quarantine.version(corpus.name)
    for name in platform.upstream_marts(model):
        inputs[name] = versions.get(StagePartition(name, ""), MISSING)
    return inputs


def stages_behind(model: SqlModel) -> list[str]:
    """The stages whose tables a SQL model reads.

    `runs` and `vectors` are left out: they change with every run, a model's own included, and what
    they say about a corpus changes only together with one of its stages.
    """
    reads = {"evaluations" if name == "evaluation_summaries" else name for name in model.reads}
    if "quarantine" in reads:
        reads.update(QUARANTINING)
    return [stage for stage in STAGES if stage in reads]


def reasons_for(
    work: StagePartition,
    state: State,
    expected: Mapping[str, str],
    is_recorded_by_dagster: Callable[[StagePartition, str], bool],
) -> tuple[str, ...]:
    """Why a partition is out of date; empty if it is not."""
    last = state.get(work)
    if last is None:
        return ("never materialized",)
    if last.status == UNCHECKED:
        return ("its checks have not run",)
    if last.status != OK:
        return (f"its last run did not pass: {last.status}",)
    if not is_recorded_by_dagster(work, last.data_version):
        return ("Dagster has no record of it",)
    changed = sorted({*expected, *last.inputs} - {"code"})
    reasons = [f"{name} changed" for name in changed if expected.get(name) != last.inputs.get(name)]
    if expected.get("code") != last.inputs.get("code"):
        reasons.append(f"code version {last.inputs.get('code')} → {expected.get('code')}")
    return tuple(reasons)


def versions_of(state: State) -> dict[StagePartition, str]:
    """The data version of every partition that was materialized."""
    return {work: materialization.data_version for work, materialization in state.items()}

"""What is out of date, and why, without doing anything about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chunk_assets.corpus import Corpus, Index
from chunk_assets.errors import ConfigurationError, SourceError, VectorStoreError
from chunk_assets.planning import (
    OutOfDate,
    expected_inputs,
    reasons_for,
    stages_behind,
    versions_of,
)
from chunk_assets.selection import Selection
from partitions.stages import STAGES, StagePartition, partitions_of, upstream_of
from resources.platform import Platform
from resources.run_log import State

if TYPE_CHECKING:  # a search looks whether it is out of date, and does without Dagster
    import dagster as dg

WILL_CHANGE = "will change"
DATA_VERSION_TAG = "dagster/data_version"


def stages_of(platform: Platform, corpus: Corpus) -> list[list[StagePartition]]:
    """Every partition of every asset of a corpus, stage by stage in dependency order."""
    stages = [partitions_of(corpus, stage) for stage in STAGES]
    return [*stages, models_of(platform)]


def models_of(platform: Platform) -> list[StagePartition]:
    """The SQL models, which have no partitions, in an order in which they can run."""
    return [StagePartition(name, "") for name in platform.sql_models]


class DagsterRecords:
    """The data versions that Dagster's event log holds, read once per asset."""

    def __init__(self, instance: "dg.DagsterInstance", corpus: str) -> None:
        self._instance = instance
        self._corpus = corpus
        self._versions: dict[str, Mapping[str, str]] = {}

    def has(self, work: StagePartition, data_version: str) -> bool:
        """Whether the latest materialization in the event log has this data version."""
        if work.stage not in self._versions:
            self._versions[work.stage] = self._read(work)
        return self._versions[work.stage].get(work.partition) == data_version

    def _read(self, work: StagePartition) -> Mapping[str, str]:
        import dagster as dg

        key = dg.AssetKey([self._corpus, work.stage])
        if not work.partition:
            event = self._instance.get_latest_materialization_event(key)
            tags = event.asset_materialization.tags if event and event.asset_materialization else {}
            return {"": (tags or {}).get(DATA_VERSION_TAG, "")}
        by_partition = self._instance.event_log_storage.get_latest_tags_by_partition(
            key, dg.DagsterEventType.ASSET_MATERIALIZATION, [DATA_VERSION_TAG]
        )
        return {name: tags[DATA_VERSION_TAG] for name, tags in by_partition.items() if tags}


def lost_collection(platform: Platform, corpus: Corpus, index: Index, points: int) -> str | None:
    """What the vector store does not hold any more of what an index needs; None if all is there.

    Args:
        platform: gives the vector store.
        corpus: the corpus of the index.
        index: the index.
        points: how many points its latest materialization left.
    """
    store = platform.vector_store
    name = platform.collection_name(corpus, index)
    if not store.exists(name):
        return f"its collection {name} is not in the vector store"
    served = [corpus.name] if corpus.served_index == index.name else []
    aliases = store.aliases()
    for alias in (f"{corpus.name}__{index.name}", *served):
        if aliases.get(alias) != name:
            elsewhere = (
                f"points to {aliases[alias]}" if alias in aliases else "is not in the vector store"
            )
            return f"its alias {alias} {elsewhere}"
    try:
        with store.open(name) as collection:
            held = collection.count()
    except VectorStoreError as error:
        return f"its collection cannot be opened: {error}"
    # A damaged collection can open as an empty one, and would answer every search with nothing.
    return None if held == points else f"its collection holds {held} points instead of {points}"


@dataclass
class Inspector:
    """Decides for one partition after the other whether it is out of date.

    `versions` follows what is materialized meanwhile, so the same object serves a dry look
    (`outlook`) and the loop of `apply`.
    """

    platform: Platform
    corpus: Corpus
    state: State
    records: DagsterRecords | None
    """None: neither Dagster's records nor what lies in tables and collections is looked at."""
    versions: dict[StagePartition, str] = field(init=False)
    _tables_seen: dict[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.versions = versions_of(self.state)

    @classmethod
    def of(
        cls, platform: Platform, corpus: Corpus, instance: "dg.DagsterInstance | None"
    ) -> "Inspector":
        """Read the state of a corpus."""
        state = platform.run_log.state(corpus.name)
        records = None if instance is None else DagsterRecords(instance, corpus.name)
        return cls(platform, corpus, state, records)

    def reasons(self, work: StagePartition) -> tuple[str, ...]:
        """Why a partition is out of date now; empty if it is not."""
        expected = expected_inputs(self.platform, self.corpus, work, self.versions)
        if self.records is None:
            return reasons_for(work, self.state, expected, lambda work, version: True)
        reasons = reasons_for(work, self.state, expected, self.records.has)
        if reasons:
            return reasons
        gone = self._lost(work)
        return (gone,) if gone else ()

    def _lost(self, work: StagePartition) -> str | None:
        """What the materialization left behind that is not there any more; None if all is."""
        tables = [self.corpus.table(work.stage)]
        if work.stage == "embeddings" and self.state[work].counts.get("texts"):
            tables.append("vectors")
        for table in tables:
            if (state := self._state_of(table)) is not None:
                return f"the table {table} is {state}"
        if work.stage == "collections":
            index = self.corpus.indexes[work.partition]
            points = self.state[work].counts.get("points", 0)
            return lost_collection(self.platform, self.corpus, index, points)
        return None

    def _state_of(self, table: str) -> str | None:
        if table not in self._tables_seen:
            tables = self.platform.tables
            state = None if tables.exists(table) else "gone"
            if state is None and not tables.is_whole(table):
                state = "damaged"
            self._tables_seen[table] = state
        return self._tables_seen[table]


@dataclass(frozen=True, slots=True)
class Outlook:
    """What `apply` would find."""

    out_of_date: list[OutOfDate]
    """In the order of the work. What lies downstream of an out-of-date partition is listed as well:
    whether it really must be redone shows only when its upstream is (an edit that changes no chunk
    stops there)."""
    unlisted: dict[str, str]
    """Corpora whose source cannot be listed, with the reason: of these nothing is known."""
    remarks: list[str] = field(default_factory=list)
    """What sources left out that somebody might miss."""


def outlook(
    platform: Platform, instance: "dg.DagsterInstance | None", selection: Selection
) -> Outlook:
    """Every selected partition that `apply` would look at; one corpus never hides another.

    Args:
        platform: gives configuration, sources and state.
        instance: Dagster's records; None for a quick look that compares inputs alone.
        selection: what is looked at.
    """
    found: list[OutOfDate] = []
    unlisted: dict[str, str] = {}
    remarks: list[str] = []
    for corpus in platform.corpora.values():
        if not selection.includes_corpus(corpus.name):
            continue
        try:
            listing = platform.listings.of(corpus.name)
        except (SourceError, ConfigurationError) as error:
            unlisted[corpus.name] = str(error)
        else:
            remarks += [f"corpus {corpus.name}: {remark}" for remark in listing.remarks]
            found += _out_of_date(platform, corpus, instance, selection)
    return Outlook(found, unlisted, remarks)


def _out_of_date(
    platform: Platform,
    corpus: Corpus,
    instance: "dg.DagsterInstance | None",
    selection: Selection,
) -> list[OutOfDate]:
    inspector = Inspector.of(platform, corpus, instance)
    changing: dict[StagePartition, str] = {}
    found = []
    for stage in stages_of(platform, corpus):
        for work in stage:
            if not selection.includes(corpus, work):
                continue
            reasons = inspector.reasons(work) or _cascade(platform, corpus, work, changing)
            if reasons:
                changing[work] = reasons[0]
                found.append(OutOfDate(corpus.name, work, reasons))
    return found


def _cascade(
    platform: Platform,
    corpus: Corpus,
    work: StagePartition,
    changing: Mapping[StagePartition, str],
) -> tuple[str, ...]:
    model = platform.sql_models.get(work.stage)
    if model is None:
        reads: Sequence[StagePartition] = list(upstream_of(corpus, work))
        upstream = [part for part in reads if part in changing]
    else:
        names = {*stages_behind(model), *platform.upstream_marts(model)}
        upstream = [part for part in changing if part.stage in names]
    if not upstream:
        return ()
    more = f" and {len(upstream) - 1} more" if len(upstream) > 1 else ""
    return (f"{upstream[0]}{more} {WILL_CHANGE}",)

"""Source listings: each source is listed once per `apply` or run, whatever reads it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from chunk_assets.errors import SourceError
from chunk_assets.lineage.identity import DocumentId, Fingerprint, document_id, fingerprint
from chunk_assets.sources.source import Source, SourceItem
from partitions.buckets import bucket_names, bucket_of


@dataclass(frozen=True)
class Listing:
    """The items of one corpus's source at one moment, split into buckets."""

    corpus: str
    bucket_count: int
    items: Sequence[SourceItem]
    remarks: Sequence[str] = ()
    """What was left out that somebody might miss."""

    @cached_property
    def by_bucket(self) -> dict[str, dict[DocumentId, SourceItem]]:
        """Every bucket (empty ones too) with its items by document id."""
        buckets: dict[str, dict[DocumentId, SourceItem]] = {
            name: {} for name in bucket_names(self.bucket_count)
        }
        for item in self.items:
            identity = document_id(self.corpus, item.uri)
            buckets[bucket_of(identity, self.bucket_count)][identity] = item
        return buckets

    @cached_property
    def unlisted_folders(self) -> list[SourceItem]:
        """Folders that could not be listed: what lies below them is unknown, not gone."""
        return [item for item in self.items if item.problem and item.uri.endswith("/")]

    def bucket_fingerprint(self, bucket: str) -> Fingerprint:
        """Changes whenever anything about the bucket's listing does."""
        return fingerprint(
            "listing",
            [
                [
                    item.uri,
                    item.signature,
                    item.format,
                    item.title,
                    dict(item.metadata),
                    item.problem,
                ]
                for item in self.by_bucket[bucket].values()
            ],
        )


class Listings:
    """Lists each corpus's source on first use and keeps the listing until `refresh`."""

    def __init__(self, bucket_counts: dict[str, int], source: Callable[[str], Source]) -> None:
        self._bucket_counts = bucket_counts
        self._source = source
        self._listings: dict[str, Listing] = {}

    def of(self, corpus: str) -> Listing:
        """The corpus's listing."""
        if corpus not in self._listings:
            source = self._source(corpus)
            try:
                items = source.list_items()
            except OSError as error:
                raise SourceError(f"The source cannot be listed: {error}") from error
            count = self._bucket_counts[corpus]
            self._listings[corpus] = Listing(corpus, count, items, source.remarks())
        return self._listings[corpus]

    def refresh(self) -> None:
        """Forget every listing: the next use lists anew."""
        self._listings.clear()

"""What every source offers: a cheap listing, and the bytes of one item."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from chunk_assets.lineage.identity import Json


@dataclass(frozen=True, slots=True)
class SourceItem:
    """One listed item. Listing reads no content."""

    uri: str
    """Relative to the source's root, with `/`; unique in the listing."""
    signature: str
    """Changes whenever the content may have changed (size, times, version): never an identity."""
    size: int | None = None
    format: str | None = None
    """The format if the source knows it better than the content and name do."""
    title: str | None = None
    metadata: dict[str, Json] = field(default_factory=dict)
    problem: str | None = None
    """Why this item cannot be read at all (too large, dangling link, no permission); it is
    quarantined under its own name, never skipped."""


class Source(Protocol):
    """A place that holds documents."""

    def list_items(self) -> Sequence[SourceItem]:
        """All items, sorted by URI.

        Raises:
            SourceError: if the place itself cannot be listed. An unreadable part is an item with
                a `problem`; a listing never silently shrinks.
        """

    def remarks(self) -> Sequence[str]:
        """What the latest listing left out that somebody might miss, and how to have it."""

    def read(self, uri: str) -> bytes:
        """The bytes of one item.

        Raises:
            SourceError: if the item cannot be read (it goes to quarantine).
        """

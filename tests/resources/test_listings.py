"""A source is listed once, and split into buckets by document id."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunk_assets.errors import SourceError
from chunk_assets.lineage.identity import document_id
from chunk_assets.sources.source import SourceItem
from partitions.buckets import bucket_names, bucket_of
from resources.listings import Listing, Listings


@dataclass
class ListedSource:
    """Counts how often it is listed."""

    items: list[SourceItem] = field(default_factory=list)
    listed: int = 0
    is_reachable: bool = True

    def list_items(self) -> Sequence[SourceItem]:
        self.listed += 1
        if not self.is_reachable:
            raise SourceError("the share is not mounted")
        return list(self.items)

    def remarks(self) -> Sequence[str]:
        return ["something is left out"] if self.items else []

    def read(self, uri: str) -> bytes:
        return uri.encode()


def items(*uris: str) -> list[SourceItem]:
    return [SourceItem(uri, f"signature of {uri}") for uri in uris]


@given(uris=st.sets(st.text(max_size=8), max_size=30), count=st.integers(1, 64))
def test_every_item_is_in_the_bucket_of_its_document(uris: set[str], count: int) -> None:
    listing = Listing("handbook", count, items(*sorted(uris)))
    assert list(listing.by_bucket) == bucket_names(count)
    for bucket, documents in listing.by_bucket.items():
        for identity, item in documents.items():
            assert identity == document_id("handbook", item.uri)
            assert bucket_of(identity, count) == bucket
    assert sum(len(documents) for documents in listing.by_bucket.values()) == len(uris)


ITEM = SourceItem("a.md", "1", size=3, format="markdown", title="A", metadata={"k": [1]})


@pytest.mark.parametrize(
    "change",
    [
        {"uri": "b.md"},
        {"signature": "2"},
        {"format": None},
        {"title": None},
        {"metadata": {"k": [2]}},
        {"problem": "too large"},
    ],
)
def test_whatever_is_listed_of_an_item_decides_the_fingerprint(change: dict[str, object]) -> None:
    one = Listing("handbook", 1, [ITEM]).bucket_fingerprint("b00")
    other = Listing("handbook", 1, [replace(ITEM, **change)])  # type: ignore[arg-type]
    assert other.bucket_fingerprint("b00") != one


def test_an_equal_listing_has_an_equal_fingerprint() -> None:
    again = replace(ITEM, metadata={"k": [1]})
    one, other = (Listing("handbook", 1, [item]) for item in (ITEM, again))
    assert one.bucket_fingerprint("b00") == other.bucket_fingerprint("b00")


def test_a_change_in_one_bucket_leaves_the_fingerprints_of_the_others() -> None:
    uris = [f"{number}.md" for number in range(20)]
    before = Listing("handbook", 4, items(*uris))
    changed = [
        replace(item, signature="new") if item.uri == "7.md" else item for item in before.items
    ]
    after = Listing("handbook", 4, changed)
    touched = bucket_of(document_id("handbook", "7.md"), 4)
    for bucket in bucket_names(4):
        same = before.bucket_fingerprint(bucket) == after.bucket_fingerprint(bucket)
        assert same == (bucket != touched)


def listings(source: ListedSource, **buckets: int) -> Listings:
    return Listings(buckets or {"handbook": 2}, lambda corpus: source)


def test_a_source_is_listed_once_whatever_asks_for_it() -> None:
    source = ListedSource(items("a", "b"))
    found = listings(source)
    for bucket in ("b00", "b01"):
        found.of("handbook").bucket_fingerprint(bucket)
    assert found.of("handbook") is found.of("handbook")
    assert source.listed == 1


def test_after_a_refresh_the_source_is_listed_anew() -> None:
    source = ListedSource(items("a"))
    found = listings(source)
    assert len(found.of("handbook").items) == 1
    source.items += items("b")
    assert len(found.of("handbook").items) == 1
    found.refresh()
    assert len(found.of("handbook").items) == 2
    assert source.listed == 2


def test_what_the_source_remarks_is_kept_with_its_listing() -> None:
    assert listings(ListedSource(items("a"))).of("handbook").remarks == ["something is left out"]


def test_a_listing_that_failed_is_tried_again() -> None:
    source = ListedSource(items("a"), is_reachable=False)
    found = listings(source)
    with pytest.raises(SourceError, match="not mounted"):
        found.of("handbook")
    source.is_reachable = True
    assert len(found.of("handbook").items) == 1


def test_every_corpus_has_its_own_number_of_buckets() -> None:
    found = listings(ListedSource(items("a")), handbook=2, wiki=5)
    assert len(found.of("handbook").by_bucket) == 2
    assert len(found.of("wiki").by_bucket) == 5

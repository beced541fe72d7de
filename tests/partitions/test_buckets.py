"""Documents are spread over buckets by their identity alone."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from chunk_assets.lineage.identity import document_id
from partitions.buckets import MAX_BUCKETS, bucket_names, bucket_of


@given(uri=st.text(max_size=30), count=st.integers(1, MAX_BUCKETS))
def test_every_document_has_one_of_the_buckets(uri: str, count: int) -> None:
    identity = document_id("handbook", uri)
    assert bucket_of(identity, count) in bucket_names(count)
    assert bucket_of(identity, count) == bucket_of(document_id("handbook", uri), count)


def test_documents_spread_over_all_buckets() -> None:
    counts = Counter(bucket_of(document_id("c", f"{number}.md"), 8) for number in range(800))
    assert set(counts) == set(bucket_names(8))
    assert min(counts.values()) > 50


def test_a_bucket_is_where_it_was_when_the_corpus_was_built() -> None:
    # A change here would move every document of every corpus that exists.
    assert bucket_of(document_id("handbook", "guide/start.md"), 8) == "b00"
    assert bucket_of(document_id("handbook", "guide/start.md"), 64) == "b16"


def test_bucket_names_sort_as_they_count_and_fit_the_names_of_partitions() -> None:
    names = bucket_names(MAX_BUCKETS)
    assert names == sorted(names)
    assert len(set(names)) == MAX_BUCKETS
    assert names[0] == "b00"
    assert names[-1] == "b63"

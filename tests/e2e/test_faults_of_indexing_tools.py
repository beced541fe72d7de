"""Inputs that broke other indexing tools, through the whole flow."""

import uuid

import pytest
from small_platform import SmallPlatform, section

from chunk_assets.errors import VectorStoreError

pytestmark = pytest.mark.slow

NOTHING = {"written": 0, "updated": 0, "deleted": 0}
ONE_STRATEGY = {"sentences": {"chunker": "sentence_aware", "max_words": 20}}


@pytest.fixture
def one(small: SmallPlatform) -> SmallPlatform:
    small.strategies = dict(ONE_STRATEGY)
    small.corpus = {"buckets": 1}
    return small


def test_indexing_five_parts_of_one_source_again_adds_deletes_and_embeds_nothing(
    one: SmallPlatform,
) -> None:
    # Fault: clean-up runs per batch and deletes siblings that the next batch adds again.
    parts = [section(f"Part {n}", f"Part number {n} is about valve {n}." * 3) for n in range(5)]
    one.write({"source.md": "".join(parts)})
    first = one.apply()
    assert first.totals["points"]["written"] == first.totals["chunks"]["total"] >= 5
    again = one.apply()
    assert again.totals["embeddings"]["embedded"] == 0
    assert again.totals["points"] == NOTHING


def test_a_new_modification_time_alone_changes_no_identity(one: SmallPlatform) -> None:
    # Fault: a changed timestamp alters the hash, and everything is embedded again.
    one.write({"source.md": "One line about valves."})
    one.apply()
    before = one.platform().tables.read("guides/collections")["chunk_id"].to_pylist()
    (one.docs / "source.md").touch()
    report = one.apply()
    assert report.totals["embeddings"]["embedded"] == 0
    assert report.totals["points"] == NOTHING
    assert one.platform().tables.read("guides/collections")["chunk_id"].to_pylist() == before


def test_equal_chunks_of_two_files_stay_two_points_however_often_they_are_indexed(
    one: SmallPlatform,
) -> None:
    # Fault: random ids double the data; a hash of the text alone merges the two files.
    one.write({"a.md": "Same.", "b.md": "Same."})
    for _ in range(2):
        one.apply()
        with one.platform().vector_store.open("guides") as collection:
            points = dict(collection.scroll(["uri"]))
        assert sorted(str(payload["uri"]) for payload in points.values()) == ["a.md", "b.md"]
    assert all(str(uuid.UUID(identity)) == identity for identity in points)
    assert one.embedded_texts() == ["Same."], "equal texts share one vector"


def test_an_alias_is_never_created_over_nothing_nor_moved_in_silence(one: SmallPlatform) -> None:
    one.write({"a.md": "Same."})
    one.apply()
    store = one.platform().vector_store
    pointed_to = store.aliases()["guides"]
    with pytest.raises(VectorStoreError, match="missing"):
        store.set_alias("guides", "missing")
    assert store.aliases()["guides"] == pointed_to
    assert store.exists(pointed_to)
    assert not store.exists("guides"), "an alias is no collection"

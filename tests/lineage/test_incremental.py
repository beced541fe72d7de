"""What changed between two listings of versions."""

from hypothesis import given
from hypothesis import strategies as st

from chunk_assets.lineage.incremental import changes

KEYS = st.sampled_from("abcdefg")
LISTINGS = st.dictionaries(KEYS, st.sampled_from(["1", "2", ""]), max_size=7)


@given(previous=LISTINGS, current=LISTINGS)
def test_every_key_is_in_exactly_one_list(
    previous: dict[str, str], current: dict[str, str]
) -> None:
    found = changes(previous, current)
    listed = [*found.new, *found.changed, *found.unchanged, *found.removed]
    assert sorted(listed) == sorted({*previous, *current})


@given(previous=LISTINGS, current=LISTINGS)
def test_a_key_is_in_the_list_that_its_versions_ask_for(
    previous: dict[str, str], current: dict[str, str]
) -> None:
    found = changes(previous, current)
    assert set(found.new) == current.keys() - previous.keys()
    assert set(found.removed) == previous.keys() - current.keys()
    both = current.keys() & previous.keys()
    assert set(found.changed) == {key for key in both if current[key] != previous[key]}
    assert set(found.unchanged) == {key for key in both if current[key] == previous[key]}


@given(listing=LISTINGS)
def test_an_unchanged_listing_asks_for_nothing(listing: dict[str, str]) -> None:
    found = changes(listing, dict(listing))
    assert found.to_do == found.removed == []
    assert found.unchanged == sorted(listing)


@given(previous=LISTINGS, current=LISTINGS)
def test_doing_what_is_asked_for_leads_to_the_current_listing(
    previous: dict[str, str], current: dict[str, str]
) -> None:
    found = changes(previous, current)
    done = {key: version for key, version in previous.items() if key not in found.removed}
    done |= {key: current[key] for key in found.to_do}
    assert done == current


@given(previous=LISTINGS, current=LISTINGS)
def test_the_counts_are_those_of_the_lists(
    previous: dict[str, str], current: dict[str, str]
) -> None:
    found = changes(previous, current)
    counts = found.counts()
    assert counts["seen"] == len(current)
    assert counts["seen"] == counts["new"] + counts["changed"] + counts["unchanged"]
    assert counts["removed"] == len(found.removed)


@given(previous=LISTINGS, current=LISTINGS)
def test_the_lists_are_sorted_whatever_the_order_of_the_listings(
    previous: dict[str, str], current: dict[str, str]
) -> None:
    found = changes(previous, current)
    again = changes(dict(reversed(previous.items())), dict(reversed(current.items())))
    assert found == again
    for keys in (found.new, found.changed, found.unchanged, found.removed, found.to_do):
        assert keys == sorted(keys)

"""Other buckets, fewer strategies: what the configuration no longer defines is not seen."""

from collections import Counter

import pytest
from small_platform import STRATEGIES, SmallPlatform, guide

from chunk_assets.errors import ConfigurationError
from chunk_assets.selection import Selection
from chunk_assets.serving import search_corpus
from chunk_assets.status import outlook

pytestmark = pytest.mark.slow


@pytest.fixture
def built(small: SmallPlatform) -> SmallPlatform:
    """One document in each of two buckets, cut in one way."""
    small.strategies = {"hierarchy": STRATEGIES["hierarchy"]}
    small.write({"pump.md": guide("pump"), "drill.md": guide("drill")})
    report = small.apply()
    assert not report.failed
    documents = small.platform().tables.read("guides/documents").to_pylist()
    assert {row["uri"]: row["bucket"] for row in documents} == {
        "pump.md": "b00",
        "drill.md": "b01",
    }
    return small


def points_by_document(small: SmallPlatform, alias: str = "guides") -> Counter[str]:
    with small.platform().vector_store.open(alias) as collection:
        return Counter(str(payload["uri"]) for _, payload in collection.scroll(["uri"]))


def test_with_fewer_buckets_nothing_stands_twice_and_what_is_deleted_goes(
    built: SmallPlatform,
) -> None:
    before = points_by_document(built)
    built.corpus["buckets"] = 1
    merged = built.apply()
    assert not merged.failed
    assert merged.failed_checks == []
    assert merged.totals["embeddings"]["embedded"] == 0
    assert merged.totals["points"] == {"written": 0, "updated": 0, "deleted": 0}
    assert points_by_document(built) == before
    coverage = built.platform().tables.read("guides/coverage")["uri"].to_pylist()
    assert sorted(coverage) == ["drill.md", "pump.md"]

    (built.docs / "drill.md").unlink()
    built.apply()
    assert points_by_document(built).keys() == {"pump.md"}


def test_a_removed_strategy_is_not_compared_nor_searched_any_more_and_comes_back_for_nothing(
    built: SmallPlatform,
) -> None:
    built.strategies["sentences"] = STRATEGIES["sentences"]
    built.apply()

    def strategies_told() -> set[str]:
        statistics = built.platform().tables.read("guides/strategy_statistics")
        return set(statistics["strategy"].to_pylist())

    assert strategies_told() == {"hierarchy", "sentences"}
    del built.strategies["sentences"]
    report = built.apply()
    assert report.failed_checks == []
    assert strategies_told() == {"hierarchy"}
    with pytest.raises(ConfigurationError, match="no strategy or index 'sentences'"):
        search_corpus(
            built.platform(), "pump", corpus=None, strategy="sentences", k=1, on_wait=print
        )

    built.strategies["sentences"] = STRATEGIES["sentences"]
    found = outlook(built.platform(), built.instance, Selection()).out_of_date
    assert {item.work.stage for item in found} <= set(built.platform().sql_models)
    assert built.apply().totals["embeddings"]["embedded"] == 0
    assert strategies_told() == {"hierarchy", "sentences"}

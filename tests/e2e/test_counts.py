"""What a change costs, in exact numbers, through real Dagster runs."""

from collections import Counter

import pytest
from small_platform import SmallPlatform, guide, section

from chunk_assets.apply import Report

pytestmark = pytest.mark.slow


@pytest.fixture
def built(small: SmallPlatform) -> SmallPlatform:
    small.write({f"{name}.md": guide(name) for name in ("pump", "boiler", "crane", "winch")})
    report = small.apply()
    assert not report.failed, [result.message for result in report.failed]
    return small


def nothing_but_unchanged(report: Report) -> bool:
    totals = report.totals
    return (
        totals["documents"]["new"] == 0
        and totals["documents"]["changed"] == 0
        and totals["documents"]["removed"] == 0
        and totals["chunks"]["added"] == 0
        and totals["chunks"]["removed"] == 0
        and totals["embeddings"]["embedded"] == 0
        and totals["points"] == {"written": 0, "updated": 0, "deleted": 0}
    )


def test_a_first_build_embeds_every_distinct_text_once(built: SmallPlatform) -> None:
    texts = built.embedded_texts()
    assert len(texts) == len(set(texts))
    stored = built.platform().tables.read("vectors")
    assert stored.num_rows == len(texts)
    keys = stored["vector_key"].to_pylist()
    assert len(keys) == len(set(keys))


def test_an_unchanged_re_run_does_nothing(built: SmallPlatform) -> None:
    before = len(built.embedded_texts())
    report = built.apply()
    assert report.results == []
    assert nothing_but_unchanged(report)
    assert report.totals["documents"]["unchanged"] == 4
    assert len(built.embedded_texts()) == before


def test_re_materializing_everything_makes_nothing_and_stales_nothing(
    built: SmallPlatform,
) -> None:
    platform = built.platform()
    before = platform.run_log.state("guides")
    versions = {t: platform.tables.version(f"guides/{t}") for t in ("documents", "chunks")}
    # A touched file is listed anew and read, but its content is what it was.
    for path in built.docs.glob("*.md"):
        path.touch()
    report = built.apply()
    assert {result.work.stage for result in report.results} == {"raw_documents"}
    assert nothing_but_unchanged(report)
    after = built.platform().run_log.state("guides")
    assert {work: m.data_version for work, m in before.items()} == {
        work: m.data_version for work, m in after.items()
    }
    assert versions == {t: platform.tables.version(f"guides/{t}") for t in versions}


def test_editing_one_paragraph_embeds_only_the_chunks_that_changed(built: SmallPlatform) -> None:
    before = Counter(built.embedded_texts())
    path = built.docs / "pump.md"
    path.write_text(path.read_text().replace("in step 1: open the valve", "in step 1: shut it"))
    report = built.apply()
    # One section of `hierarchy`; in `sentences` the one packed chunk that holds the sentence.
    new = Counter(built.embedded_texts()) - before
    assert report.totals["documents"]["changed"] == 1
    assert report.totals["embeddings"]["embedded"] == new.total() == 2
    assert all("shut it" in text for text in new)
    assert report.totals["chunks"]["added"] == 2
    assert report.totals["chunks"]["removed"] == 2
    assert report.totals["points"]["written"] == 2
    assert report.totals["points"]["deleted"] == 2
    touched = {r.work.partition for r in report.results if r.work.stage == "embeddings"}
    assert len(touched) == 2, "one bucket, in each of the two indexes"


def test_adding_a_document_embeds_its_texts_alone(built: SmallPlatform) -> None:
    before = Counter(built.embedded_texts())
    built.write({"lathe.md": guide("lathe", sections=2)})
    report = built.apply()
    new = Counter(built.embedded_texts()) - before
    assert report.totals["documents"]["new"] == 1
    assert report.totals["documents"]["unchanged"] == 4
    assert new.total() == report.totals["embeddings"]["embedded"] > 0
    assert all("lathe" in text for text in new)
    assert report.totals["points"]["deleted"] == 0
    assert report.totals["points"]["updated"] == 0


def test_renaming_a_document_embeds_nothing(built: SmallPlatform) -> None:
    (built.docs / "pump.md").rename(built.docs / "water_pump.md")
    report = built.apply()
    assert report.totals["documents"]["new"] == 1
    assert report.totals["documents"]["removed"] == 1
    assert report.totals["embeddings"]["embedded"] == 0
    assert report.totals["points"]["written"] == report.totals["points"]["deleted"] > 0


def test_copying_a_document_embeds_nothing(built: SmallPlatform) -> None:
    built.write({"copy/pump.md": (built.docs / "pump.md").read_text()})
    report = built.apply()
    assert report.totals["documents"]["new"] == 1
    assert report.totals["embeddings"]["embedded"] == 0
    assert report.totals["points"]["written"] > 0
    assert report.totals["points"]["deleted"] == 0


def test_deleting_a_document_embeds_nothing_and_deletes_its_points(built: SmallPlatform) -> None:
    chunks = built.platform().tables.read("guides/chunks").to_pylist()
    own = [row for row in chunks if row["uri"] == "pump.md"]
    (built.docs / "pump.md").unlink()
    report = built.apply()
    assert report.totals["documents"]["removed"] == 1
    assert report.totals["embeddings"]["embedded"] == 0
    assert report.totals["points"] == {"written": 0, "updated": 0, "deleted": len(own)}


def test_editing_one_strategy_touches_nothing_of_the_other(built: SmallPlatform) -> None:
    before = built.platform().run_log.state("guides")
    built.strategies["sentences"] = {"chunker": "sentence_aware", "max_words": 20}
    report = built.apply()
    touched = {
        (r.work.stage, r.work.partition) for r in report.results if "hierarchy" in r.work.partition
    }
    assert touched == set()
    after = built.platform().run_log.state("guides")
    unchanged = [work for work in before if "hierarchy" in work.partition]
    assert unchanged
    assert all(before[work].run_id == after[work].run_id for work in unchanged)
    assert {r.work.partition for r in report.results if r.work.stage == "strategy_config"} == {
        "sentences"
    }
    assert report.totals["documents"]["unchanged"] == 4


def test_a_second_strategy_with_equal_texts_embeds_nothing(built: SmallPlatform) -> None:
    # `description` is descriptive and `twin` is another name: the texts are the same.
    built.strategies["twin"] = {**built.strategies["hierarchy"], "description": "a twin"}
    report = built.apply()
    assert report.totals["embeddings"]["embedded"] == 0
    assert report.totals["embeddings"]["reused"] > 0
    assert report.totals["points"]["written"] > 0


def test_a_changed_description_rebuilds_nothing(built: SmallPlatform) -> None:
    built.strategies["hierarchy"] = {**built.strategies["hierarchy"], "description": "sections"}
    built.corpus["description"] = "of machines"
    assert built.apply().results == []


def test_text_inserted_before_a_chunk_moves_it_without_embedding_it(built: SmallPlatform) -> None:
    path = built.docs / "pump.md"
    text = path.read_text()
    place = text.index("## pump part 1")
    path.write_text(
        text[:place] + section("Between", "Read all of this twice before you go on.") + text[place:]
    )
    built.strategies.pop("sentences")
    report = built.apply()
    assert report.totals["embeddings"]["embedded"] == 1
    assert report.totals["chunks"]["added"] == 1
    assert report.totals["chunks"]["moved"] == 2
    assert report.totals["points"] == {"written": 1, "updated": 2, "deleted": 0}


def test_a_selection_leaves_the_rest_alone(built: SmallPlatform) -> None:
    built.write({"pump.md": guide("pump", sections=5)})
    report = built.apply("guides/hierarchy")
    assert report.results
    assert not [r for r in report.results if "sentences" in r.work.partition]
    assert [r for r in built.apply().results if "sentences" in r.work.partition]


def test_points_in_the_collection_equal_the_table_and_the_chunks(built: SmallPlatform) -> None:
    platform = built.platform()
    corpus = platform.corpora["guides"]
    for index in corpus.indexes.values():
        rows = platform.tables.read("guides/collections", where={"index": index.name}).to_pylist()
        chunks = platform.tables.read("guides/chunks", where={"strategy": index.strategy})
        with platform.vector_store.open(f"guides__{index.name}") as collection:
            held = dict(collection.scroll(["vector_key", "text", "start", "end"]))
        assert {row["chunk_id"]: row["vector_key"] for row in rows} == {
            identity: payload["vector_key"] for identity, payload in held.items()
        }
        assert {row["chunk_id"]: row["text"] for row in chunks.to_pylist()} == {
            identity: payload["text"] for identity, payload in held.items()
        }

"""Bad input never stops, loses or corrupts anything: it is named, with its reason."""

import os
from collections.abc import Iterator
from typing import Any

import dagster as dg
import pytest
from small_platform import STRATEGIES, SmallPlatform, guide

from chunk_assets.apply import Report
from chunk_assets.definitions_factory import build_definitions
from chunk_assets.selection import Selection
from chunk_assets.status import outlook
from partitions.stages import StagePartition

pytestmark = pytest.mark.slow

BUCKET = "guides/hierarchy/b00"
POISON = "## Poison\n\nThis is POISON for the model.\n\n## Rest\n\n" + "harmless words " * 28
BAD_FILES: dict[str, str | bytes] = {
    "good.md": guide("pump"),
    "sheet.xlsx": b"PK\x03\x04 a zipped sheet",
    "table.csv": "a,b\n1,2\n",
    "broken.md": bytes(range(1, 32)) * 20,
    "large.md": "word " * 1000,
    "poison.md": POISON,
    "strange.md": "## Strange\n\nThis text has STRANGE effects.\n",
}


def configured(small: SmallPlatform) -> SmallPlatform:
    small.strategies = {"hierarchy": STRATEGIES["hierarchy"]}
    small.corpus = {
        "buckets": 1,
        "source": {"kind": "files", "root": "docs", "max_bytes": 2000},
    }
    small.embedder_options = {"fail_on": "POISON", "nan_on": "STRANGE"}
    return small


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SmallPlatform, Report]]:
    """Every kind of bad input at once, beside one good file. Tests only look at it."""
    with dg.DagsterInstance.ephemeral() as instance:
        small = configured(SmallPlatform(tmp_path_factory.mktemp("bad"), instance))
        small.write(BAD_FILES)
        yield small, small.apply(BUCKET)


def quarantine(small: SmallPlatform) -> dict[str, dict[str, Any]]:
    rows = small.platform().tables.read("quarantine").to_pylist()
    assert len({row["uri"] for row in rows}) == len(rows), "a file stands twice"
    return {row["uri"]: row for row in rows}


@pytest.mark.parametrize(
    ("uri", "stage", "error", "said"),
    [
        ("sheet.xlsx", "documents", "ParseError", "format not supported"),
        ("table.csv", "documents", "ParseError", "format not supported: its name ends in .csv"),
        ("broken.md", "documents", "ParseError", "binary data, not text"),
        ("large.md", "raw_documents", "SourceError", "has 5,000 bytes, the limit is 2,000"),
        ("poison.md", "embeddings", "EmbeddingError", "cannot stand 'POISON'"),
        ("strange.md", "embeddings", "EmbeddingError", "NaN"),
    ],
)
def test_it_is_quarantined_by_name_and_with_its_reason(
    built: tuple[SmallPlatform, Report], uri: str, stage: str, error: str, said: str
) -> None:
    row = quarantine(built[0])[uri]
    assert (row["stage"], row["error"]) == (stage, error)
    assert said in row["message"]


def test_nothing_else_is_quarantined(built: tuple[SmallPlatform, Report]) -> None:
    assert quarantine(built[0]).keys() == BAD_FILES.keys() - {"good.md"}


def test_the_rest_goes_on(built: tuple[SmallPlatform, Report]) -> None:
    small, report = built
    assert not report.failed
    tables = small.platform().tables
    assert set(tables.read("guides/documents")["uri"].to_pylist()) == {
        "good.md",
        "poison.md",
        "strange.md",
    }
    chunks = tables.read("guides/chunks").to_pylist()
    embedded = set(tables.read("guides/embeddings")["chunk_id"].to_pylist())
    lost = [row["text"] for row in chunks if row["chunk_id"] not in embedded]
    assert len(lost) == 2
    assert all("POISON" in text or "STRANGE" in text for text in lost)
    assert any("harmless" in row["text"] for row in chunks if row["chunk_id"] in embedded)


def test_the_counts_say_so(built: tuple[SmallPlatform, Report]) -> None:
    _, report = built
    # Large and broken ones never were documents; of six that were read, three are.
    assert report.totals["documents"]["quarantined"] == 4
    by_stage = {result.work.stage: result.counts for result in report.results}
    assert by_stage["raw_documents"]["quarantined"] == 1
    assert by_stage["documents"]["quarantined"] == 3
    assert by_stage["embeddings"]["quarantined"] == 2


def test_the_checks_fall_short_without_stopping_anything(
    built: tuple[SmallPlatform, Report],
) -> None:
    assert built[1].failed_checks == [
        "guides/raw_documents/b00: nothing_quarantined",
        "guides/documents/b00: nothing_quarantined",
        "guides/embeddings/b00|hierarchy__counting: every_chunk_embedded",
    ]


def test_an_unchanged_re_run_tries_nothing_again(built: tuple[SmallPlatform, Report]) -> None:
    small, _ = built
    before = quarantine(small)
    report = small.apply(BUCKET)
    assert report.results == []
    assert report.totals["documents"]["quarantined"] == 4
    assert quarantine(small) == before


def run_again(small: SmallPlatform, work: StagePartition) -> dict[str, int]:
    """Materialize one partition whether or not it is out of date, as the UI's button does."""
    job = build_definitions(small.platform()).resolve_implicit_global_asset_job_def()
    outcome = job.get_subset(
        asset_selection={dg.AssetKey(["guides", work.stage])}
    ).execute_in_process(
        instance=small.instance,
        partition_key=work.partition,
        run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
    )
    (event,) = outcome.get_asset_materialization_events()
    return {
        name: value.value
        for name, value in event.materialization.metadata.items()
        if isinstance(value, dg.IntMetadataValue) and value.value is not None
    }


def test_a_forced_run_does_not_parse_again_what_could_not_be_parsed(
    built: tuple[SmallPlatform, Report],
) -> None:
    small, _ = built
    first_seen = {uri: row["first_seen"] for uri, row in quarantine(small).items()}
    counts = run_again(small, StagePartition("documents", "b00"))
    assert counts["parsed"] == 0
    assert counts["quarantined"] == 3
    assert {uri: row["first_seen"] for uri, row in quarantine(small).items()} == first_seen


def test_a_repaired_file_leaves_the_quarantine(small: SmallPlatform) -> None:
    configured(small).write(BAD_FILES)
    small.apply(BUCKET)
    small.write(
        {
            "broken.md": "# Mended\n\nThis is text now.\n",
            "large.md": "# Short\n\nSmall enough.\n",
            "poison.md": POISON.replace("POISON", "medicine"),
            "strange.md": "## Ordinary\n\nNo effects.\n",
        }
    )
    for name in ("sheet.xlsx", "table.csv"):
        (small.docs / name).unlink()
    report = small.apply(BUCKET)
    assert quarantine(small) == {}
    assert report.failed_checks == []
    assert report.totals["documents"]["quarantined"] == 0
    documents = small.platform().tables.read("guides/documents")["uri"].to_pylist()
    assert set(documents) == {"good.md", "broken.md", "large.md", "poison.md", "strange.md"}


def test_a_file_that_becomes_too_large_is_told_and_keeps_what_it_had(small: SmallPlatform) -> None:
    configured(small).write({"good.md": guide("pump", 1), "other.md": guide("boiler", 1)})
    small.apply(BUCKET)
    small.write({"other.md": "word " * 1000})
    report = small.apply(BUCKET)
    assert report.failed_checks == ["guides/raw_documents/b00: nothing_quarantined"]
    assert quarantine(small).keys() == {"other.md"}
    documents = small.platform().tables.read("guides/documents")["uri"].to_pylist()
    assert set(documents) == {"good.md", "other.md"}
    assert report.totals["documents"]["removed"] == 0


def test_a_file_that_becomes_unreadable_text_is_no_document_any_more(small: SmallPlatform) -> None:
    # Its bytes are known and are no text: what was there before would be another document.
    configured(small).write({"good.md": guide("pump", 1), "other.md": guide("boiler", 1)})
    small.apply(BUCKET)
    small.write({"other.md": bytes(range(1, 32)) * 20})
    small.apply(BUCKET)
    tables = small.platform().tables
    assert quarantine(small)["other.md"]["stage"] == "documents"
    for stage in ("documents", "chunks"):
        assert set(tables.read(f"guides/{stage}")["uri"].to_pylist()) == {"good.md"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_quarantined(small: SmallPlatform) -> None:
    configured(small).write({"good.md": guide("pump", 1), "secret.md": guide("boiler", 1)})
    (small.docs / "secret.md").chmod(0)
    small.apply(BUCKET)
    assert "permission" in quarantine(small)["secret.md"]["message"]
    (small.docs / "secret.md").chmod(0o600)
    small.apply(BUCKET)
    assert quarantine(small) == {}


def test_a_file_that_goes_between_listing_and_reading_is_quarantined_until_the_next_run(
    small: SmallPlatform,
) -> None:
    configured(small).write({"good.md": guide("pump", 1), "gone.md": guide("boiler", 1)})
    platform = small.platform()
    assert len(platform.listings.of("guides").items) == 2
    (small.docs / "gone.md").unlink()
    job = build_definitions(platform).resolve_implicit_global_asset_job_def()
    outcome = job.get_subset(
        asset_selection={dg.AssetKey(["guides", "raw_documents"])}
    ).execute_in_process(instance=small.instance, partition_key="b00", raise_on_error=False)
    assert outcome.success
    assert "cannot be read: No such file" in quarantine(small)["gone.md"]["message"]
    small.apply(BUCKET)
    assert quarantine(small) == {}


def test_a_folder_that_lists_as_empty_removes_nothing(small: SmallPlatform) -> None:
    configured(small).write({"good.md": guide("pump", 1)})
    small.apply(BUCKET)
    (small.docs / "good.md").unlink()
    report = small.apply(BUCKET)
    assert [result.work.stage for result in report.failed] == ["raw_documents"]
    assert "lists no document at all" in report.failed[0].message
    assert small.platform().tables.read("guides/documents").num_rows == 1
    small.corpus["source"] = {**small.corpus["source"], "may_be_empty": True}
    assert not small.apply(BUCKET).failed
    assert small.platform().tables.read("guides/documents").num_rows == 0


def test_a_source_that_is_not_there_fails_its_corpus_with_its_name_and_no_other(
    small: SmallPlatform,
) -> None:
    configured(small).write({"good.md": guide("pump", 1)})
    lost = {**small.corpus, "source": {"kind": "files", "root": "elsewhere"}}
    unset = {**small.corpus, "source": {"kind": "files", "root": "${NOT_SET_AT_ALL}"}}
    small.extra = {"corpora": {"lost": lost, "unset": unset, "guides": small.corpus}}
    report = small.apply()
    assert {result.corpus for result in report.results} == {"guides"}
    assert report.failed == []
    assert report.unlisted.keys() == {"lost", "unset"}
    assert "elsewhere does not exist. Create it" in report.unlisted["lost"]
    assert "NOT_SET_AT_ALL is not set" in report.unlisted["unset"]
    found = outlook(small.platform(), small.instance, Selection())
    assert found.out_of_date == []
    assert found.unlisted == report.unlisted


def test_a_backend_that_fails_on_everything_fails_the_run_and_says_why(
    small: SmallPlatform,
) -> None:
    configured(small).write({"good.md": guide("pump", 1)})
    small.embedder_options = {"fail_on": " "}
    report = small.apply(BUCKET)
    assert [result.work.stage for result in report.failed] == ["embeddings"]
    assert report.failed[0].message.startswith("embedder 'counting' fails on every text")
    assert small.platform().tables.read("quarantine").num_rows == 0
    small.embedder_options = {}
    assert not small.apply(BUCKET).failed


def test_an_empty_file_and_one_of_blanks_are_documents_without_chunks(
    small: SmallPlatform,
) -> None:
    configured(small).write({"empty.md": "", "blank.md": " \n\t\n", "good.md": guide("pump", 1)})
    report = small.apply(BUCKET)
    assert not report.failed
    assert quarantine(small) == {}
    tables = small.platform().tables
    states = tables.read("guides/documents", ["uri", "state"]).to_pylist()
    assert {row["uri"]: row["state"] for row in states} == {
        "empty.md": "no_text",
        "blank.md": "no_text",
        "good.md": "ok",
    }
    assert set(tables.read("guides/chunks")["uri"].to_pylist()) == {"good.md"}
    assert small.apply(BUCKET).results == []


def test_a_link_out_of_the_folder_is_told_as_long_as_it_is_not_followed(
    small: SmallPlatform,
) -> None:
    configured(small).write({"good.md": guide("pump", 1)})
    (small.folder / "outside.md").write_text(guide("boiler", 1))
    (small.docs / "link.md").symlink_to(small.folder / "outside.md")
    for _ in range(2):
        (remark,) = small.apply(BUCKET).remarks
        assert remark.startswith("corpus guides: 1 symbolic link leads out of the source's folder")
        assert "is not followed: link.md" in remark
        assert outlook(small.platform(), small.instance, Selection()).remarks == [remark]
    assert quarantine(small) == {}
    small.corpus["source"] = {**small.corpus["source"], "follow_links": True}
    report = small.apply(BUCKET)
    assert report.remarks == []
    assert report.totals["documents"]["seen"] == 2


def test_file_names_of_any_kind_are_kept(small: SmallPlatform) -> None:
    names = ["it's | odd, [really].md", "ünï 猫 🚀.md", "100%.md", "a\nline.md", "-dash.md"]
    configured(small).write({name: guide(name, 1) for name in names})
    (small.docs / os.fsdecode(b"latin-\xe4.md")).write_text(guide("latin", 1))
    report = small.apply(BUCKET)
    assert not report.failed
    assert quarantine(small) == {}
    uris = set(small.platform().tables.read("guides/chunks")["uri"].to_pylist())
    assert uris == {*names, "latin-%E4.md"}

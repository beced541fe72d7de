"""What is in quarantine of all that the configuration defines, and how often it is told."""

import pytest
from small_platform import SmallPlatform

from chunk_assets.quarantined import documents_in, quarantined
from chunk_assets.selection import parse_selection
from partitions.stages import StagePartition
from resources.platform import Platform
from resources.quarantine import Failure

KEPT = [
    ("guides", "documents/b00", "a.csv"),
    ("guides", "chunks/b01|hierarchy", "b.md"),
    ("guides", "embeddings/b01|sentences__counting", "b.md"),
]
GONE = [
    ("removed", "documents/b00", "a.csv"),
    ("guides", "documents/b02", "c.csv"),
    ("guides", "chunks/b00|removed", "d.md"),
]


@pytest.fixture
def platform(small: SmallPlatform) -> Platform:
    platform = small.platform()
    for corpus, name, uri in [*KEPT, *GONE]:
        stage, _, partition = name.partition("/")
        failure = Failure(uri, uri, "1", "ParseError", "why")
        work = StagePartition(stage, partition)
        platform.quarantine.replace(corpus, work, [failure], "run")
    return platform


def told(platform: Platform, *select: str) -> list[tuple[str, str, str]]:
    rows = quarantined(platform, parse_selection(select, platform.corpora))
    return [(row["corpus"], f"{row['stage']}/{row['partition']}", row["uri"]) for row in rows]


def test_what_is_no_longer_defined_is_not_told(platform: Platform) -> None:
    assert sorted(told(platform)) == sorted(KEPT)
    assert quarantined(platform) == quarantined(platform, parse_selection([], platform.corpora))


def test_a_selection_limits_it(platform: Platform) -> None:
    assert told(platform, "guides/hierarchy/b00") == [KEPT[0]]
    assert sorted(told(platform, "guides/hierarchy")) == sorted(KEPT[:2])


def test_a_document_that_several_stages_cannot_process_is_one_document(platform: Platform) -> None:
    assert documents_in(quarantined(platform)) == 2

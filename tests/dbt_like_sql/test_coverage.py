import sys
from typing import Any

import pytest
from small_lake import SmallLake

TEXT = "# Top\n\nalpha beta\n\n\u00a0\u2003gamma\n"
#       0     6 7         18   19..21      26


def _cut(lake: SmallLake, *spans: tuple[int, int], text: str = TEXT) -> dict[str, Any]:
    lake.document("guide", text)
    lake.strategy("fixed")
    for start, end in spans:
        lake.chunk("fixed", "guide", start, end)
    lake.run("documents", "b00", 0)
    lake.run("chunks", "b00|fixed", 1)
    [row] = lake.write().mart("coverage")
    return row


def test_a_document_is_covered_when_only_blanks_lie_between_its_chunks(lake: SmallLake) -> None:
    row = _cut(lake, (0, 5), (7, 17), (21, 26))
    assert row["state"] == "covered"
    assert (row["characters"], row["nonblank_characters"]) == (27, 18)
    assert (row["covered_characters"], row["uncovered_characters"]) == (18, 0)
    assert row["chunks"] == 3


@pytest.mark.parametrize(
    ("spans", "uncovered", "first"),
    [
        ([(7, 17), (21, 26)], 4, 0),  # "# Top" before the first chunk
        ([(0, 5), (21, 26)], 9, 5),  # "alpha beta" between two
        ([(0, 5), (7, 17)], 5, 17),  # "gamma" behind the last
        ([(0, 5), (7, 12), (13, 17), (22, 26)], 1, 17),  # the "g" of "gamma"
        ([(0, 26), (7, 12)], 0, None),  # a chunk inside another opens no gap behind it
        ([], 18, 0),
    ],
)
def test_what_lies_in_no_chunk_is_counted_without_its_blanks(
    lake: SmallLake, spans: list[tuple[int, int]], uncovered: int, first: int | None
) -> None:
    row = _cut(lake, *spans)
    assert row["uncovered_characters"] == uncovered
    assert row["covered_characters"] == 18 - uncovered
    assert row["first_uncovered_at"] == first
    assert row["state"] == ("lost" if uncovered else "covered")


def test_blank_means_what_it_means_to_python(lake: SmallLake) -> None:
    everything = "".join(
        chr(code) for code in range(1, sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF
    )
    row = _cut(lake, text=everything)
    assert row["nonblank_characters"] == sum(not character.isspace() for character in everything)
    assert row["uncovered_characters"] == row["nonblank_characters"]


def test_gaps_are_found_wherever_they_lie_in_a_long_document(lake: SmallLake) -> None:
    text = "é" * 100_000
    edges = [(0, 32_767), (32_769, 65_536), (65_536, 98_303), (98_304, 99_999)]
    row = _cut(lake, *edges, text=text)
    # One at 32,767 and one at 32,768, on both sides of a block's edge; 98,303; 99,999.
    assert (row["uncovered_characters"], row["first_uncovered_at"]) == (4, 32_767)


def test_a_gap_over_several_blocks_is_counted_once(lake: SmallLake) -> None:
    row = _cut(lake, (0, 10), (99_990, 100_000), text="é" * 100_000)
    assert (row["uncovered_characters"], row["first_uncovered_at"]) == (99_980, 10)


def test_the_blocks_of_a_text_make_up_the_text(lake: SmallLake) -> None:
    text = "".join(chr(0x4E00 + code % 20_000) for code in range(70_000))
    lake.document("guide", text)
    lake.document("empty", "")
    blocks = sorted(lake.write().mart("stg_text_blocks"), key=lambda row: row["block_start"])
    assert [(row["block_start"], row["block_end"]) for row in blocks] == [
        (0, 32_768),
        (32_768, 65_536),
        (65_536, 70_000),
    ]
    assert "".join(row["text"] for row in blocks) == text


def test_a_document_without_text_is_covered(lake: SmallLake) -> None:
    row = _cut(lake, text=" \n")
    assert (row["state"], row["nonblank_characters"]) == ("covered", 0)


def test_parents_do_not_hide_what_their_children_lack(lake: SmallLake) -> None:
    lake.document("guide", "abcd")
    lake.strategy("small_to_big")
    lake.chunk("small_to_big", "guide", 0, 3)
    lake.chunk("small_to_big", "guide", 0, 4, level=1)
    [row] = lake.write().mart("coverage")
    assert (row["uncovered_characters"], row["chunks"]) == (1, 1)


def test_a_loss_that_quarantine_explains_is_explained(lake: SmallLake) -> None:
    lake.document("guide", "abcd")
    lake.strategy("fixed")
    lake.quarantine("chunks", "b00|fixed", "guide", error="ChunkingError", message="too deep")
    lake.run("chunks", "b00|fixed", 1)
    [row] = lake.write().mart("coverage")
    assert (row["state"], row["uncovered_characters"]) == ("explained", 4)
    assert (row["quarantine_error"], row["quarantine_message"]) == ("ChunkingError", "too deep")


@pytest.mark.parametrize(
    ("stage", "partition"), [("chunks", "b00|windows"), ("documents", "b00"), ("embeddings", "b00")]
)
def test_quarantine_of_something_else_explains_nothing(
    lake: SmallLake, stage: str, partition: str
) -> None:
    lake.document("guide", "abcd")
    lake.strategy("fixed")
    lake.quarantine(stage, partition, "guide")
    lake.run("chunks", "b00|fixed", 1)
    [row] = lake.write().mart("coverage")
    assert row["state"] == "lost"


def test_a_document_is_pending_until_its_partition_is_cut(lake: SmallLake) -> None:
    lake.document("guide", "abcd")
    lake.strategy("fixed")
    lake.run("documents", "b00", 0)
    lake.run("chunks", "b01|fixed", 1)
    [row] = lake.write().mart("coverage")
    assert (row["state"], row["uncovered_characters"]) == ("pending", 4)


def test_a_document_that_changed_is_pending_until_it_is_cut_again(lake: SmallLake) -> None:
    lake.document("guide", "abcd", version="v2")
    lake.strategy("fixed")
    lake.chunk("fixed", "guide", 0, 4, document_version="v1")
    lake.run("documents", "b00", 0, run_id="one", data_version="old")
    lake.run("chunks", "b00|fixed", 1)
    lake.run("documents", "b00", 2, run_id="two", data_version="new")
    [row] = lake.write().mart("coverage")
    assert (row["state"], row["chunks"]) == ("pending", 0)


def test_a_change_that_the_latest_cut_missed_is_a_loss(lake: SmallLake) -> None:
    lake.document("guide", "abcd", version="v2")
    lake.strategy("fixed")
    lake.chunk("fixed", "guide", 0, 4, document_version="v1")
    lake.run("documents", "b00", 0, run_id="one", data_version="old")
    lake.run("documents", "b00", 2, run_id="two", data_version="new")
    lake.run("chunks", "b00|fixed", 3)
    [row] = lake.write().mart("coverage")
    assert row["state"] == "lost"


def test_reading_unchanged_documents_again_makes_nothing_pending(lake: SmallLake) -> None:
    lake.document("guide", "abcd")
    lake.strategy("fixed")
    lake.run("documents", "b00", 0, run_id="one", data_version="same")
    lake.run("chunks", "b00|fixed", 1)
    lake.run("documents", "b00", 2, run_id="two", data_version="same")
    [row] = lake.write().mart("coverage")
    assert row["state"] == "lost"


def test_every_document_stands_under_every_strategy(lake: SmallLake) -> None:
    for document, bucket in (("one", "b00"), ("two", "b01")):
        lake.document(document, "abcd", bucket=bucket)
    for strategy in ("fixed", "sections"):
        lake.strategy(strategy)
    lake.chunk("sections", "two", 0, 4)
    rows = lake.write().mart("coverage")
    assert [(row["strategy"], row["document_id"], row["covered_characters"]) for row in rows] == [
        ("fixed", "one", 0),
        ("fixed", "two", 0),
        ("sections", "one", 0),
        ("sections", "two", 4),
    ]

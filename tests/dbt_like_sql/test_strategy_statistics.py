import pytest
from small_lake import SmallLake


def test_sizes_are_counted_in_characters_and_in_the_strategys_unit(lake: SmallLake) -> None:
    lake.document("guide", "a" * 100)
    lake.strategy("fixed")
    for start, end, size in ((0, 10, 2), (10, 30, 4), (30, 60, 6), (60, 100, 8)):
        lake.chunk("fixed", "guide", start, end, size=size)
    [row] = lake.write().mart("strategy_statistics")
    assert (row["strategy"], row["strategy_fingerprint"], row["tokenizer"]) == (
        "fixed",
        "fixed-1",
        "minilm",
    )
    assert (row["characters_total"], row["characters_mean"]) == (100, 25.0)
    assert (row["characters_min"], row["characters_p50"], row["characters_max"]) == (10, 25.0, 40)
    assert (row["size_total"], row["size_mean"], row["size_p50"]) == (20, 5.0, 5.0)
    assert row["size_p95"] == pytest.approx(7.7)


def test_chunks_are_counted_per_document(lake: SmallLake) -> None:
    lake.strategy("fixed")
    for document, bucket, count in (("one", "b00", 1), ("two", "b01", 4)):
        lake.document(document, "abcd", bucket=bucket)
        for start in range(count):
            lake.chunk("fixed", document, start, start + 1)
    [row] = lake.write().mart("strategy_statistics")
    assert (row["documents"], row["chunks"], row["chunks_per_document"]) == (2, 5, 2.5)


@pytest.mark.parametrize(
    ("spans", "duplicated"),
    [
        ([(0, 40), (40, 100)], 0),
        ([(0, 40), (30, 70), (60, 100)], 20),
        ([(0, 50), (0, 50), (50, 100)], 50),
        ([(0, 100), (10, 20), (15, 30)], 25),
        ([(0, 10), (90, 100)], 0),
    ],
)
def test_overlap_is_what_lies_in_an_earlier_chunk_already(
    lake: SmallLake, spans: list[tuple[int, int]], duplicated: int
) -> None:
    lake.document("guide", "a" * 100)
    lake.strategy("fixed")
    for start, end in spans:
        lake.chunk("fixed", "guide", start, end, chunk_id=f"{start}-{end}-{len(lake.rows)}")
    [row] = lake.write().mart("strategy_statistics")
    total = sum(end - start for start, end in spans)
    assert row["duplicated_characters"] == duplicated
    assert row["overlap_share"] == pytest.approx(duplicated / total)


def test_overlap_is_never_counted_across_documents(lake: SmallLake) -> None:
    lake.strategy("fixed")
    for document in ("one", "two"):
        lake.document(document, "abcd")
        lake.chunk("fixed", document, 0, 4)
    [row] = lake.write().mart("strategy_statistics")
    assert row["duplicated_characters"] == 0


def test_a_chunk_under_a_tenth_of_the_usual_limit_is_tiny(lake: SmallLake) -> None:
    lake.document("guide", "a" * 100)
    lake.strategy("fixed")
    for start, size in enumerate([100] * 30 + [10, 9]):
        lake.chunk("fixed", "guide", start, start + 1, size=size)
    [row] = lake.write().mart("strategy_statistics")
    assert (row["size_p95"], row["tiny_chunks"], row["tiny_share"]) == (100.0, 1, 1 / 32)


def test_flags_and_headings_are_counted(lake: SmallLake) -> None:
    lake.document("guide", "abcd")
    lake.strategy("fixed")
    lake.chunk("fixed", "guide", 0, 1, flags=["oversize", "cut_word"])
    lake.chunk("fixed", "guide", 1, 2, flags=["cut_word"], heading_path=["Top"])
    lake.chunk("fixed", "guide", 2, 3)
    lake.chunk("fixed", "guide", 3, 4)
    [row] = lake.write().mart("strategy_statistics")
    assert (row["oversize_chunks"], row["flagged_chunks"]) == (1, 2)
    assert row["heading_share"] == 0.25


def test_each_flag_has_its_own_count(lake: SmallLake) -> None:
    lake.document("guide", "abcd")
    lake.strategy("fixed")
    lake.chunk("fixed", "guide", 0, 1, flags=["oversize", "cut_word"])
    lake.chunk("fixed", "guide", 1, 2, flags=["cut_word"])
    lake.chunk("fixed", "guide", 2, 3)
    lake.chunk("fixed", "guide", 3, 4)
    assert lake.write().mart("chunk_flags") == [
        {
            "strategy": "fixed",
            "level": 0,
            "flag": "cut_word",
            "flagged_chunks": 2,
            "chunks": 4,
            "share": 0.5,
        },
        {
            "strategy": "fixed",
            "level": 0,
            "flag": "oversize",
            "flagged_chunks": 1,
            "chunks": 4,
            "share": 0.25,
        },
    ]


def test_parents_are_counted_apart(lake: SmallLake) -> None:
    lake.document("guide", "abcd")
    lake.strategy("small_to_big")
    lake.chunk("small_to_big", "guide", 0, 2)
    lake.chunk("small_to_big", "guide", 2, 4)
    lake.chunk("small_to_big", "guide", 0, 4, level=1)
    [row] = lake.write().mart("strategy_statistics")
    assert (row["chunks"], row["parent_chunks"], row["duplicated_characters"]) == (2, 1, 0)


def test_a_strategy_that_has_cut_nothing_yet_has_a_row_of_zeros(lake: SmallLake) -> None:
    lake.strategy("fixed")
    [row] = lake.write().mart("strategy_statistics")
    assert (row["documents"], row["chunks"], row["characters_total"]) == (0, 0, 0)
    assert row["overlap_share"] is None

"""Broken promises are found and named."""

import pytest

from chunk_assets.chunking.verify import uncovered, violations

TEXT = "One two three four."


def promises(
    starts: list[int],
    ends: list[int],
    texts: list[str] | None = None,
    overlap_starts: list[int | None] | None = None,
) -> list[str]:
    slices = [TEXT[start:end] for start, end in zip(starts, ends, strict=True)]
    found = violations(TEXT, starts, ends, texts or slices, overlap_starts=overlap_starts)
    return [violation.promise for violation in found]


def test_exact_chunks_that_cover_everything_break_nothing() -> None:
    assert promises([0, 8], [7, 19]) == []


def test_overlapping_chunks_that_say_so_break_nothing() -> None:
    assert promises([0, 4], [7, 19], overlap_starts=[None, 8]) == []


def test_a_text_that_is_not_the_slice_is_found() -> None:
    assert promises([0, 8], [7, 19], ["One two", "three four"]) == ["text"]


def test_a_blank_chunk_is_found() -> None:
    assert promises([0, 7, 8], [7, 8, 19]) == ["text"]


@pytest.mark.parametrize(("start", "end"), [(8, 20), (-1, 19), (19, 19)])
def test_a_span_outside_the_text_or_empty_is_found(start: int, end: int) -> None:
    assert "span" in promises([0, start], [7, end])


def test_text_in_no_chunk_is_listed_without_blanks_around_it() -> None:
    assert uncovered(TEXT, [0, 14], [3, 19]) == [(4, 13)]


def test_text_after_the_last_chunk_is_listed() -> None:
    assert uncovered(TEXT, [0], [8]) == [(8, 19)]


def test_a_document_without_chunks_is_wholly_uncovered() -> None:
    assert uncovered(TEXT, [], []) == [(0, 19)]


def test_chunks_out_of_order_are_found() -> None:
    assert "order" in promises([8, 0], [19, 7])


def test_a_chunk_that_does_not_move_forward_is_found() -> None:
    assert "progress" in promises([0, 4], [19, 13], overlap_starts=[None, 8])


def test_overlap_that_is_not_recorded_is_found() -> None:
    assert promises([0, 4], [7, 19]) == ["overlap"]


def test_recorded_overlap_that_shares_nothing_is_found() -> None:
    assert promises([0, 8], [7, 19], overlap_starts=[None, 13]) == ["overlap"]


@pytest.mark.parametrize("own_start", [4, 19])
def test_overlap_that_is_nothing_or_everything_is_found(own_start: int) -> None:
    assert "overlap" in promises([0, 4], [7, 19], overlap_starts=[None, own_start])


def test_a_size_above_the_maximum_is_found() -> None:
    (found,) = violations(TEXT, [0], [19], [TEXT], sizes=[4], maximum=3)

    assert (found.promise, found.detail) == ("limit", "has 4, the maximum is 3")


def test_a_flagged_oversize_chunk_may_exceed_the_maximum() -> None:
    assert not violations(TEXT, [0], [19], [TEXT], sizes=[4], maximum=3, flags=[["oversize"]])

"""What holds for every document, chunker, unit, overlap and context."""

from itertools import pairwise

import pytest
import regex
from chunking_generated import UNITS, Case, cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chunk_assets.chunking.finish import OVERSIZE
from chunk_assets.chunking.pipeline import chunk_document
from chunk_assets.chunking.ruler import Unit
from chunk_assets.chunking.strategy import CHUNKERS
from chunk_assets.chunking.verify import violations
from chunk_assets.chunking.words import count_words

# Reproducible; raise max_examples and drop derandomize to hunt.
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
few = settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=QUIET)
many = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=QUIET)


def size_of(case: Case, text: str) -> int:
    if case.strategy.unit is Unit.CHARACTERS:
        return len(text)
    if case.strategy.unit is Unit.WORDS:
        return count_words(text)
    assert case.tokenizer is not None
    return case.tokenizer.count([text])[0]


@pytest.mark.parametrize("chunker", CHUNKERS)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("with_overlap", [False, True], ids=["apart", "overlapping"])
@pytest.mark.parametrize("with_context", [False, True], ids=["bare", "in-context"])
@few
@given(data=st.data())
def test_every_combination_keeps_spans_coverage_order_overlap_and_limit(
    data: st.DataObject, chunker: str, unit: str, with_overlap: bool, with_context: bool
) -> None:
    case = data.draw(cases(chunker, unit, with_overlap, with_context))

    broken = violations(
        case.document.text,
        [chunk.start for chunk in case.chunks],
        [chunk.end for chunk in case.chunks],
        [chunk.text for chunk in case.chunks],
        overlap_starts=[chunk.overlap_start for chunk in case.chunks],
        sizes=[chunk.size for chunk in case.chunks],
        maximum=case.strategy.maximum,
        flags=[chunk.flags for chunk in case.chunks],
    )

    assert broken == []


@many
@given(cases())
def test_no_chunk_starts_or_ends_inside_a_grapheme_cluster(case: Case) -> None:
    clusters = regex.finditer(r"\X", case.document.text)
    boundaries = {0, *(cluster.end() for cluster in clusters)}

    edges = {edge for chunk in case.chunks for edge in (chunk.start, chunk.end)}
    edges |= {chunk.overlap_start for chunk in case.chunks if chunk.overlap_start is not None}

    assert edges <= boundaries


@many
@given(cases())
def test_a_size_is_that_of_the_text_the_model_is_given(case: Case) -> None:
    assert [chunk.size for chunk in case.chunks] == [
        size_of(case, chunk.embed_text) for chunk in case.chunks
    ]


@many
@given(cases())
def test_only_a_single_grapheme_cluster_without_context_is_ever_oversize(case: Case) -> None:
    for chunk in case.chunks:
        if OVERSIZE in chunk.flags:
            assert regex.fullmatch(r"\s*\X", chunk.text)
            assert chunk.embed_text == chunk.text


@many
@given(cases(with_overlap=True))
def test_overlap_is_text_of_the_chunk_before_and_no_more_than_asked_for(case: Case) -> None:
    for before, chunk in pairwise(case.chunks):
        if chunk.overlap_start is not None:
            assert before.start < chunk.start < before.end <= chunk.overlap_start
            assert not case.document.text[before.end : chunk.overlap_start].strip()
            if case.strategy.unit is Unit.CHARACTERS:
                assert chunk.overlap_start - chunk.start <= case.strategy.overlap_size


@many
@given(cases(with_context=True))
def test_what_is_embedded_is_context_and_then_the_text(case: Case) -> None:
    for chunk in case.chunks:
        context = chunk.embed_text.removesuffix(chunk.text)
        parts = context.removesuffix("\n\n").split(" > ") if context else []
        known = " > ".join([case.document.title, *chunk.heading_path]).split(" > ")

        assert chunk.embed_text.endswith(chunk.text)
        assert set(parts) <= set(known)


@many
@given(cases())
def test_cutting_again_gives_the_same_chunks(case: Case) -> None:
    assert chunk_document(case.document, case.strategy, case.tokenizer) == case.chunks


@many
@given(cases(unit="characters", with_overlap=False, with_context=False))
def test_a_chunk_below_the_minimum_fits_with_no_neighbour(case: Case) -> None:
    for before, chunk in pairwise(case.chunks):
        if min(len(before.text), len(chunk.text)) < case.strategy.min_size:
            assert chunk.end - before.start > case.strategy.maximum


@many
@given(cases())
def test_a_heading_path_is_true_of_every_block_in_the_chunk(case: Case) -> None:
    for chunk in case.chunks:
        core = chunk.start if chunk.overlap_start is None else chunk.overlap_start
        for block in case.document.blocks:
            if block.kind != "heading" and block.start < chunk.end and core < block.end:
                assert block.heading_path[: len(chunk.heading_path)] == chunk.heading_path


@many
@given(cases())
def test_chunks_are_numbered_in_reading_order(case: Case) -> None:
    assert [chunk.ordinal for chunk in case.chunks] == list(range(len(case.chunks)))

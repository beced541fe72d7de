import os
from importlib.util import find_spec

import numpy as np
import numpy.typing as npt
import pytest

from benchmarks.chroma_data import CORPORA, ChromaData, data_folder, load
from benchmarks.chroma_published import LARGE, Published
from benchmarks.chroma_scores import Scorer, first_occurrence, spread
from benchmarks.chroma_token_windows import Cl100k, windows

pytestmark = [
    pytest.mark.skipif(
        "CHUNK_ASSETS_SHARED_DATA" not in os.environ, reason="CHUNK_ASSETS_SHARED_DATA is not set"
    ),
    pytest.mark.skipif(find_spec("bpe_openai") is None, reason="bpe-openai is not installed"),
    # bpe-openai opens its vocabulary through an old function of importlib.resources.
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning:importlib"),
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning:bpe_openai"),
]

Borders = dict[str, npt.NDArray[np.int64]]


@pytest.fixture(scope="module")
def data() -> ChromaData:
    return load(data_folder())


@pytest.fixture(scope="module")
def borders(data: ChromaData) -> Borders:
    encoding = Cl100k()
    return {uri: encoding.borders(text) for uri, text in data.texts.items()}


def test_all_questions_are_there_and_every_excerpt_lies_in_its_document(data: ChromaData) -> None:
    places = [place for query in data.queries for (place,) in query.evidence]

    assert len(data.queries) == 472
    assert len(places) == 790
    assert all(place.end <= len(data.texts[place.doc_id]) for place in places)


def test_token_borders_give_the_corpora_the_lengths_that_are_known(borders: Borders) -> None:
    assert [len(borders[f"{name}.md"]) - 1 for name in CORPORA] == [
        10_444,
        26_649,
        7_727,
        166_177,
        117_211,
    ]


@pytest.mark.parametrize(
    "row",
    [row for row in LARGE if row.chunking == "TokenText"],
    ids=lambda row: f"{row.size}/{row.overlap}",
)
def test_precision_omega_of_token_windows_equals_the_published_digits(
    row: Published, data: ChromaData, borders: Borders
) -> None:
    chunks = [
        (uri, *first_occurrence(text, *window))
        for uri, text in data.texts.items()
        for window in windows(borders[uri], int(row.size), row.overlap)
    ]

    assert str(spread(Scorer(data).precision_omega(chunks))) == str(row.precision_omega)


def test_chunks_where_they_really_stand_have_another_precision_omega(
    data: ChromaData, borders: Borders
) -> None:
    # The published value rests on finding a chunk by its text, which misplaces repeated text.
    chunks = [(uri, *window) for uri in data.texts for window in windows(borders[uri], 200, 0)]

    assert str(spread(Scorer(data).precision_omega(chunks))) == "21.4 ± 12.0"

"""The pages of the chunkers."""

from pathlib import Path

import pytest

from chunk_assets.chunking.documentation import settings_table
from chunk_assets.chunking.strategy import CHUNKERS

PAGES = Path(__file__).parents[2] / "docs" / "chunkers"


@pytest.mark.parametrize("chunker", CHUNKERS)
def test_the_settings_on_a_page_are_those_of_the_chunker(chunker: str) -> None:
    page = (PAGES / f"{chunker}.md").read_text(encoding="utf-8")

    _, _, rest = page.partition("## Settings\n\n")
    assert rest.partition("\n\n## ")[0] == settings_table(CHUNKERS[chunker])


@pytest.mark.parametrize("chunker", CHUNKERS)
def test_a_page_says_when_its_chunker_wins_and_where_it_falls_over(chunker: str) -> None:
    page = (PAGES / f"{chunker}.md").read_text(encoding="utf-8")

    assert "## When it wins" in page
    assert "## Where it falls over" in page


def test_there_is_a_page_for_every_chunker_and_no_other() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} == set(CHUNKERS)


def test_every_setting_says_what_it_means() -> None:
    missing = [
        (name, field)
        for name, model in CHUNKERS.items()
        for field, information in model.model_fields.items()
        if field != "chunker" and not information.description
    ]

    assert missing == []

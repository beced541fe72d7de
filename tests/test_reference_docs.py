"""The reference pages and the examples of the guides, held to the code they describe."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import typer.main

from chunk_assets.cli import app
from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.registry import build_embedder
from chunk_assets.evaluation.gold import parse_gold
from chunk_assets.reference import PAGES
from resources.schemas import CORPUS_TABLES, SHARED_TABLES

DOCS = Path(__file__).parents[1] / "docs"
REFERENCE = DOCS / "reference"
TABLES = {**CORPUS_TABLES, **SHARED_TABLES}
LINK = re.compile(r"\]\(([^)#\s]+)?(?:#([^)\s]+))?\)")


def _sections(page: str) -> dict[str, str]:
    """What stands below each heading of the second level."""
    found = re.split(r"^## (.+)$", page, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


def _fenced(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(("name", "page"), PAGES.items(), ids=PAGES.keys())
def test_a_generated_page_is_up_to_date(name: str, page: Callable[[], str]) -> None:
    committed = (REFERENCE / name).read_text(encoding="utf-8")

    assert committed == page() + "\n", "run: python -m chunk_assets.reference"


@pytest.mark.parametrize("table", TABLES)
def test_a_table_is_described_column_by_column(table: str) -> None:
    section = _sections((REFERENCE / "tables.md").read_text(encoding="utf-8"))[f"`{table}`"]

    rows = re.findall(r"^\|((?: `\w+`)+) \| \S", section, flags=re.MULTILINE)
    described = [column for row in rows for column in re.findall(r"\w+", row)]
    assert described == TABLES[table].names


def test_no_table_is_described_that_does_not_exist() -> None:
    sections = _sections((REFERENCE / "tables.md").read_text(encoding="utf-8"))

    assert {heading.strip("`") for heading in sections} == set(TABLES)


def _commands() -> dict[str, Any]:
    return dict(typer.main.get_group(app).commands)


@pytest.mark.parametrize("name", _commands())
def test_a_command_is_described_with_all_its_options(name: str) -> None:
    section = _sections((REFERENCE / "commands.md").read_text(encoding="utf-8"))[name]

    options = {option for parameter in _commands()[name].params for option in parameter.opts}
    long = {option for option in options if option.startswith("--")}
    assert long <= set(re.findall(r"--[a-z]+", section))


def _links() -> list[tuple[str, str, str]]:
    return [
        (str(page.relative_to(DOCS)), target, anchor)
        for page in sorted(DOCS.rglob("*.md"))
        for target, anchor in LINK.findall(page.read_text(encoding="utf-8"))
        if "://" not in target
    ]


@pytest.mark.parametrize(("page", "target", "anchor"), _links())
def test_a_link_leads_somewhere(page: str, target: str, anchor: str) -> None:
    path = (DOCS / page).parent / target if target else DOCS / page

    assert path.exists()
    if anchor:
        assert anchor in _anchors(path)


def test_the_questions_of_the_gold_guide_are_a_gold_set() -> None:
    page = (DOCS / "guides" / "gold.md").read_text(encoding="utf-8")
    examples = _fenced(page, "jsonl")

    assert examples
    for example in examples:
        parse_gold(example, "gold.md")


def test_the_answers_of_the_commands_page_are_json() -> None:
    page = (REFERENCE / "commands.md").read_text(encoding="utf-8")

    for example in _fenced(page, "json"):
        json.loads(example)


def test_the_embedder_of_the_guide_gives_unit_vectors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = (DOCS / "guides" / "embedders.md").read_text(encoding="utf-8")
    [source] = _fenced(page, "python")
    module = ModuleType("hashing_embedder")
    exec(source, module.__dict__)  # noqa: S102 - our own page
    monkeypatch.setitem(sys.modules, "hashing_embedder", module)

    config = EmbedderConfig(backend="custom", factory="hashing_embedder:build")
    vectors = build_embedder("hashing", config).embed_passages(["one text", "another text"])

    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1.0, 1.0])
    assert not np.array_equal(vectors[0], vectors[1])

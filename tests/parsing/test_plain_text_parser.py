"""Plain text."""

import pytest
from parsing_checks import outline, parsed

from chunk_assets.parsing.document import BlockKind


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_blank_lines_separate_paragraphs_whatever_the_line_end(line_end: str) -> None:
    raw = line_end.join(["One.", "", "Two.", "still two.", "", "", "Three."])
    document = parsed(raw, "notes.txt").document
    assert outline(document.text, document.blocks) == [
        (BlockKind.PARAGRAPH, "One."),
        (BlockKind.PARAGRAPH, "Two.\nstill two."),
        (BlockKind.PARAGRAPH, "Three."),
    ]


def test_a_line_of_blanks_separates_paragraphs() -> None:
    document = parsed("One.\n \t\u00a0\nTwo.", "notes.txt").document
    assert len(document.blocks) == 2


def test_markup_has_no_meaning_in_plain_text() -> None:
    document = parsed("# not a heading\n\n- not a list", "notes.txt").document
    assert {block.kind for block in document.blocks} == {BlockKind.PARAGRAPH}


def test_indentation_belongs_to_its_paragraph() -> None:
    document = parsed("   indented\n\tmore", "notes.txt").document
    assert outline(document.text, document.blocks)[0][1] == "   indented\n\tmore"

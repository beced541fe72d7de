"""Markdown."""

import pytest
from parsing_checks import outline

from chunk_assets.parsing.document import Block, BlockKind
from chunk_assets.parsing.markdown import parse_markdown


def kinds(text: str) -> list[tuple[BlockKind, str]]:
    return outline(text, parse_markdown(text).blocks)


def headings(text: str) -> list[tuple[int, str]]:
    blocks = parse_markdown(text).blocks
    return [(b.level, str(b.attributes["title"])) for b in blocks if b.kind is BlockKind.HEADING]


def only(text: str, kind: BlockKind) -> Block:
    (block,) = [block for block in parse_markdown(text).blocks if block.kind is kind]
    return block


def test_text_before_the_first_heading_is_a_block_without_path() -> None:
    text = "Opening words.\n\n# First\nBody."
    first = parse_markdown(text).blocks[0]
    assert text[first.start : first.end] == "Opening words."
    assert first.heading_path == ()


def test_atx_and_setext_headings_have_their_levels() -> None:
    assert headings("Top\n===\n\nSub\n---\n\n### Deep ###\n") == [
        (1, "Top"),
        (2, "Sub"),
        (3, "Deep"),
    ]


def test_a_setext_heading_includes_its_underline() -> None:
    assert kinds("Top\nline two\n===\ntext") == [
        (BlockKind.HEADING, "Top\nline two\n==="),
        (BlockKind.PARAGRAPH, "text"),
    ]


def test_a_heading_of_the_same_or_a_higher_level_closes_the_section() -> None:
    blocks = parse_markdown("# A\n## B\n### C\n## D\nx\n# E\ny").blocks
    assert [block.heading_path for block in blocks] == [
        ("A",),
        ("A", "B"),
        ("A", "B", "C"),
        ("A", "D"),
        ("A", "D"),
        ("E",),
        ("E",),
    ]


def test_a_title_is_the_plain_text_of_its_heading() -> None:
    text = "# `code` *em* [link](url) ![alt](image.png) &amp; \\# <b>x</b>"
    assert headings(text) == [(1, "code em link alt & # x")]


def test_a_reference_link_in_a_title_is_resolved() -> None:
    assert headings("# See [the guide][g]\n\n[g]: /guide") == [(1, "See the guide")]


@pytest.mark.parametrize(
    "fenced",
    [
        "```\n# no\n```",
        "~~~\n# no\nno\n==\n~~~",
        "````\n```\n# no\n```\n````",
        "```\n# never closed",
        "    # indented",
        "> ```\n> # no\n> ```",
        "- ```\n  # no\n  ```",
    ],
)
def test_what_looks_like_a_heading_inside_code_is_code(fenced: str) -> None:
    assert headings(f"# Yes\n\n{fenced}\n") == [(1, "Yes")]
    assert BlockKind.CODE in {kind for kind, _ in kinds(fenced)}


@pytest.mark.parametrize("text", ["#no space", "####### seven", "\\# escaped", "#5 is alive"])
def test_what_is_no_heading_in_commonmark_is_none_here(text: str) -> None:
    assert headings(text) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [("> # Quoted\n> text", BlockKind.QUOTE), ("- # Listed\n\n  text", BlockKind.LIST_ITEM)],
)
def test_a_heading_in_a_quote_or_list_opens_no_section(text: str, kind: BlockKind) -> None:
    first, second = parse_markdown(text).blocks
    assert (first.kind, second.kind) == (kind, kind)
    assert first.attributes["heading_level"] == 1
    assert second.heading_path == ()


def test_code_keeps_its_fence_its_language_and_its_indentation() -> None:
    text = "# Steps\n\n```py title=x\nif ok:\n\treturn 1\n```\n"
    block = only(text, BlockKind.CODE)
    assert text[block.start : block.end] == "```py title=x\nif ok:\n\treturn 1\n```"
    assert block.attributes["language"] == "py"


def test_code_without_a_language_has_none() -> None:
    assert "language" not in only("```\nx\n```", BlockKind.CODE).attributes


def test_list_items_know_their_depth_and_keep_their_indentation() -> None:
    text = "- a\n    - b\n        1. c\n- d\n"
    blocks = parse_markdown(text).blocks
    assert [(block.level, text[block.start : block.end]) for block in blocks] == [
        (1, "- a"),
        (2, "    - b"),
        (3, "        1. c"),
        (1, "- d"),
    ]


def test_the_second_paragraph_of_an_item_is_marked_as_continued() -> None:
    first, second = parse_markdown("- a\n\n  b").blocks
    assert "continued" not in first.attributes
    assert second.attributes["continued"] is True


def test_an_empty_item_is_a_block() -> None:
    assert kinds("- a\n-\n- c")[1] == (BlockKind.LIST_ITEM, "-")


def test_a_marker_on_a_line_of_its_own_belongs_to_its_item() -> None:
    assert kinds("-\n  late") == [(BlockKind.LIST_ITEM, "-\n  late")]


def test_each_paragraph_of_a_quote_is_a_block_with_the_marks_below_it() -> None:
    assert kinds("> a\n>\n> b\nlazy\n>\n") == [
        (BlockKind.QUOTE, "> a\n>"),
        (BlockKind.QUOTE, "> b\nlazy\n>"),
    ]


def test_a_table_tells_its_header_and_where_its_rows_begin() -> None:
    text = "text\n\n| id | unit |\n|---|---|\n| 1 | kg |\n| 2 | g |\n\nmore"
    block = only(text, BlockKind.TABLE)
    assert block.attributes["header_rows"] == 1
    starts = block.attributes["row_starts"]
    assert isinstance(starts, list)
    rows = [text[block.start + start :].split("\n")[0] for start in starts]
    assert rows == ["| 1 | kg |", "| 2 | g |"]
    assert text[block.start : block.start + starts[0]] == "| id | unit |\n|---|---|\n"


def test_a_table_without_rows_is_a_table() -> None:
    assert only("| a |\n|---|\n", BlockKind.TABLE).attributes["row_starts"] == []


@pytest.mark.parametrize("text", ["a | b\nno delimiter", "| a | b |\n|---|\n| 1 |"])
def test_lines_with_bars_and_no_matching_delimiter_row_are_a_paragraph(text: str) -> None:
    assert [kind for kind, _ in kinds(text)] == [BlockKind.PARAGRAPH]


def test_a_table_ends_at_another_block() -> None:
    assert [kind for kind, _ in kinds("| a |\n|---|\n| 1 |\n> q")] == [
        BlockKind.TABLE,
        BlockKind.QUOTE,
    ]


def test_html_is_a_block_of_its_own() -> None:
    assert kinds("<details>\n<summary>x</summary>\n</details>\n\ntext")[0] == (
        BlockKind.HTML,
        "<details>\n<summary>x</summary>\n</details>",
    )


def test_definitions_and_rules_are_other_blocks() -> None:
    assert kinds("[a]: /url\n\n***") == [
        (BlockKind.OTHER, "[a]: /url"),
        (BlockKind.OTHER, "***"),
    ]


def test_front_matter_is_a_block_and_gives_the_title() -> None:
    text = "---\ntitle: The Guide\ntags: [a]\n---\n\n# Heading"
    structure = parse_markdown(text)
    assert structure.title == "The Guide"
    assert outline(text, structure.blocks)[0] == (
        BlockKind.FRONT_MATTER,
        "---\ntitle: The Guide\ntags: [a]\n---",
    )


@pytest.mark.parametrize("title", ["", "~", "null", "[a, b]"])
def test_front_matter_without_a_usable_title_gives_none(title: str) -> None:
    assert parse_markdown(f"---\ntitle: {title}\n---\n").title is None


def test_front_matter_that_is_not_yaml_still_gives_its_title_and_a_warning() -> None:
    structure = parse_markdown("---\ntitle: Valves: a guide\n---\ntext")
    assert structure.title == "Valves: a guide"
    assert "not valid YAML" in structure.warnings[0]


def test_a_rule_on_the_first_line_is_no_front_matter() -> None:
    text = "---\nSome words\n\n# Heading\n\n---\n"
    assert BlockKind.FRONT_MATTER not in {kind for kind, _ in kinds(text)}
    assert headings(text) == [(1, "Heading")]


def test_line_separators_that_are_no_line_ends_shift_nothing() -> None:
    text = "a\u2028b\x0cc\x85d\n\n# Heading\n"
    assert kinds(text)[-1] == (BlockKind.HEADING, "# Heading")


def test_right_to_left_text_and_its_direction_marks_stay_as_written() -> None:
    text = "# \u05e9\u05dc\u05d5\u05dd \u200f(abc) 34.\n"
    assert headings(text) == [(1, "\u05e9\u05dc\u05d5\u05dd \u200f(abc) 34.")]

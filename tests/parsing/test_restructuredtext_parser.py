"""reStructuredText."""

from pathlib import Path

import pytest
from docutils.parsers.rst import roles
from parsing_checks import outline

from chunk_assets.parsing.document import Block, BlockKind
from chunk_assets.parsing.restructuredtext import parse_restructuredtext, plain_title


def kinds(text: str) -> list[tuple[BlockKind, str]]:
    return outline(text, parse_restructuredtext(text).blocks)


def headings(text: str) -> list[tuple[int, str]]:
    blocks = parse_restructuredtext(text).blocks
    return [(b.level, str(b.attributes["title"])) for b in blocks if b.kind is BlockKind.HEADING]


def only(text: str, kind: BlockKind) -> Block:
    (block,) = [block for block in parse_restructuredtext(text).blocks if block.kind is kind]
    return block


def test_a_heading_includes_its_underline_and_overline() -> None:
    assert kinds("=====\nTitle\n=====\n\nSub\n---\ntext") == [
        (BlockKind.HEADING, "=====\nTitle\n====="),
        (BlockKind.HEADING, "Sub\n---"),
        (BlockKind.PARAGRAPH, "text"),
    ]


def test_levels_are_the_order_in_which_title_styles_first_occur() -> None:
    text = "A\n~~~\n\nB\n===\n\nC\n+++\n\nD\n===\n\nE\n~~~\n"
    assert headings(text) == [(1, "A"), (2, "B"), (3, "C"), (2, "D"), (1, "E")]


def test_the_same_character_with_an_overline_is_another_style() -> None:
    assert headings("===\nA\n===\n\nB\n===\n") == [(1, "A"), (2, "B")]


def test_a_style_that_skips_a_level_is_a_heading_all_the_same() -> None:
    text = "A\n===\n\nB\n---\n\nC\n~~~\n\nD\n===\n\nE\n~~~\n"
    assert headings(text)[-1] == (3, "E")


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("``a_b`` and link_", "a_b and link"),
        ("`Text <https://example.org>`_ here", "Text here"),
        (":class:`~a.B` *x* **y** |z|", "~a.B x y z"),
        ("snake_case f(*args, **kwargs) 2*3*4", "snake_case f(*args, **kwargs) 2*3*4"),
        (r"\*escaped", "*escaped"),
    ],
)
def test_a_title_is_plain_text(source: str, title: str) -> None:
    assert plain_title(source) == title


@pytest.mark.parametrize(
    "literal",
    ["para::\n\n    Title\n    =====\n", "::\n\n  Title\n  =====\n", "::\n\n> Title\n> =====\n"],
)
def test_what_looks_like_a_heading_in_a_literal_block_is_code(literal: str) -> None:
    assert headings(literal) == []
    assert BlockKind.CODE in {kind for kind, _ in kinds(literal)}


def test_a_lone_double_colon_belongs_to_its_code() -> None:
    assert kinds("a\n\n::\n\n  code\n\nb")[1] == (BlockKind.CODE, "::\n\n  code")


def test_a_code_directive_is_code_in_its_language() -> None:
    text = ".. code-block:: python\n   :linenos:\n\n   x = 1\n\n   y = 2\n\nafter"
    block = only(text, BlockKind.CODE)
    assert block.attributes["language"] == "python"
    assert text[block.start : block.end].endswith("   y = 2")


def test_a_doctest_is_code() -> None:
    assert only("text\n\n>>> 1 + 1\n2\n", BlockKind.CODE).attributes["language"] == "pycon"


@pytest.mark.parametrize(
    "text",
    [
        "- a\n\n  b\n- c",
        "1. a\n\n   b\n2. c",
        "term\n  a\n\n  b\nother\n  c",
        ":f: a\n\n    b\n:g: c",
    ],
)
def test_items_of_all_kinds_of_lists_are_items(text: str) -> None:
    blocks = parse_restructuredtext(text).blocks
    assert [(block.kind, block.level) for block in blocks] == [(BlockKind.LIST_ITEM, 1)] * 3
    assert [block.attributes.get("continued") for block in blocks] == [None, True, None]


def test_nested_items_know_their_depth() -> None:
    blocks = parse_restructuredtext("- a\n\n  - b\n\n    1. c\n").blocks
    assert [block.level for block in blocks] == [1, 2, 3]


def test_an_option_includes_its_description() -> None:
    assert kinds("-a         first\n--bb=C\n           second") == [
        (BlockKind.LIST_ITEM, "-a         first"),
        (BlockKind.LIST_ITEM, "--bb=C\n           second"),
    ]


def test_an_indented_paragraph_is_a_quote_and_so_is_its_attribution() -> None:
    assert kinds("text\n\n  Quoted.\n\n  -- Someone") == [
        (BlockKind.PARAGRAPH, "text"),
        (BlockKind.QUOTE, "  Quoted."),
        (BlockKind.QUOTE, "  -- Someone"),
    ]


def test_a_line_block_is_one_paragraph() -> None:
    assert kinds("| a\n| b\n  c\n\nd")[0] == (BlockKind.PARAGRAPH, "| a\n| b\n  c")


def row_texts(text: str) -> list[str]:
    block = only(text, BlockKind.TABLE)
    starts = block.attributes["row_starts"]
    assert isinstance(starts, list)
    return [text[block.start + start :].split("\n")[0] for start in starts]


def test_a_simple_table_tells_its_header_and_rows() -> None:
    text = "==  ==\na   b\n==  ==\n1   2\n\n3   4\n    5\n==  ==\n"
    assert only(text, BlockKind.TABLE).attributes["header_rows"] == 1
    assert row_texts(text) == ["1   2", "3   4"]


def test_a_grid_table_tells_its_header_and_rows() -> None:
    text = "x\n\n+--+--+\n|a |b |\n+==+==+\n|1 |2 |\n|  |3 |\n+--+--+\n|4    |\n+--+--+\n\ny"
    assert only(text, BlockKind.TABLE).attributes["header_rows"] == 1
    assert row_texts(text) == ["|1 |2 |", "|4    |"]


def test_a_list_table_tells_its_header_and_rows() -> None:
    text = ".. list-table:: T\n   :header-rows: 1\n\n   * - a\n     - b\n   * - c\n     - d\n"
    assert only(text, BlockKind.TABLE).attributes["header_rows"] == 1
    assert row_texts(text) == ["   * - c"]


def test_a_malformed_table_is_kept() -> None:
    assert kinds("+---+\n| x\n+---+\n\nafter") == [
        (BlockKind.OTHER, "+---+\n| x\n+---+"),
        (BlockKind.PARAGRAPH, "after"),
    ]


def test_an_admonition_is_parsed_into_blocks_that_name_it() -> None:
    text = ".. note:: First\n   words.\n\n   - item\n\n   ::\n\n     code\n"
    blocks = parse_restructuredtext(text).blocks
    assert outline(text, blocks) == [
        (BlockKind.PARAGRAPH, ".. note:: First\n   words."),
        (BlockKind.LIST_ITEM, "   - item"),
        (BlockKind.CODE, "   ::\n\n     code"),
    ]
    assert blocks[0].attributes["directive"] == "note"


def test_the_options_of_an_admonition_belong_to_its_first_block() -> None:
    assert kinds(".. warning::\n   :class: x\n\n   Text") == [
        (BlockKind.PARAGRAPH, ".. warning::\n   :class: x\n\n   Text")
    ]


@pytest.mark.parametrize(
    "text",
    [
        ".. image:: a.png\n   :alt: b",
        ".. unknown-thing:: x\n\n   content",
        ".. |s| image:: a.png",
        ".. _target: https://example.org",
        "__ https://example.org",
        ".. a comment\n   of two lines",
        '.. end of inclusion from "x"',
        "..",
    ],
)
def test_other_explicit_markup_is_kept_whole(text: str) -> None:
    assert kinds(f"before\n\n{text}\n\nafter")[1] == (BlockKind.OTHER, text)


def test_an_empty_comment_claims_nothing_below_it() -> None:
    assert kinds("..\n\n   Quote") == [(BlockKind.OTHER, ".."), (BlockKind.QUOTE, "   Quote")]


@pytest.mark.parametrize(
    "directive",
    [
        "include:: {}",
        "literalinclude:: {}",
        "csv-table::\n   :file: {}",
        "raw:: html\n   :file: {}",
    ],
)
def test_directives_that_read_files_read_nothing(directive: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("Secret\n======\n")
    text = f"before\n\n.. {directive.format(secret)}\n\nafter"
    assert headings(text) == []
    assert "".join(source for _, source in kinds(text)).count("secret.txt") == 1


def test_a_role_that_a_document_defines_does_not_outlive_it() -> None:
    registered: dict[str, object] = vars(roles)["_roles"]
    before = set(registered)
    parse_restructuredtext(".. role:: mine\n\n.. default-role:: mine\n\n:mine:`x`")
    assert set(registered) == before


def test_broken_markup_writes_nothing_to_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    parse_restructuredtext("Title\n==\n\n*x\n\n.. foo::\n\n`a`_ |b|\n\n====\n")
    assert capfd.readouterr() == ("", "")


def test_line_separators_that_are_no_line_ends_shift_nothing() -> None:
    text = "a\u2028b\x0cc\x85d\x1ee\n\nTitle\n=====\n"
    assert kinds(text)[-1] == (BlockKind.HEADING, "Title\n=====")


def test_tabs_indent_and_stay_tabs() -> None:
    assert kinds("::\n\n\tcode\n\t\tmore")[0] == (BlockKind.CODE, "::\n\n\tcode\n\t\tmore")


def test_nesting_beyond_all_reason_is_read_as_plain_paragraphs() -> None:
    text = "\n\n".join("  " * depth + "- a" for depth in range(100))
    structure = parse_restructuredtext(text)
    assert "nested too deep" in structure.warnings[0]
    assert len(structure.blocks) == 100

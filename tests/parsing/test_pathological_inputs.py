"""Inputs that make parsers hang, fail or forget: all must be tiled, and in bounded steps."""

import sys
from collections.abc import Callable

import pytest
from parsing_checks import parsed, tiling_faults

NAMES = pytest.mark.parametrize("name", ["a.md", "a.rst", "a.txt"])


@NAMES
@pytest.mark.parametrize(
    "text",
    [
        ">" * 100_000,
        "> " * 100_000 + "x",
        "- " * 100_000 + "x",
        "[" * 100_000,
        "# " + "[" * 100_000,
        "*" * 100_000,
        "`" * 99_999,
        "<a " * 30_000,
        "\n".join(" " * depth + "- a" for depth in range(1_000)),
        "\n\n".join("  " * depth + "- a" for depth in range(500)),
        "\n".join(">" * depth + " a" for depth in range(1_000)),
        "|a" * 20_000 + "|\n" + "|-" * 20_000 + "|\n" + "|x\n" * 200,
        "```\n" * 20_001,
        "[a]: b\n" * 10_000,
        "===\n" * 10_000,
        "=== ===\n" * 5_000,
        "+---+---+\n" * 5_000,
        ".. |a\n" + "   b\n" * 20_000,
        ".. _a\n" + "   b\n" * 20_000,
        "::\n\n" * 5_000,
        ":" + "a b " * 100_000,
        "-a b, " * 100_000,
        "---\n" + "a: [" * 20_000,
        "---\n" + "[" * 20_000 + "\n---\n",
        "\r" * 100_000,
        "\0" + "a" * 100_000,
        "\u0301" * 100_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_repeated_markup_is_tiled(name: str, text: str) -> None:
    document = parsed(text, name).document
    assert tiling_faults(document.text, document.blocks) == []


@NAMES
@pytest.mark.parametrize("unit", ["k", "word ", "Satz ist länger. ", '{"id": 1}, '])
def test_a_line_of_five_million_characters_is_tiled(name: str, unit: str) -> None:
    text = unit * (5_000_000 // len(unit))
    document = parsed(text, name).document
    assert tiling_faults(document.text, document.blocks) == []


@pytest.mark.slow
@NAMES
def test_a_million_lines_are_tiled(name: str) -> None:
    document = parsed("some words\n" * 1_000_000, name).document
    assert tiling_faults(document.text, document.blocks) == []


def calls_made(work: Callable[[], object]) -> int:
    """Python calls, a measure of time that no other process disturbs."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        *(("a.md", unit) for unit in ("- a\n\npara\n\n", "> a\n\n", "# h\n\ntext\n\n", "a\n")),
        *(("a.md", unit) for unit in ("|a|\n|-|\n|b|\n\n", "[a]: b\n", "```\nx\n```\n", "- a\n")),
        *(("a.rst", unit) for unit in ("- a\n\npara\n\n", "x\n===\n\n", ":a: b\n", "a\n")),
        *(("a.rst", unit) for unit in (".. _a: b\n\npara\n\n", "  a\n\n  -- b\n\n", "| a\n\n")),
        *(("a.rst", unit) for unit in ("a::\n\n  b\n\n", ".. note:: a\n\n   b\n\n", "a\n  b\n")),
        ("a.txt", "para\n\n"),
    ],
)
def test_twice_the_text_takes_about_twice_the_steps(name: str, unit: str) -> None:
    parsed(unit, name)  # whatever is prepared once
    once = calls_made(lambda: parsed(unit * 300, name))
    twice = calls_made(lambda: parsed(unit * 600, name))
    assert twice < 2.3 * once


@pytest.mark.parametrize("name", ["a.md", "a.rst"])
def test_nesting_gives_the_same_blocks_however_deep_the_caller_is(name: str) -> None:
    text = "\n\n".join("  " * depth + "- a" for depth in range(39))

    def deeper(calls: int) -> object:
        return deeper(calls - 1) if calls else parsed(text, name)

    assert deeper(200) == deeper(0)


@pytest.mark.parametrize("name", ["a.md", "a.rst"])
def test_what_nests_too_deep_is_reported(name: str) -> None:
    text = "\n\n".join("  " * depth + "- a" for depth in range(200))
    assert any("deep" in warning for warning in parsed(text, name).warnings)

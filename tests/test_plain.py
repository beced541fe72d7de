"""What a terminal may be shown of texts that others wrote."""

from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from chunk_assets.plain import shown


@given(st.text())
def test_nothing_in_a_text_acts_on_the_terminal(text: str) -> None:
    line = Text.from_markup(shown(text))
    assert not line.spans
    assert not [c for c in line.plain if ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0]


@given(st.text(st.characters(exclude_categories=["Cc"])))
def test_an_ordinary_text_is_shown_as_it_is(text: str) -> None:
    # A closing tag follows, as in use: Rich doubles a backslash at the very end for it.
    assert Text.from_markup(f"[b]{shown(text)}[/b]").plain == text


def test_line_ends_and_tabs_stay_where_lines_are_wanted() -> None:
    assert shown("a\n\tb", lines=True) == "a\n\tb"
    assert shown("a\n\tb") == "a\\n\\tb"

"""Where sentences end."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chunk_assets.chunking.sentences import sentence_ends


def sentences(text: str) -> list[str]:
    ends = [0, *sentence_ends(text, 0, len(text)), len(text)]
    return [text[slice(*span)].strip() for span in pairwise(ends)]


@pytest.mark.parametrize(
    "text",
    [
        "It rained. | We left.",
        "Really? | Yes! | Good.",
        "Was it? | yes it was.",
        '"Really?" he said. | (It is.) | Then he left.',
        "He said “Go.” | She left.",
        "It is **bold.** | It is not.",
        "It works.[1] | It is fast.[2][3] | Done.",
        "Wait... what? | Yes... | And then?",
        "So he waited… | Then he left.",
        "She lives in the U.S. | They moved.",
        "The U.S. Navy came.",
        "J. R. R. Tolkien wrote it. | He did.",
        "See Plan B. | It failed.",
        "Take vitamin C. | This helps.",
        "No. | He said no. | See No. 7 and no. 8.",
        "See Fig. 3 and Vol. 2, pp. 4. | The end.",
        "It came on Jan. 5. | It left in Feb. | We saw it.",
        "He lives in St. Louis. | She lives on Main St. | They met.",
        "Use tools, e.g. Python, i.e. C or Rust etc. | Then stop.",
        "Smith et al. (2020) found it. | Others, see Lee et al. | They did not.",
        "At 5 p.m. Mr. Smith left. | At 6 p.m. he came.",
        "He works at Acme Inc. | The firm is big.",
        "It costs $3.50, or 1.000,25 €. | Cheap.",
        "Version 1.2.3 is out. | Get it at ex.org/a.b?c=d. | Now.",
        "See os.path.join and a.b.c for it.",
        "approx. five of them, max. two.",
        "Am 3. Oktober kam er. | Am 4. Mai ging sie.",
        "It was 1999. | The year ended.",
        "Question 1: part 1. | Question 2: part 2.",
        "1. First things first. | 2. Then the rest.",
        "Steps: 1. Open it. | 2. Close it.",
        "他说：“走吧。”|我们走了。|真的吗？！|是的。",
        "「行こう。」|と彼は言った。|「え？」、と思った。",
        "Wow!|猫が好き。",
        "Ratio １．５ is fine。|Next",
        "यह है। | वह है।",
        "هل هذا صحيح؟ | نعم.",
        "Это г. Москва. | Да.",
        "Wirklich?! | Ja.",
        "no stop at all",
        "x. y. z.",
    ],
)
def test_a_text_divides_at_the_bars_and_nowhere_else(text: str) -> None:
    expected = [part.strip() for part in text.split("|")]

    assert sentences(text.replace("|", "")) == expected


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_line_end_counts_as_the_blank_after_a_sentence(newline: str) -> None:
    assert sentences(f"One ends.{newline}Two ends.") == ["One ends.", "Two ends."]


def test_a_line_end_alone_ends_no_sentence_in_wrapped_prose() -> None:
    assert sentences("A sentence that\nis wrapped.\nAnd more.") == [
        "A sentence that\nis wrapped.",
        "And more.",
    ]


def test_a_quote_that_is_never_closed_swallows_no_sentence() -> None:
    assert sentences('He said "this. And that. Then more.') == [
        'He said "this.',
        "And that.",
        "Then more.",
    ]


@settings(deadline=None, derandomize=True)
@given(st.text("a.B ?!\"'1)。」\n\r\u0301…", max_size=60))
def test_ends_lie_inside_the_text_and_move_forward(text: str) -> None:
    ends = list(sentence_ends(text, 0, len(text)))

    assert ends == sorted(set(ends))
    assert all(0 < end < len(text) for end in ends)

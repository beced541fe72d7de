"""What headers say about limits and waits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunk_assets.embedding.remote_limits import (
    Allowance,
    Limits,
    parse_duration,
    read_limits,
)

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1),
        ("6m0s", 360),
        ("120ms", 0.12),
        ("2m59.56s", 179.56),
        ("1h2m3s", 3723),
        ("1d", 86400),
        ("17", 17),
        ("0.5", 0.5),
        ("0s", 0),
    ],
)
def test_a_duration_is_read_in_every_spelling(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "-1", "1x", "nan", "inf", "2026-11-30T00:00:00Z"])
def test_what_is_no_duration_says_nothing(text: str) -> None:
    assert parse_duration(text) is None


@given(text=st.text(max_size=20))
def test_no_header_breaks_the_reader(text: str) -> None:
    names = [f"x-ratelimit-{part}-requests" for part in ("limit", "remaining", "reset")]
    headers = dict.fromkeys([*names, "retry-after", "retry-after-ms", "date"], text)
    limits = read_limits(headers, NOW)
    assert limits.retry_after_s is None or limits.retry_after_s >= 0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        (
            {
                "retry-after": "Fri, 15 Jan 2027 08:00:30 GMT",
                "date": "Fri, 15 Jan 2027 08:00:10 GMT",
            },
            20,
        ),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30 GMT"}, 30),
        ({"retry-after": "Fri, 15 Jan 2016 08:00:30 GMT"}, 0),
        ({"retry-after": "-5"}, None),
        ({}, None),
    ],
)
def test_a_wait_is_read_in_seconds_milliseconds_and_as_a_date(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert read_limits(headers, NOW).retry_after_s == (
        None if seconds is None else pytest.approx(seconds)
    )


def test_both_limits_are_read() -> None:
    limits = read_limits(
        {
            "x-ratelimit-limit-requests": "60",
            "x-ratelimit-remaining-requests": "59",
            "x-ratelimit-reset-requests": "1s",
            "x-ratelimit-remaining-tokens": "149984",
            "x-ratelimit-reset-tokens": "6m0s",
        },
        NOW,
    )
    assert limits == Limits(None, Allowance(59, 1.0, 60), Allowance(149_984, 360.0, None))


def test_a_limit_that_fills_up_evenly_is_waited_for_in_part() -> None:
    allowance = Allowance(remaining=0, reset_s=60.0, limit=1000)
    assert allowance.seconds_until(0) == 0
    assert allowance.seconds_until(250) == pytest.approx(15)
    assert allowance.seconds_until(5000) == 60


def test_a_limit_of_unknown_size_is_waited_for_in_full() -> None:
    assert Allowance(remaining=3, reset_s=60.0).seconds_until(4) == 60

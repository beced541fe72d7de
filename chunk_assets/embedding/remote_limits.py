"""What the headers of an answer say about limits and waits; pure."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])")
_DURATION = re.compile(rf"(?:{_PART.pattern})+")


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of a limit: requests or tokens."""

    remaining: int
    reset_s: float
    """After so many seconds the limit is whole again."""
    limit: int | None = None

    def seconds_until(self, amount: int) -> float:
        """How long until so much is left, if the limit fills up evenly; all of it at the latest."""
        missing = amount - self.remaining
        if missing <= 0:
            return 0.0
        if self.limit is None or self.limit <= self.remaining:
            return self.reset_s
        return self.reset_s * min(1.0, missing / (self.limit - self.remaining))


@dataclass(frozen=True, slots=True)
class Limits:
    """All of it; None where the server says nothing, or nothing that can be read."""

    retry_after_s: float | None = None
    requests: Allowance | None = None
    tokens: Allowance | None = None


def read_limits(headers: Mapping[str, str], now: float) -> Limits:
    """Read `retry-after-ms`, `Retry-After` and `x-ratelimit-*`.

    Args:
        headers: of the answer, by lower-case names.
        now: the time by this machine's clock, in seconds since 1970; the server's own `Date` goes
            before it, so that a clock that is wrong changes no wait.
    """
    return Limits(
        _retry_after(headers, now), _allowance(headers, "requests"), _allowance(headers, "tokens")
    )


def parse_duration(text: str) -> float | None:
    """Seconds of `1s`, `6m0s`, `120ms`, `1h2m3.5s` or a bare number of seconds; None for others."""
    text = text.strip().lower()
    if _DURATION.fullmatch(text):
        return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    return _seconds(text)


def _allowance(headers: Mapping[str, str], kind: str) -> Allowance | None:
    remaining = _seconds(headers.get(f"x-ratelimit-remaining-{kind}", ""))
    reset = parse_duration(headers.get(f"x-ratelimit-reset-{kind}", ""))
    if remaining is None or reset is None:
        return None
    limit = _seconds(headers.get(f"x-ratelimit-limit-{kind}", ""))
    return Allowance(int(remaining), reset, None if limit is None else int(limit))


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    milliseconds = _seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    seconds = parse_duration(value)
    if seconds is not None:
        return seconds
    at = _timestamp(value)
    if at is None:
        return None
    by_server = _timestamp(headers.get("date", ""))
    return max(0.0, at - (now if by_server is None else by_server))


def _timestamp(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError):
        return None


def _seconds(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None

"""When the next request may go: one pace for all threads and calls of an embedder."""

import threading
import time
from dataclasses import dataclass
from typing import NamedTuple

from chunk_assets.embedding.remote_limits import Allowance, Limits

# Between requests after a server said it was too much: doubled each time, shrunk by each success.
_FIRST_SPACING_S = 0.05
_LONGEST_SPACING_S = 10.0
_SHRINK = 0.8


@dataclass(frozen=True, slots=True)
class Clock:
    """Time as waits see it; a test that has no time lets it run faster."""

    speed: float = 1.0

    def now(self) -> float:
        """Seconds that only grow."""
        return time.monotonic() * self.speed

    def real(self, seconds: float) -> float:
        """How long so many of its seconds take."""
        return seconds / self.speed


class Wait(NamedTuple):
    """How long a request has to wait."""

    seconds: float
    by_server: bool
    """Whether the server asks for it; else the configuration does."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What was left of a limit when an answer said so, less what was sent since."""

    allowance: Allowance
    told_at: float

    def ready_at(self, amount: int, now: float) -> float:
        """When so much may be sent."""
        if now >= self.told_at + self.allowance.reset_s:
            return now
        return self.told_at + self.allowance.seconds_until(amount)

    def spend(self, amount: int) -> "_Known":
        left = self.allowance
        return _Known(Allowance(left.remaining - amount, left.reset_s, left.limit), self.told_at)


class Pace:
    """Spaces requests by the configured limits, and holds them when the server asks for it."""

    def __init__(
        self, clock: Clock, requests_per_minute: int | None, tokens_per_minute: int | None
    ) -> None:
        self._clock = clock
        self._per_request_s = 60 / requests_per_minute if requests_per_minute else 0.0
        self._per_token_s = 60 / tokens_per_minute if tokens_per_minute else 0.0
        self._lock = threading.Lock()
        self._next_request = self._next_tokens = self._held_until = float("-inf")
        self._requests: _Known | None = None
        self._tokens: _Known | None = None
        self._spacing_s = 0.0
        self._next_spaced = self._slowed_at = float("-inf")

    def take(self, tokens: int) -> Wait | None:
        """Take the turn for a request of so many tokens: None if it may go now.

        Else how long to wait before asking again; another may have gone first by then.
        """
        with self._lock:
            now = self._clock.now()
            by_server = max(
                self._held_until,
                self._next_spaced,
                self._requests.ready_at(1, now) if self._requests else now,
                self._tokens.ready_at(tokens, now) if self._tokens else now,
            )
            by_configuration = max(self._next_request, self._next_tokens)
            ready = max(by_server, by_configuration)
            if ready > now:
                return Wait(ready - now, by_server > by_configuration)
            self._next_request = now + self._per_request_s
            self._next_tokens = now + self._per_token_s * tokens
            self._next_spaced = now + self._spacing_s
            self._requests = self._requests and self._requests.spend(1)
            self._tokens = self._tokens and self._tokens.spend(tokens)
            return None

    def answered(self, limits: Limits, *, sent_at: float, accepted: bool) -> None:
        """Take in what an answer says.

        Args:
            limits: what its headers say.
            sent_at: when its request was sent, by the clock.
            accepted: whether it brought vectors; else it asked to slow down.
        """
        with self._lock:
            now = self._clock.now()
            if limits.requests is not None:
                self._requests = _Known(limits.requests, now)
            if limits.tokens is not None:
                self._tokens = _Known(limits.tokens, now)
            if accepted:
                shorter = self._spacing_s * _SHRINK
                self._spacing_s = shorter if shorter > _FIRST_SPACING_S / 10 else 0.0
                return
            if limits.retry_after_s is not None:
                self._held_until = max(self._held_until, now + limits.retry_after_s)
            # Requests that were under way together are one sign, not many.
            if sent_at > self._slowed_at:
                doubled = max(_FIRST_SPACING_S, 2 * self._spacing_s)
                self._spacing_s = min(doubled, _LONGEST_SPACING_S)
                self._slowed_at = now

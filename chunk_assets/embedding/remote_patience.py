"""How often and how long one request is tried."""

import random

import tenacity

from chunk_assets.embedding.remote_service import Service

_LONGEST_BACKOFF_S = 30.0


class RetriedError(Exception):
    """A failure that another attempt may not have."""


class BusyError(Exception):
    """The server asks to wait, which is no failure.

    Args:
        reason: what it says.
        is_held: whether it says how long, so that the pace holds all requests.
    """

    def __init__(self, reason: str, *, is_held: bool) -> None:
        super().__init__(reason)
        self.is_held = is_held


class Patience:
    """Counts failures against `max_attempts`, and everything against `deadline_s`.

    Its methods `wait` and `stop` are what tenacity asks after an attempt.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        first = service.backoff_s
        self._backoff = tenacity.wait_exponential(
            multiplier=first, max=_LONGEST_BACKOFF_S
        ) + tenacity.wait_random(0, first)
        self._failures = 0
        self._started: float | None = None

    def start(self) -> None:
        """The first attempt begins; waiting for its turn before that costs no patience."""
        if self._started is None:
            self._started = self._service.clock.now()

    def outlasts(self, seconds: float) -> bool:
        """Whether a wait ends before the deadline."""
        deadline_s = self._service.remote.deadline_s
        if self._started is None:
            return seconds <= deadline_s
        return self._service.clock.now() + seconds <= self._started + deadline_s

    def wait(self, state: tenacity.RetryCallState) -> float:
        """Seconds until the next attempt."""
        error = _error_of(state)
        if isinstance(error, BusyError) and error.is_held:
            # Some jitter keeps requests from coming back together when the pace lets go.
            return random.uniform(0, self._service.backoff_s)  # noqa: S311 - no secret
        return self._backoff(state)

    def stop(self, state: tenacity.RetryCallState) -> bool:
        """Whether to give up."""
        if isinstance(_error_of(state), RetriedError):
            self._failures += 1
        if self._failures >= self._service.remote.max_attempts:
            return True
        return not self.outlasts(state.upcoming_sleep)


def _error_of(state: tenacity.RetryCallState) -> BaseException | None:
    return None if state.outcome is None else state.outcome.exception()

"""When a request may go."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunk_assets.embedding.remote_limits import Allowance, Limits
from chunk_assets.embedding.remote_pace import Clock, Pace

START = 1000.0
NOTHING = Limits()


@dataclass(frozen=True)
class HandSetClock(Clock):
    """Stands still until it is moved."""

    time: list[float] = field(default_factory=lambda: [START])

    def now(self) -> float:
        return self.time[0]

    def pass_by(self, seconds: float) -> None:
        self.time[0] += seconds


class Bench:
    """A pace and its clock."""

    def __init__(self, requests: int | None = None, tokens: int | None = None) -> None:
        self.clock = HandSetClock()
        self.pace = Pace(self.clock, requests, tokens)

    def go(self, tokens: int = 1) -> float:
        """Wait as long as it says, and tell how long after the start the request went."""
        while (wait := self.pace.take(tokens)) is not None:
            self.clock.pass_by(wait.seconds)
        return self.clock.now() - START

    def refuse(self, limits: Limits = NOTHING, *, sent_at: float | None = None) -> None:
        at = self.clock.now() if sent_at is None else sent_at
        self.pace.answered(limits, sent_at=at, accepted=False)

    def accept(self, limits: Limits = NOTHING) -> None:
        self.pace.answered(limits, sent_at=self.clock.now(), accepted=True)


def test_without_limits_every_request_may_go() -> None:
    bench = Bench()
    assert [bench.pace.take(100_000) for _ in range(50)] == [None] * 50


def test_requests_per_minute_are_spaced_evenly() -> None:
    bench = Bench(requests=120)
    assert [bench.go() for _ in range(4)] == pytest.approx([0, 0.5, 1.0, 1.5])


def test_tokens_per_minute_are_spaced_by_their_number() -> None:
    bench = Bench(tokens=6000)
    assert [bench.go(tokens) for tokens in (100, 500, 1)] == pytest.approx([0, 1.0, 6.0])


@given(sizes=st.lists(st.integers(1, 900), min_size=2, max_size=60))
def test_no_minute_holds_more_tokens_than_allowed_and_one_request(sizes: list[int]) -> None:
    bench = Bench(tokens=1000)
    sent = [(bench.go(size), size) for size in sizes]
    for start, _ in sent:
        inside = [size for at, size in sent if start <= at < start + 60]
        assert sum(inside) <= 1000 + max(sizes)


def test_own_limits_are_not_the_servers() -> None:
    bench = Bench(requests=1)
    assert bench.pace.take(1) is None
    wait = bench.pace.take(1)
    assert wait is not None
    assert not wait.by_server


def test_a_wait_that_is_told_holds_everyone() -> None:
    bench = Bench()
    bench.refuse(Limits(retry_after_s=20))

    assert bench.pace.take(1) == (20, True)
    assert bench.go() == 20


def test_after_a_refusal_requests_come_one_by_one_and_closer_with_each_success() -> None:
    bench = Bench()
    bench.refuse(Limits(retry_after_s=1))
    assert [bench.go() for _ in range(4)] == pytest.approx([1.0, 1.05, 1.1, 1.15])

    for _ in range(20):
        bench.accept()
    bench.go()
    assert bench.pace.take(1) is None


def test_refusals_of_requests_that_were_under_way_together_count_once() -> None:
    bench = Bench()
    for _ in range(8):
        bench.refuse(sent_at=START)
        bench.clock.pass_by(0.001)
    first = bench.go()
    assert bench.go() - first == pytest.approx(0.05)


def test_spacing_doubles_with_every_further_refusal() -> None:
    bench = Bench()
    for _ in range(3):
        bench.clock.pass_by(1)
        bench.refuse()
    first = bench.go()
    assert bench.go() - first == pytest.approx(0.2)


def test_when_no_request_is_left_the_next_one_waits() -> None:
    bench = Bench()
    bench.accept(Limits(requests=Allowance(1, 30.0)))
    assert bench.pace.take(1) is None
    assert bench.pace.take(1) == (30, True)


def test_when_too_few_tokens_are_left_only_a_smaller_request_goes() -> None:
    bench = Bench()
    bench.accept(Limits(tokens=Allowance(500, 60.0, 1000)))
    wait = bench.pace.take(600)
    assert wait is not None
    assert wait.seconds == pytest.approx(12)
    assert bench.pace.take(400) is None


def test_what_was_told_is_over_when_the_limit_is_whole_again() -> None:
    bench = Bench()
    bench.accept(Limits(tokens=Allowance(0, 60.0)))
    bench.clock.pass_by(61)
    assert bench.pace.take(10_000) is None


def test_a_faster_clock_shortens_waits() -> None:
    assert Clock(speed=50).real(10) == pytest.approx(0.2)

"""Ctrl-C stops `apply` for good; what was done is kept."""

import signal

import pytest
from command_line import apply_command
from small_platform import SmallPlatform, guide

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_a_run_stops_everything_after_it(
    small: SmallPlatform, stop: signal.Signals
) -> None:
    small.corpus = {"buckets": 1}
    small.embedder_options = {"sleep_s": 5.0}
    small.write({"pump.md": guide("pump")})
    small.configure()
    process = apply_command(small)
    assert process.stdout is not None
    said = b""
    # The lines before it are flushed while the embedding of the first index sleeps.
    for line in process.stdout:
        said += line
        if b"embedder_config/sentences" in line:
            break
    process.send_signal(stop)
    rest, _ = process.communicate(timeout=60)
    said += rest
    assert process.returncode == 130, said.decode()
    assert b"What was done is kept" in said
    assert b"leaderboard" not in said
    small.embedder_options = {}
    report = small.apply()
    assert not report.failed
    assert report.totals["points"]["written"] > 0

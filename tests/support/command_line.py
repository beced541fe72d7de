"""`chunk-assets` in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

from small_platform import SmallPlatform


def killed_at_checks_of(small: SmallPlatform, stage: str) -> int:
    """The exit code of an `apply` that kills itself when it is about to check a stage."""
    script = (
        "import os, signal\n"
        "from chunk_assets import cli\n"
        "from chunk_assets.assets import checks\n"
        f"checks.inspect_{stage} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "cli.main()\n"
    )
    command = [sys.executable, "-c", script, "apply", "-c", str(small.config_file)]
    done = subprocess.run(command, env=_environment(small), check=False, capture_output=True)
    return done.returncode


def apply_command(small: SmallPlatform, *arguments: str) -> subprocess.Popen[bytes]:
    """`chunk-assets apply` in a process of its own."""
    command = [sys.executable, "-m", "chunk_assets.cli", "apply", "-c", str(small.config_file)]
    return subprocess.Popen(
        [*command, *arguments],
        env=_environment(small),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def _environment(small: SmallPlatform) -> dict[str, str]:
    support = Path(__file__).parent
    return os.environ | {
        "PYTHONPATH": str(support),
        "DAGSTER_HOME": str(small.folder / "dagster"),
        "PYTHONWARNINGS": "ignore",
    }

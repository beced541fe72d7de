"""`chunk-assets` in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

from small_platform import SmallPlatform


def apply_command(small: SmallPlatform) -> subprocess.Popen[bytes]:
    """`chunk-assets apply` in a process of its own."""
    support = Path(__file__).parent
    environment = os.environ | {
        "PYTHONPATH": str(support),
        "DAGSTER_HOME": str(small.folder / "dagster"),
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, "-m", "chunk_assets.cli", "apply", "-c", str(small.config_file)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )

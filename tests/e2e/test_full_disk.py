"""A full disk is told without a traceback, and the next `apply` goes on when there is room."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from small_platform import STRATEGIES, SmallPlatform, guide

pytestmark = pytest.mark.slow

# In a mount namespace of its own: whatever happens, the mount goes with the process.
SCRIPT = """
mount -t tmpfs -o size=$SIZE tmpfs "$DISK" || exit 77
mkdir -p "$DAGSTER_HOME"
"$PYTHON" -m chunk_assets.cli apply -c "$CONFIG"; echo "first: $?"
"$PYTHON" -m chunk_assets.cli status -c "$CONFIG" > /dev/null; echo "status: $?"
mount -o remount,size=500m "$DISK"
"$PYTHON" -m chunk_assets.cli apply -c "$CONFIG"; echo "second: $?"
"$PYTHON" -m chunk_assets.cli apply -c "$CONFIG"; echo "third: $?"
"""


@pytest.mark.parametrize(
    ("size", "home", "said"),
    [
        ("1m", "disk/dagster", "Dagster's records in "),
        ("4m", "dagster", "Cannot write table 'guides/raw_documents'"),
        ("20m", "dagster", "Cannot create collection 'guides__hierarchy__counting__"),
    ],
)
def test_a_full_disk_is_told_and_the_next_apply_goes_on(
    small: SmallPlatform, size: str, home: str, said: str
) -> None:
    disk = small.folder / "disk"
    disk.mkdir()
    small.strategies = {"hierarchy": STRATEGIES["hierarchy"]}
    small.corpus = {"buckets": 1}
    small.extra = {"storage": str(disk / "storage")}
    small.write({"pump.md": guide("pump"), "boiler.md": guide("boiler")})
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", SCRIPT],
        env=os.environ
        | {
            "PYTHON": sys.executable,
            "PYTHONPATH": str(Path(__file__).parents[1] / "support"),
            "DAGSTER_HOME": str(small.folder / home),
            "CONFIG": str(small.configure()),
            "DISK": str(disk),
            "SIZE": size,
        },
        check=False,
        capture_output=True,
        timeout=300,
    )
    if done.returncode in (1, 77) and b"first:" not in done.stdout:
        pytest.skip(f"no file system can be mounted here: {done.stderr.decode().strip()}")
    text = (done.stdout + done.stderr).decode()
    assert said in text
    assert "Traceback" not in text
    assert "panicked" not in text
    for expected in ("first: 1", "status: ", "second: 0", "third: 0"):
        assert expected in text
    assert "nothing to do, 0 texts embedded" in text.partition("second: 0")[2]
    embedded = small.embedded_texts()
    assert len(embedded) == len(set(embedded)) > 0, "what was embedded before the disk was full"

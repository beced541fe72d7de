"""Who holds a lock file: a note beside it, for the message to those who wait."""

import json
import os
import platform
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that holds a lock."""

    pid: int
    host: str
    since: datetime | None

    def __str__(self) -> str:
        """As it is named to others; a process on another machine with its host."""
        return f"process {self.pid}" + (f" on {self.host}" if self._is_elsewhere else "")

    @property
    def is_this_process(self) -> bool:
        """Whether another thread of this very process holds the lock."""
        return not self._is_elsewhere and self.pid == os.getpid()

    @property
    def may_be_alive(self) -> bool:
        """Whether the process is there, as far as can be told from here."""
        if self._is_elsewhere or sys.platform == "win32":  # there, signal 0 ends the process
            return True
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    @property
    def _is_elsewhere(self) -> bool:
        return self.host != platform.node()


def sign(record: Path) -> None:
    """Note that this process holds the lock, from now on.

    Only for the message to others; without it they wait just as well.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    with suppress(OSError):
        record.write_text(
            json.dumps({"pid": os.getpid(), "host": platform.node(), "since": now}),
            encoding="utf-8",
        )


def holder_of(record: Path) -> Holder | None:
    """Who signed; None if that cannot be read, or was left behind by a process that is gone."""
    try:
        signed = json.loads(record.read_text(encoding="utf-8"))
        since = signed.get("since")
        holder = Holder(
            int(signed["pid"]),
            str(signed["host"]),
            None if since is None else datetime.fromisoformat(since),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return holder if holder.may_be_alive else None

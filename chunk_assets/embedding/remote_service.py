"""An API as one embedder uses it: what its threads and calls share."""

import threading
from dataclasses import dataclass

from chunk_assets.embedding.remote_batches import BatchSizes
from chunk_assets.embedding.remote_config import RemoteConfig
from chunk_assets.embedding.remote_pace import Clock, Pace
from chunk_assets.embedding.usage import Usage


class Tally:
    """What was used, counted by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._usage = Usage()

    @property
    def usage(self) -> Usage:
        """All of it so far."""
        return self._usage

    def add(self, usage: Usage) -> None:
        """Count it in."""
        with self._lock:
            self._usage += usage


@dataclass(frozen=True, slots=True)
class Service:
    """The API, how fast it may be asked, and what it has charged."""

    name: str
    """The embedder's."""
    model: str
    remote: RemoteConfig
    clock: Clock
    pace: Pace
    sizes: BatchSizes
    tally: Tally
    backoff_s: float
    """The first wait after a failure; the next ones double."""

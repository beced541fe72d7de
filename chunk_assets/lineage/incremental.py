"""What changed between two listings of versions: the heart of every incremental stage."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=str)


@dataclass(frozen=True, slots=True)
class Changes(Generic[Key]):
    """Keys by what happened to them, each list sorted."""

    new: list[Key]
    changed: list[Key]
    unchanged: list[Key]
    removed: list[Key]

    @property
    def to_do(self) -> list[Key]:
        """What must be worked on: new and changed."""
        return sorted([*self.new, *self.changed])

    def counts(self) -> dict[str, int]:
        """How many of each, and how many there are now."""
        return {
            "seen": len(self.new) + len(self.changed) + len(self.unchanged),
            "new": len(self.new),
            "changed": len(self.changed),
            "unchanged": len(self.unchanged),
            "removed": len(self.removed),
        }


def changes(previous: Mapping[Key, str], current: Mapping[Key, str]) -> Changes[Key]:
    """Compare versions by key."""
    return Changes(
        new=sorted(key for key in current if key not in previous),
        changed=sorted(k for k, version in current.items() if previous.get(k, version) != version),
        unchanged=sorted(k for k, version in current.items() if previous.get(k) == version),
        removed=sorted(key for key in previous if key not in current),
    )

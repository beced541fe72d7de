"""Aliases of the embedded store: one small file each, replaced atomically."""

import json
import os
import sys
from pathlib import Path

from chunk_assets.errors import VectorStoreError

_SUFFIX = ".json"


class AliasPointers:
    """The pointer files in a folder. Writers must hold a lock; readers need none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, alias: str) -> Path:
        """The file of an alias."""
        return self._folder / f"{alias}{_SUFFIX}"

    def read(self, alias: str) -> str | None:
        """The collection that an alias points to; None if there is no such alias.

        Raises:
            VectorStoreError: if the file is unreadable.
        """
        path = self.path(alias)
        try:
            collection = json.loads(path.read_text(encoding="utf-8"))["collection"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise _unreadable(path, alias, error) from error
        if not isinstance(collection, str):
            raise _unreadable(path, alias, f"it names {collection!r}")
        return collection

    def all(self) -> dict[str, str]:
        """Every alias with the collection it points to, sorted.

        Raises:
            VectorStoreError: if a file is unreadable.
        """
        pointers = {}
        for path in sorted(self._folder.glob(f"*{_SUFFIX}")):
            collection = self.read(path.stem)
            if collection is not None:
                pointers[path.stem] = collection
        return pointers

    def write(self, alias: str, collection: str) -> None:
        """Point an alias at a collection: readers see the old or the new one, never neither."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_durably(self.path(alias), json.dumps({"collection": collection}) + "\n")

    def remove(self, alias: str) -> None:
        """Forget an alias."""
        self.path(alias).unlink(missing_ok=True)


def _unreadable(path: Path, alias: str, problem: object) -> VectorStoreError:
    return VectorStoreError(
        f"the pointer of alias {alias!r} at {path} is unreadable ({problem}); delete the file and "
        "run `chunk-assets apply`, which writes it anew"
    )


def write_durably(path: Path, text: str) -> None:
    """Replace a file as a whole, so that not even a power cut leaves a part of it."""
    temporary = path.with_name(f"{path.name}.new")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable."""
    if sys.platform == "win32":  # a folder cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

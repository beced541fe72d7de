"""Room on the disk, asked for before what cannot bear to run out of it."""

import shutil
from pathlib import Path

from chunk_assets.errors import ChunkAssetsError

MIB = 1024 * 1024


def require_room(folder: Path, needed_bytes: int, doing: str) -> None:
    """Refuse to begin something on a disk that is nearly full.

    Args:
        folder: where it would be written; it need not be there yet.
        needed_bytes: how much must be free.
        doing: what would be done, for the message.

    Raises:
        ChunkAssetsError: if less is free, with both sizes.
    """
    there = next(place for place in (folder, *folder.parents) if place.exists())
    free_bytes = shutil.disk_usage(there).free
    if free_bytes < needed_bytes:
        raise ChunkAssetsError(
            f"Cannot {doing}: the disk of {folder} has {free_bytes / MIB:,.0f} MiB free, and "
            f"{needed_bytes / MIB:,.0f} are needed. Make room and run the command again; what was "
            "done is kept."
        )

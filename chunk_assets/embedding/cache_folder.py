"""Where what can be made again is kept between processes."""

import os
from pathlib import Path

from platformdirs import user_cache_path

VARIABLE = "CHUNK_ASSETS_CACHE"


def cache_folder() -> Path:
    """`$CHUNK_ASSETS_CACHE`, else this user's cache folder; it need not exist.

    It can be deleted at any time: all it holds is made again.
    """
    named = os.environ.get(VARIABLE, "").strip()
    return Path(named).expanduser() if named else user_cache_path("chunk-assets", appauthor=False)

"""What SQL models read, as it was found when their folder last changed.

Reading a select takes a parser, which every process that loads the definitions would wait for. The
manifest names the files that it was made from by their hash, so a stale one is never believed.
"""

import json
from collections.abc import Collection, Mapping
from importlib.resources.abc import Traversable

from chunk_assets.lineage.identity import Fingerprint, fingerprint
from chunk_assets.lineage.sql_models import (
    SqlModel,
    model_description,
    model_files,
    model_name,
)

FILE_NAME = "manifest.json"

# Raised when equal files would be read differently.
_RULES_VERSION = 1


def write_manifest(
    folder: Traversable, sources: Collection[str], models: Mapping[str, SqlModel]
) -> str:
    """The text of a manifest.

    Args:
        folder: the folder of models.
        sources: the source tables there are.
        models: what `load_models` makes of both.
    """
    manifest = {
        "made_from": _made_from(folder, sources),
        "models": {
            model.file: {
                "depends_on": model.depends_on,
                "reads": model.reads,
                "fingerprint": model.fingerprint,
            }
            for model in models.values()
        },
    }
    return json.dumps(manifest, indent=1) + "\n"


def read_manifest(folder: Traversable, sources: Collection[str]) -> dict[str, SqlModel] | None:
    """What `load_models` would return, if the folder's manifest was made from what is there now.

    Args:
        folder: the folder of models.
        sources: the source tables there are.
    """
    try:
        manifest = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
        if manifest["made_from"] != _made_from(folder, sources):
            return None
        found = {file: (kind, sql) for kind, file, sql in model_files(folder)}
        return {
            model_name(file): SqlModel(
                name=model_name(file),
                kind=found[file][0],
                file=file,
                sql=found[file][1],
                description=model_description(found[file][1]),
                depends_on=tuple(known["depends_on"]),
                reads=tuple(known["reads"]),
                fingerprint=Fingerprint(known["fingerprint"]),
            )
            for file, known in manifest["models"].items()
        }
    except (OSError, ValueError, KeyError, TypeError):
        return None  # none there, or damaged: the models themselves are the truth


def _made_from(folder: Traversable, sources: Collection[str]) -> Fingerprint:
    files = [[kind, file, sql] for kind, file, sql in model_files(folder)]
    return fingerprint(
        "sql_manifest", {"files": files, "sources": sorted(sources), "rules": _RULES_VERSION}
    )

"""Where documents come from: the `source:` part of a corpus."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from chunk_assets.environment import expand
from chunk_assets.sources.source import Source
from chunk_assets.strict_model import StrictModel, Written

NEVER_DOCUMENTS = (
    ".*",  # hidden files and folders: .git, .venv, .env, .chunk_assets, .DS_Store
    "__pycache__/",
    "node_modules/",
    "/chunk_assets.yaml",
)

Patterns = Annotated[tuple[str, ...], Written]


class SourceSettings(StrictModel):
    """What all sources have in common."""

    may_be_empty: bool = False
    """Whether a listing without a single item is believed; else a corpus that had documents keeps
    them and says so, because an unmounted folder looks the same."""


class FilesConfig(SourceSettings):
    """Files below a folder."""

    kind: Literal["files"]
    """Which source this is."""
    root: str
    """The folder, relative to the configuration file; may hold `${NAME}`."""
    include: Patterns = ("**",)
    """Which files are documents, as in a `.gitignore`: `*.md`, `/guides/**`."""
    exclude: Patterns = ()
    """Which of them are not, as in a `.gitignore`."""
    exclude_always: Patterns = NEVER_DOCUMENTS
    """The same, for what is hardly ever a document; empty it to have everything."""
    follow_links: bool = False
    """Whether symbolic links to files and folders are followed, also out of the root. One that is
    not followed is no document; `apply` and `status` name those that lead out of the root."""
    max_bytes: Annotated[int, Field(gt=0)] = 50_000_000
    """A larger file goes to the quarantine instead of being read."""


class PackageDocsConfig(SourceSettings):
    """The descriptions that installed Python packages carry."""

    kind: Literal["package_docs"]
    """Which source this is."""
    of: str = "chunk-assets"
    """The distribution whose requirements, and theirs, are taken (without extras), so that what
    else is installed changes nothing."""
    exclude: Patterns = ()
    """Names of distributions to leave out."""
    min_characters: Annotated[int, Field(ge=1)] = 200
    """Shorter descriptions are no documents."""


SourceConfig = Annotated[FilesConfig | PackageDocsConfig, Field(discriminator="kind")]


def build_source(
    config: FilesConfig | PackageDocsConfig, base_dir: Path, never: Sequence[Path] = ()
) -> Source:
    """The source that a configuration describes; nothing is listed yet.

    Args:
        config: the `source:` part of a corpus.
        base_dir: the folder that a relative `root` is taken from.
        never: files and folders that are no documents wherever they lie: the platform's own.

    Raises:
        ConfigurationError: if the root names an environment variable that is not set.
    """
    if isinstance(config, PackageDocsConfig):
        from chunk_assets.sources.package_docs import PackageDocsSource

        return PackageDocsSource(config.of, config.exclude, config.min_characters)
    from chunk_assets.sources.files import FilesSource

    root = base_dir / Path(expand(config.root)).expanduser()
    return FilesSource(
        root,
        include=config.include,
        exclude=(*config.exclude_always, *config.exclude, *_below(root, never)),
        follow_links=config.follow_links,
        max_bytes=config.max_bytes,
    )


def _below(root: Path, folders: Sequence[Path]) -> Iterator[str]:
    """Patterns that leave out what lies below a root."""
    for folder in folders:
        if folder.resolve().is_relative_to(root.resolve()):
            path = folder.resolve().relative_to(root.resolve()).as_posix()
            yield "/" + re.sub(r"([\\*?\[\]!# ])", r"\\\1", path)

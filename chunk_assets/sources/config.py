"""Where documents come from: the `source:` part of a corpus."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from chunk_assets.environment import expand
from chunk_assets.sources.files import FilesSource
from chunk_assets.sources.package_docs import PackageDocsSource
from chunk_assets.sources.source import Source
from chunk_assets.strict_model import StrictModel

NEVER_DOCUMENTS = (
    ".git/",
    ".hg/",
    ".svn/",
    ".chunk_assets/",
    ".venv/",
    "__pycache__/",
    "node_modules/",
    ".DS_Store",
    "/chunk_assets.yaml",
)


class FilesConfig(StrictModel):
    """Files below a folder."""

    kind: Literal["files"]
    """Which source this is."""
    root: str
    """The folder, relative to the configuration file; may hold `${NAME}`."""
    include: tuple[str, ...] = ("**",)
    """Which files are documents, as in a `.gitignore`: `*.md`, `/guides/**`."""
    exclude: tuple[str, ...] = ()
    """Which of them are not, as in a `.gitignore`."""
    exclude_always: tuple[str, ...] = NEVER_DOCUMENTS
    """The same, for what is hardly ever a document; empty it to have everything."""
    follow_links: bool = False
    """Whether symbolic links to files and folders are followed; a link that is not is no
    document."""
    max_bytes: Annotated[int, Field(gt=0)] = 50_000_000
    """A larger file goes to the quarantine instead of being read."""


class PackageDocsConfig(StrictModel):
    """The descriptions that installed Python packages carry."""

    kind: Literal["package_docs"]
    """Which source this is."""
    of: str = "chunk-assets"
    """The distribution whose requirements, and theirs, are taken (without extras), so that what
    else is installed changes nothing."""
    exclude: tuple[str, ...] = ()
    """Names of distributions to leave out."""
    min_characters: Annotated[int, Field(ge=0)] = 200
    """Shorter descriptions are left out."""


SourceConfig = Annotated[FilesConfig | PackageDocsConfig, Field(discriminator="kind")]


def build_source(config: FilesConfig | PackageDocsConfig, base_dir: Path) -> Source:
    """The source that a configuration describes; nothing is listed yet.

    Args:
        config: the `source:` part of a corpus.
        base_dir: the folder that a relative `root` is taken from.
    """
    if isinstance(config, PackageDocsConfig):
        return PackageDocsSource(config.of, config.exclude, config.min_characters)
    return FilesSource(
        base_dir / Path(expand(config.root)).expanduser(),
        include=config.include,
        exclude=(*config.exclude_always, *config.exclude),
        follow_links=config.follow_links,
        max_bytes=config.max_bytes,
    )

"""Which format an item has, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, get_args

from chunk_assets.errors import ParseError

Format = Literal["markdown", "restructuredtext", "text"]
FORMATS: tuple[Format, ...] = get_args(Format)

_EXTENSIONS: dict[Format, tuple[str, ...]] = {
    "markdown": (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"),
    "restructuredtext": (".rst", ".rest"),
    "text": (".txt", ".text", ".log"),
}
_CONTENT_TYPES: dict[str, Format] = {
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "text/x-rst": "restructuredtext",
    "text/prs.fallenstein.rst": "restructuredtext",
    "text/plain": "text",
}
_SIGNATURES = (
    (b"%PDF-", "PDF"),
    (b"PK\x03\x04", "a ZIP archive (DOCX, XLSX, PPTX and EPUB files are such)"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file (DOC, XLS or PPT)"),
    (b"{\\rtf", "RTF"),
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"PAR1", "Parquet"),
    (b"\x7fELF", "a program"),
)
"""First bytes that no text of a supported format starts with, and what they mean."""


@dataclass(frozen=True, slots=True)
class Route:
    """A format and the reason for it."""

    format: Format
    reason: str


def route(
    uri: str,
    raw: bytes,
    *,
    pinned: Mapping[str, Format] | None = None,
    known: str | None = None,
    content_type: str | None = None,
) -> Route:
    """Decide an item's format: by pin, by its source, by first bytes, by content type, by name.

    Args:
        uri: the item's URI; its last part is the name.
        raw: the item's bytes.
        pinned: glob, as in a `.gitignore`, to format; the first that matches counts.
        known: the format if the source knows it.
        content_type: the media type that came with the item, with or without parameters.

    Raises:
        ParseError: if the format is not supported.
    """
    for glob, chosen in (pinned or {}).items():
        if matches(uri, glob):
            return Route(chosen, f"pinned for {glob!r}")
    if known is not None:
        return Route(_supported(uri, known), "known to its source")
    for signature, name in _SIGNATURES:
        if raw.startswith(signature):
            raise _unsupported(uri, f"its first bytes are those of {name}")
    media_type = (content_type or "").partition(";")[0].strip().lower()
    if media_type in _CONTENT_TYPES:
        return Route(_CONTENT_TYPES[media_type], f"its content type is {media_type}")
    # octet-stream means that a server did not know either.
    if media_type and media_type != "application/octet-stream":
        raise _unsupported(uri, f"its content type is {media_type}")
    return _by_name(uri)


def matches(uri: str, glob: str) -> bool:
    """Whether a URI is meant by a glob, as in a `.gitignore`."""
    import pathspec

    return pathspec.GitIgnoreSpec.from_lines([glob]).match_file(uri)


def _by_name(uri: str) -> Route:
    extension = PurePosixPath(uri).suffix.lower()
    if not extension:
        return Route("text", "its name has no extension, as README and LICENSE have none")
    for chosen, extensions in _EXTENSIONS.items():
        if extension in extensions:
            return Route(chosen, f"its name ends in {extension}")
    raise _unsupported(uri, f"its name ends in {extension}")


def _supported(uri: str, name: str) -> Format:
    for supported in FORMATS:
        if supported == name:
            return supported
    raise _unsupported(uri, f"its source says that it is {name}")


def _unsupported(uri: str, why: str) -> ParseError:
    suffix = PurePosixPath(uri).suffix
    glob = f"*{suffix}" if suffix else PurePosixPath(uri).name
    return ParseError(
        f"format not supported: {why}. Supported are {', '.join(FORMATS)}. If it is one of these, "
        f'pin it (parsing: {{formats: {{"{glob}": text}}}}); to leave such files out, add "{glob}" '
        "to source.exclude"
    )

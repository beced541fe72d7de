"""Files below a folder."""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

import pathspec

from chunk_assets.errors import SourceError
from chunk_assets.sources.source import SourceItem


class FilesSource:
    """Lists and reads the files of a folder; a file's URI is its path below it."""

    def __init__(
        self,
        root: Path,
        *,
        include: Sequence[str] = ("**",),
        exclude: Sequence[str] = (),
        follow_links: bool = False,
        max_bytes: int = 50_000_000,
    ) -> None:
        self._root = root
        self._include = pathspec.GitIgnoreSpec.from_lines(include)
        self._exclude = pathspec.GitIgnoreSpec.from_lines(exclude)
        self._follow_links = follow_links
        self._max_bytes = max_bytes

    def list_items(self) -> list[SourceItem]:
        """Every included file, sorted by URI; nothing is opened.

        Raises:
            SourceError: if the root is no folder that can be listed.
        """
        if not self._root.is_dir():
            raise SourceError(
                f"The source folder {self._root} "
                f"{'is no folder' if self._root.exists() else 'does not exist'}. Create it, mount "
                "it, or correct `source.root` in the configuration; nothing was removed."
            )
        return sorted(self._walk(self._root, "", ()), key=lambda item: item.uri)

    def read(self, uri: str) -> bytes:
        """The bytes of one file.

        Raises:
            SourceError: if it is gone, cannot be read, or is no regular file any more.
        """
        path = self._root / os.fsdecode(_path_of(uri))
        flags = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0)
        if not self._follow_links:
            flags |= getattr(os, "O_NOFOLLOW", 0)
        try:
            descriptor = os.open(path, flags)
            with os.fdopen(descriptor, "rb") as file:
                # Checked on what is open: a FIFO put in place of the file would block for ever.
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    raise SourceError(f"{uri}: is no regular file any more")
                content = file.read(self._max_bytes + 1)
        except OSError as error:
            raise SourceError(f"{uri}: cannot be read: {error.strerror or error}") from error
        if len(content) > self._max_bytes:
            raise SourceError(_too_large(uri, status.st_size, self._max_bytes))
        return content

    def _walk(
        self, folder: Path, prefix: str, ancestors: tuple[tuple[int, int], ...]
    ) -> Iterator[SourceItem]:
        try:
            status = folder.stat()
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            if not ancestors:
                raise SourceError(
                    f"The source folder {folder} cannot be listed: {error.strerror or error}"
                ) from error
            yield _broken(prefix, f"the folder cannot be listed: {error.strerror or error}")
            return
        place = (status.st_dev, status.st_ino)
        if place in ancestors:
            return  # a link to a folder above: everything in it is listed there
        for entry in entries:
            uri = prefix + _uri_of(os.fsencode(entry.name))
            if entry.is_symlink() and not self._follow_links:
                continue
            if entry.is_dir(follow_symlinks=self._follow_links):
                if not self._exclude.match_file(f"{uri}/"):
                    yield from self._walk(Path(entry.path), f"{uri}/", (*ancestors, place))
            elif self._include.match_file(uri) and not self._exclude.match_file(uri):
                yield self._item(entry, uri)

    def _item(self, entry: "os.DirEntry[str]", uri: str) -> SourceItem:
        try:
            status = entry.stat(follow_symlinks=self._follow_links)
        except OSError as error:
            dangling = error.errno in (errno.ENOENT, errno.ELOOP) and entry.is_symlink()
            return _broken(uri, "the link points nowhere" if dangling else str(error.strerror))
        # The change time shows an edit that kept size and modification time.
        signature = f"{status.st_size}-{status.st_mtime_ns}-{status.st_ctime_ns}"
        problem = None
        if not stat.S_ISREG(status.st_mode):
            problem = "is no regular file (a pipe, socket or device) and is never opened"
        elif status.st_size > self._max_bytes:
            problem = _too_large(uri, status.st_size, self._max_bytes)
        return SourceItem(uri=uri, signature=signature, size=status.st_size, problem=problem)


def _too_large(uri: str, size: int, limit: int) -> str:
    return f"{uri}: has {size:,} bytes, the limit is {limit:,}; raise `source.max_bytes` to read it"


def _broken(uri: str, problem: str) -> SourceItem:
    return SourceItem(uri=uri, signature="", problem=f"{uri}: {problem}")


def _uri_of(name: bytes) -> str:
    """A name as text: what is no UTF-8 is percent-encoded, and so is a percent sign then."""
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError:
        return quote(name, safe=" !$&'()*+,;=:@-._~")
    return text.replace("%", "%25")


def _path_of(uri: str) -> bytes:
    return unquote_to_bytes(uri)

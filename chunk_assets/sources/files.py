"""Files below a folder."""

import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pathspec

from chunk_assets.errors import SourceError
from chunk_assets.sources.file_names import path_of, uri_of
from chunk_assets.sources.source import SourceItem

_MAX_PATHS_PER_FOLDER = 64
"""Folders that link to each other are reached by exponentially many paths; past this many, a
further path to the same folder is a problem of its own item instead."""

_NAMED_LINKS = 5

_Place = tuple[int, int]
"""Device and inode of a folder."""


@dataclass(frozen=True, slots=True)
class _Folder:
    path: bytes
    uri: str
    """Ends with `/`; empty for the root."""
    above: frozenset[_Place] = frozenset()


class FilesSource:
    """Lists and reads the files of a folder; a file's URI is its path below it.

    Names that are no UTF-8 are percent-encoded in URIs, see `uri_of`. A symbolic link that is not
    followed is no document, but a remark if it leads out of the folder. What cannot be read is an
    item with a problem: a dangling link, a file over the size limit or without permission, a pipe,
    socket or device (which is never opened), and a folder that cannot be listed, whose URI ends
    with `/`.
    """

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
        self._listed: dict[str, str] = {}
        self._unfollowed: list[str] = []

    def list_items(self) -> list[SourceItem]:
        """Every included file, sorted by URI; nothing is opened.

        Raises:
            SourceError: if the root is no folder that can be listed.
        """
        if not self._root.is_dir():
            what = "is no folder" if self._root.exists() else "does not exist"
            raise SourceError(
                f"The source folder {self._root} {what}. Create it, mount it, or correct "
                "`source.root` in the configuration; nothing was removed."
            )
        self._unfollowed = []
        items = sorted(self._walk(), key=lambda item: item.uri)
        self._listed = {item.uri: item.signature for item in items}
        return items

    def remarks(self) -> list[str]:
        """Links that were not followed in the latest listing, if they lead out of the root.

        What others lead to is listed under its own path, or excluded.
        """
        links = sorted(self._unfollowed)
        if not links:
            return []
        more = f" and {len(links) - _NAMED_LINKS} more" if len(links) > _NAMED_LINKS else ""
        named = f"{', '.join(links[:_NAMED_LINKS])}{more}"
        is_one = len(links) == 1
        return [
            f"{'1 symbolic link leads' if is_one else f'{len(links)} symbolic links lead'} out of "
            f"the source's folder and {'is' if is_one else 'are'} not followed: {named}. Set "
            "source.follow_links: true to have what is there, or exclude "
            f"{'it' if is_one else 'them'}."
        ]

    def read(self, uri: str) -> bytes:
        """The bytes of one file, all from one version of it.

        Raises:
            SourceError: if it is gone, cannot be read, is no regular file, is too large, lies
                outside the root, or has changed since this source listed it or while it was read.
        """
        path = path_of(uri)
        if path.startswith(b"/") or {b"", b".", b".."} & set(path.split(b"/")):
            raise SourceError(f"{uri}: is no path below the source's root")
        # Not blocking: a pipe put in place of the file would wait for a writer for ever.
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
        if not self._follow_links:
            flags |= os.O_NOFOLLOW
        try:
            descriptor = os.open(os.path.join(os.fsencode(self._root), path), flags)  # noqa: PTH118
            with os.fdopen(descriptor, "rb") as file:
                before = os.fstat(descriptor)
                if not stat.S_ISREG(before.st_mode):
                    raise SourceError(f"{uri}: is no regular file any more")
                content = file.read(self._max_bytes + 1)
                after = os.fstat(descriptor)
        except OSError as error:
            raise SourceError(f"{uri}: cannot be read: {error.strerror or error}") from error
        if len(content) > self._max_bytes:
            raise SourceError(
                f"{uri}: {_too_large(max(after.st_size, len(content)), self._max_bytes)}"
            )
        signatures = {_signature(before), _signature(after), self._listed.get(uri)} - {None}
        if len(signatures) > 1 or len(content) != after.st_size:
            raise SourceError(f"{uri}: changed while it was read; the next run reads it again")
        return content

    def _walk(self) -> Iterator[SourceItem]:
        paths: Counter[_Place] = Counter()
        waiting = [_Folder(os.fsencode(self._root), "")]
        while waiting:
            folder = waiting.pop()
            try:
                status = os.stat(folder.path)  # noqa: PTH116
                place = (status.st_dev, status.st_ino)
                if place in folder.above:
                    continue  # a link to a folder above it: all that is there is listed there
                paths[place] += 1
                if paths[place] > _MAX_PATHS_PER_FOLDER:
                    yield _problem(folder.uri, "links lead to this folder by too many paths")
                    continue
                entries = list(os.scandir(folder.path))
            except OSError as error:
                if not folder.uri:
                    raise SourceError(
                        f"The source folder {self._root} cannot be listed: "
                        f"{error.strerror or error}. Check its permissions."
                    ) from error
                yield _problem(folder.uri, f"this folder cannot be listed: {error.strerror}")
                continue
            above = folder.above | {place} if self._follow_links else folder.above
            for entry in entries:
                uri = folder.uri + uri_of(entry.name)
                if entry.is_symlink() and not self._follow_links:
                    if self._would_be_missed(entry, uri):
                        self._unfollowed.append(uri)
                    continue
                if _is_folder(entry, self._follow_links):
                    if not self._exclude.match_file(f"{uri}/"):
                        waiting.append(_Folder(entry.path, f"{uri}/", above))
                elif self._include.match_file(uri) and not self._exclude.match_file(uri):
                    yield from self._item(entry, uri)

    def _would_be_missed(self, entry: "os.DirEntry[bytes]", uri: str) -> bool:
        """Whether a link leads out of the root to what would be listed if it were followed."""
        if _is_folder(entry, follow_links=True):
            is_wanted = not self._exclude.match_file(f"{uri}/")
        else:
            is_wanted = self._include.match_file(uri) and not self._exclude.match_file(uri)
        target = Path(os.path.realpath(os.fsdecode(entry.path)))
        return is_wanted and not target.is_relative_to(self._root.resolve())

    def _item(self, entry: "os.DirEntry[bytes]", uri: str) -> Iterator[SourceItem]:
        try:
            status = entry.stat(follow_symlinks=self._follow_links)
        except OSError as error:
            if entry.is_symlink():
                yield _problem(uri, f"the link leads nowhere: {error.strerror}")
            elif not isinstance(error, FileNotFoundError):  # gone since its folder was listed
                yield _problem(uri, f"cannot be examined: {error.strerror}")
            return
        problem = None
        if not stat.S_ISREG(status.st_mode):
            problem = "is a pipe, socket or device, which is never opened"
        elif status.st_size > self._max_bytes:
            problem = _too_large(status.st_size, self._max_bytes)
        elif not os.access(entry.path, os.R_OK):
            problem = "there is no permission to read it"
        yield SourceItem(uri, _signature(status), status.st_size, problem=problem)


def _is_folder(entry: "os.DirEntry[bytes]", follow_links: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follow_links)
    except OSError:
        return False  # a link in a circle, for one; what is wrong is told with the item


def _signature(status: os.stat_result) -> str:
    # The change time shows an edit that kept size and modification time.
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ctime_ns}"


def _too_large(size: int, limit: int) -> str:
    return f"has {size:,} bytes, the limit is {limit:,}; raise `source.max_bytes` to read it"


def _problem(uri: str, problem: str) -> SourceItem:
    return SourceItem(uri, signature="", problem=problem)

"""The descriptions that installed Python packages carry."""

from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from chunk_assets.errors import SourceError
from chunk_assets.lineage.identity import content_hash
from chunk_assets.sources.source import SourceItem

_EXTENSIONS = {"text/markdown": "md", "text/x-rst": "rst"}
_FORMATS = {"md": "markdown", "rst": "restructuredtext", "txt": "text"}
_SHOWN = {"Summary": "summary", "License-Expression": "license", "Home-page": "home_page"}


class PackageDocsSource:
    """Lists the transitive requirements of a distribution that carry a description.

    A package without a description, or with a shorter one than asked for, is no document.
    """

    def __init__(self, of: str, exclude: Sequence[str] = (), min_characters: int = 0) -> None:
        self._of = of
        self._exclude = {canonicalize_name(name) for name in exclude}
        self._min_characters = min_characters

    def list_items(self) -> list[SourceItem]:
        """One item per package, sorted by URI; the URI holds no version.

        Raises:
            SourceError: if the distribution is not installed.
        """
        return sorted(
            (
                _item(found, text)
                for found in self._distributions()
                if len(text := _description(found)) >= max(1, self._min_characters)
            ),
            key=lambda item: item.uri,
        )

    def read(self, uri: str) -> bytes:
        """The description of one package, as UTF-8.

        Raises:
            SourceError: if the package is not installed.
        """
        name = uri.rpartition(".")[0]
        try:
            return _description(distribution(name)).encode("utf-8", "surrogatepass")
        except PackageNotFoundError as error:
            raise SourceError(f"{uri}: package {name!r} is not installed any more") from error

    def _distributions(self) -> Iterator[Distribution]:
        try:
            waiting = [(distribution(self._of), frozenset[str]())]
        except PackageNotFoundError as error:
            raise SourceError(
                f"Distribution {self._of!r} is not installed in this environment; install it or "
                "correct `source.of` in the configuration."
            ) from error
        visited: set[tuple[str, frozenset[str]]] = set()
        found = {canonicalize_name(self._of): waiting[0][0]}
        while waiting:
            for requirement in _requirements(*waiting.pop()):
                name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
                if (name, extras) in visited:
                    continue
                visited.add((name, extras))
                try:
                    required = distribution(name)
                except PackageNotFoundError:
                    continue  # a requirement that pip found no need for on this platform
                waiting.append((required, extras))
                if name not in found:
                    found[name] = required
                    if name not in self._exclude:
                        yield required


def _requirements(of: Distribution, extras: frozenset[str]) -> Iterator[Requirement]:
    for text in of.requires or ():
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue  # not even pip could have installed it
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement


def _description(of: Distribution) -> str:
    # The description is the body of the metadata, or in old files a header.
    payload = of.metadata.get_payload()  # type: ignore[attr-defined]  # a Message in every CPython
    text = payload if isinstance(payload, str) and payload.strip() else of.metadata["Description"]
    return "" if text is None or text.strip() in ("", "UNKNOWN") else str(text)


def _item(of: Distribution, text: str) -> SourceItem:
    metadata = of.metadata
    kind = (metadata["Description-Content-Type"] or "").partition(";")[0].strip().lower()
    extension = _EXTENSIONS.get(kind, "txt")
    name = canonicalize_name(of.name)
    return SourceItem(
        uri=f"{name}.{extension}",
        signature=f"{of.version}-{content_hash(text.encode('utf-8', 'surrogatepass'))}",
        size=len(text),
        format=_FORMATS[extension],
        title=of.name,
        metadata={
            "version": of.version,
            **{key: metadata[field] for field, key in _SHOWN.items() if metadata[field]},
        },
    )

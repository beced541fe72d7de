"""The descriptions that installed Python packages carry."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import Distribution, distributions

from packaging.metadata import RawMetadata, parse_email
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from chunk_assets.errors import SourceError
from chunk_assets.lineage.identity import Json, content_hash
from chunk_assets.sources.source import SourceItem

_EXTENSIONS = {"text/markdown": "md", "text/x-rst": "rst", "text/plain": "txt"}
_FORMATS = {"text/markdown": "markdown", "text/x-rst": "restructuredtext", "text/plain": "text"}
_DEFAULT_TYPE = "text/x-rst"
"""What the core metadata specification says of a description whose type is not declared."""


class PackageDocsSource:
    """Lists the transitive requirements of a distribution that carry a description.

    A package's URI is its normalized name with the extension of the description's declared type
    (`.txt` without one) and holds no version, so that an update is a change of the same document. A
    package without a description, or with a shorter one than asked for, is no document; a
    requirement that applies here but is not installed is an item with a problem.

    Args:
        of: the distribution whose requirements are listed; not itself.
        exclude: names of distributions to leave out; their own requirements stay.
        min_characters: length of the shortest description that is a document.
        search_path: folders to look for distributions in; default: where Python imports from.
    """

    def __init__(
        self,
        of: str,
        exclude: Sequence[str] = (),
        min_characters: int = 1,
        search_path: Sequence[str] | None = None,
    ) -> None:
        self._of = of
        self._exclude = {canonicalize_name(name) for name in exclude}
        self._min_characters = max(1, min_characters)
        self._search_path = search_path

    def list_items(self) -> list[SourceItem]:
        """One item per package, sorted by URI.

        Raises:
            SourceError: if the distribution is not installed.
        """
        items: list[SourceItem] = []
        for name, found in self._requirements():
            if name in self._exclude:
                continue
            if found is None:
                problem = f"{name} is required but not installed; install it or exclude it"
                items.append(SourceItem(f"{name}.txt", signature="", problem=problem))
            else:
                items += self._item(name, found)
        return sorted(items, key=lambda item: item.uri)

    def remarks(self) -> Sequence[str]:
        """None: what is left out is what the configuration says."""
        return ()

    def read(self, uri: str) -> bytes:
        """The description of one package, in UTF-8.

        Raises:
            SourceError: if the package is not installed, or has no such description any more.
        """
        name = canonicalize_name(uri.rpartition(".")[0])
        found = self._find(name)
        if found is None:
            raise SourceError(f"{uri}: package {name!r} is not installed")
        try:
            metadata = _metadata(found)
        except UnicodeDecodeError as error:
            raise SourceError(f"{uri}: {_undecodable(error)}") from error
        if uri != _uri(name, metadata):
            raise SourceError(f"{uri}: package {name!r} carries no such description any more")
        return _description(metadata).encode("utf-8")

    def _item(self, name: str, found: Distribution) -> Iterator[SourceItem]:
        try:
            metadata = _metadata(found)
        except UnicodeDecodeError as error:
            yield SourceItem(f"{name}.txt", signature="", problem=_undecodable(error))
            return
        description = _description(metadata)
        if len(description) < self._min_characters:
            return
        raw = description.encode("utf-8")
        version = metadata.get("version", "")
        yield SourceItem(
            uri=_uri(name, metadata),
            signature=f"{version}-{content_hash(raw)}",
            size=len(raw),
            format=_FORMATS.get(_content_type(metadata) or _DEFAULT_TYPE, "text"),
            title=metadata.get("name", name),
            metadata={"version": version, **_facts(metadata)},
        )

    def _find(self, name: str) -> Distribution | None:
        path = sys.path if self._search_path is None else list(self._search_path)
        # The first on the path counts, as it does for an import.
        return next(iter(distributions(name=name, path=path)), None)

    def _requirements(self) -> Iterator[tuple[str, Distribution | None]]:
        root = self._find(self._of)
        if root is None:
            raise SourceError(
                f"Distribution {self._of!r} is not installed in this environment; install it or "
                "correct `source.of` in the configuration."
            )
        found: dict[str, Distribution | None] = {canonicalize_name(self._of): root}
        visited: set[tuple[str, frozenset[str]]] = set()
        waiting: list[tuple[Distribution, frozenset[str]]] = [(root, frozenset())]
        while waiting:
            for requirement in _required(*waiting.pop()):
                name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
                if (name, extras) in visited:
                    continue
                visited.add((name, extras))
                if name not in found:
                    found[name] = self._find(name)
                    yield name, found[name]
                required = found[name]
                if required is not None:
                    waiting.append((required, extras))


def _required(of: Distribution, extras: Iterable[str]) -> Iterator[Requirement]:
    """What a distribution needs on this platform and Python, with these of its extras."""
    try:
        requirements = of.requires or ()
    except UnicodeDecodeError:
        return  # its own item tells of the problem
    for text in requirements:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue  # no installer can have acted on it
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement


def _metadata(found: Distribution) -> RawMetadata:
    text = found.read_text("METADATA") or found.read_text("PKG-INFO") or ""
    return parse_email(text)[0]


def _description(metadata: RawMetadata) -> str:
    text = metadata.get("description", "")
    # Old build tools write UNKNOWN where there is none.
    return "" if text.strip() in ("", "UNKNOWN") else text


def _content_type(metadata: RawMetadata) -> str:
    return metadata.get("description_content_type", "").partition(";")[0].strip().lower()


def _uri(name: str, metadata: RawMetadata) -> str:
    return f"{name}.{_EXTENSIONS.get(_content_type(metadata), 'txt')}"


def _facts(metadata: RawMetadata) -> dict[str, Json]:
    urls = metadata.get("project_urls", {})
    by_label = {label.lower(): url for label, url in urls.items()}
    facts = {
        "summary": metadata.get("summary"),
        # The older field may hold a whole licence text.
        "license": metadata.get("license_expression")
        or metadata.get("license", "").partition("\n")[0],
        "home_page": metadata.get("home_page") or by_label.get("homepage"),
    }
    return {key: value for key, value in facts.items() if value}


def _undecodable(error: UnicodeDecodeError) -> str:
    return f"the package's METADATA is not UTF-8: {error.reason} at byte {error.start}"

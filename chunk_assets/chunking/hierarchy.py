"""One chunk per section; short sections together, long ones in parts."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile, zip_longest
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from chunk_assets.chunking.cut import Cut
from chunk_assets.chunking.ruler import Unit
from chunk_assets.chunking.settings import Context, StrategySettings
from chunk_assets.chunking.spans import positions
from chunk_assets.chunking.view import DocumentView
from chunk_assets.lineage.identity import Json
from chunk_assets.parsing.document import BlockKind

SHORT_SECTION = 8
"""By default a section is short below one part in this many of the maximum."""

Path = tuple[str, ...]


class Hierarchy(StrategySettings):
    """Sections as the document's headings make them."""

    VERSION: ClassVar[int] = 1
    DEFAULT_UNIT: ClassVar[Unit] = Unit.TOKENS
    DEFAULT_MAXIMUM: ClassVar[int] = 200

    chunker: Literal["hierarchy"] = "hierarchy"
    context: Context = ("heading_path",)
    """What is put before the text for the embedding model only: `title`, `heading_path`."""
    min_section: Annotated[int, Field(strict=True, ge=0)] | None = None
    """Sections shorter than this join a neighbour under the same parent, or the parent's own text,
    if both fit into one chunk; a heading without text always joins its first subsection. 0 keeps
    every section apart. Default: an eighth of the maximum."""

    @model_validator(mode="after")
    def _section_fits(self) -> "Hierarchy":
        if self.shortest_section > self.maximum:
            raise ValueError(
                f"min_section ({self.min_section}) must not be larger than "
                f"max_{self.unit} ({self.maximum})"
            )
        return self

    @property
    def shortest_section(self) -> int:
        """`min_section` with its default."""
        return self.maximum // SHORT_SECTION if self.min_section is None else self.min_section

    def resolved(self) -> dict[str, Json]:
        """Every setting that decides what the chunks are, with defaults filled in."""
        return {**super().resolved(), "min_section": self.shortest_section}

    def cut(self, view: DocumentView) -> Cut:
        """A region per section or group of short sections."""
        return Cut(
            boundaries=positions(list(self._group_starts(view))),
            levels=(view.blocks, view.paragraphs, view.sentences, view.words),
            overlap_levels=(view.sentences, view.words),
            numbers_parts=True,
        )

    def _group_starts(self, view: DocumentView) -> Iterator[int]:
        sections = list(_sections(view))
        group = sections[0]
        for section, following in zip_longest(sections[1:], sections[2:]):
            has_subsections = following is not None and _descends(following, section)
            if self._belong_together(view, group, section, has_subsections):
                group = _Section(
                    start=group.start,
                    stop=section.stop,
                    path=section.path,
                    depth=min(group.depth, section.depth),
                    is_bare=group.is_bare and section.is_bare,
                )
            else:
                group = section
                yield section.start

    def _belong_together(
        self, view: DocumentView, group: "_Section", section: "_Section", has_subsections: bool
    ) -> bool:
        if not self.shortest_section:
            return False
        if group.is_bare and _descends(section, group):
            return True
        if has_subsections and not _descends(section, group):
            return False  # its heading belongs to what follows
        if view.ruler.size(group.start, section.stop) > self.maximum:
            return False
        is_short = any(
            view.ruler.size(each.start, each.stop) < self.shortest_section
            for each in (group, section)
        )
        return is_short and _shared(group.path, section.path) >= max(group.depth, section.depth)


@dataclass(frozen=True, slots=True)
class _Section:
    """What stands between two headings, or several of these that belong together."""

    start: int
    stop: int
    path: Path
    """Of the last heading."""
    depth: int
    """Length of the path of the outermost parent."""
    is_bare: bool
    """Whether it is nothing but headings."""


def _sections(view: DocumentView) -> Iterator[_Section]:
    """Every section; what precedes the first heading is one with an empty path."""
    headings = [block for block in view.document.blocks if block.kind is BlockKind.HEADING]
    first = headings[0].start if headings else len(view.text)
    if not view.is_blank_between(0, first):
        yield _Section(0, first, (), depth=0, is_bare=False)
    for heading, following in zip_longest(headings, headings[1:]):
        path = heading.heading_path
        stop = following.start if following else len(view.text)
        is_bare = view.is_blank_between(heading.end, stop)
        yield _Section(heading.start, stop, path, max(0, len(path) - 1), is_bare)


def _descends(section: _Section, ancestor: _Section) -> bool:
    """Whether a section lies under the last heading of another."""
    return _shared(section.path, ancestor.path) == len(ancestor.path) < len(section.path)


def _shared(first: Path, second: Path) -> int:
    """How many outermost headings two paths share."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return sum(1 for _ in pairs)

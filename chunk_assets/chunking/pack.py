"""The pack stage: fill chunks, region by region, as far as the limit lets them."""

from collections.abc import Iterator
from dataclasses import dataclass

from chunk_assets.chunking.context import Context
from chunk_assets.chunking.cut import Cut
from chunk_assets.chunking.limit import furthest_end
from chunk_assets.chunking.overlap import overlap_begin
from chunk_assets.chunking.settings import StrategySettings
from chunk_assets.chunking.view import DocumentView


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk in the making."""

    begin: int
    """Where its text begins, overlap included."""
    core: int
    """Where its own text begins."""
    end: int
    region: int
    """The region that it begins in."""


def pack(
    view: DocumentView, cut: Cut, settings: StrategySettings, context: Context
) -> Iterator[Piece]:
    """The chunks of a document that is not blank, in order."""
    filler = _Filler(view, cut, settings, context)
    regions = view.units(cut.boundaries)
    spans = zip(regions.starts.tolist(), regions.stops.tolist(), strict=True)
    for region, (start, stop) in enumerate(spans):
        yield from filler.fill(region, start, stop)


@dataclass(frozen=True, slots=True)
class _Filler:
    view: DocumentView
    cut: Cut
    settings: StrategySettings
    context: Context

    def fill(self, region: int, start: int, stop: int) -> Iterator[Piece]:
        core, before = start, None
        while core < stop:
            room = self._room(core, core)
            letters = self.view.letters_after(core)
            if self.view.ruler.size(core, letters) and self.view.ruler.furthest(
                core, room
            ) < self.view.word_end(core):
                core = letters  # the indentation leaves no room for text
            end, level = self._end(core, core, stop)
            begin = core
            if before is not None and self.settings.overlap_size:
                begin, end = self._overlap(before, core, stop, end, level)
            yield Piece(begin, core, end, region)
            before, core = begin, self.view.start_after(end)

    def _overlap(self, before: int, core: int, stop: int, end: int, level: int) -> tuple[int, int]:
        """Where the chunk begins and ends with overlap, given where it ends without.

        Overlap never makes a cut finer: a unit that fits alone stays whole, with less overlap.
        """
        size = self.settings.overlap_size
        begin = overlap_begin(self.view, self.cut, core=core, after=before, size=size)
        overlapped, finer = self._end(begin, core, stop)
        if finer > level:
            units = self.cut.levels[level].stops
            unit = min(stop, int(units[units.searchsorted(core, "right")]))
            spare = self._room(core, core) - self.view.ruler.size(core, unit)
            size = min(size, spare)
            begin = overlap_begin(self.view, self.cut, core=core, after=before, size=size)
            overlapped, finer = self._end(begin, core, stop)
        return (begin, overlapped) if finer <= level else (core, end)

    def _end(self, begin: int, core: int, stop: int) -> tuple[int, int]:
        room = self._room(begin, core)
        return furthest_end(self.view, self.cut, begin=begin, core=core, stop=stop, room=room)

    def _room(self, begin: int, core: int) -> int:
        return max(1, self.settings.maximum - self.context.opening(begin, core))

"""The last stage: chunks with their context, every size counted on what the model is given."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from chunk_assets.chunking.chunk import Chunk
from chunk_assets.chunking.context import Context
from chunk_assets.chunking.cut import Cut
from chunk_assets.chunking.limit import furthest_end
from chunk_assets.chunking.overlap import overlap_begin
from chunk_assets.chunking.pack import Piece
from chunk_assets.chunking.view import DocumentView

OVERSIZE = "oversize"
"""One grapheme cluster alone is larger than the maximum."""
CONTEXT_TRIMMED = "context_trimmed"
"""Outermost parts of the context were left out for their size."""
PART = "part"
"""`part:2/3`: the second of three chunks of a region (a section) that was too long."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    piece: Piece
    embed_text: str
    flags: tuple[str, ...] = ()
    dropped: int = 0
    """Outermost parts of the context left out so far, because the text alone is too large."""
    size: int | None = None
    """None until it is counted."""


def finish(
    pieces: Iterable[Piece], view: DocumentView, cut: Cut, context: Context, maximum: int
) -> list[Chunk]:
    """Chunks of pieces, none above the maximum unless it is flagged `oversize`.

    What counts more on its own than it did inside its document is made smaller: first less
    overlap, then two halves, then less context.
    """
    finisher = _Finisher(view, cut, context, maximum)
    candidates = [finisher.candidate(piece) for piece in pieces]
    while any(candidate.size is None for candidate in candidates):
        candidates = finisher.within_limit(finisher.counted(candidates))
    return list(finisher.chunks(candidates))


@dataclass(frozen=True, slots=True)
class _Finisher:
    view: DocumentView
    cut: Cut
    context: Context
    maximum: int

    def candidate(self, piece: Piece, dropped: int = 0) -> _Candidate:
        parts = self.context.parts(piece.core, piece.end)
        prefix, is_trimmed = self.context.prefix(parts, dropped)
        text = self.view.text[piece.begin : piece.end]
        flags = (CONTEXT_TRIMMED,) if is_trimmed else ()
        return _Candidate(piece, prefix + text, flags, dropped)

    def counted(self, candidates: list[_Candidate]) -> list[_Candidate]:
        waiting = [each.embed_text for each in candidates if each.size is None]
        sizes = iter(self.view.ruler.count(waiting))
        return [
            replace(each, size=next(sizes)) if each.size is None else each for each in candidates
        ]

    def within_limit(self, counted: list[_Candidate]) -> list[_Candidate]:
        """The candidates, and what is made of those above the limit, to be counted again."""
        candidates: list[_Candidate] = []
        for each in counted:
            before = candidates[-1].piece.begin if candidates else -1
            if each.piece.begin <= before:  # the chunk before was halved inside this overlap
                candidates.append(self._with_overlap(each.piece, after=before))
            else:
                candidates.extend(self._smaller(each))
        return candidates

    def _smaller(self, candidate: _Candidate) -> Iterator[_Candidate]:
        piece, size = candidate.piece, candidate.size or 0
        if size <= self.maximum or OVERSIZE in candidate.flags:
            yield candidate
        elif piece.begin < piece.core:
            yield self._with_overlap(piece, after=piece.begin, less=size - self.maximum)
        elif halves := self._halves(piece):
            yield from map(self.candidate, halves)
        elif self.context.prefix(self.context.parts(piece.core, piece.end), candidate.dropped)[0]:
            yield self.candidate(piece, candidate.dropped + 1)
        else:
            yield replace(candidate, flags=(*candidate.flags, OVERSIZE))

    def chunks(self, candidates: list[_Candidate]) -> Iterator[Chunk]:
        regions = Counter(each.piece.region for each in candidates)
        seen: Counter[int] = Counter()
        for ordinal, each in enumerate(candidates):
            piece = each.piece
            seen[piece.region] += 1
            number, total = seen[piece.region], regions[piece.region]
            is_part = self.cut.numbers_parts and total > 1
            pages = [
                block.page
                for block in self.view.blocks_in(piece.begin, piece.end)
                if block.page is not None
            ]
            yield Chunk(
                ordinal=ordinal,
                start=piece.begin,
                end=piece.end,
                text=self.view.text[piece.begin : piece.end],
                embed_text=each.embed_text,
                size=each.size or 0,
                heading_path=self.context.heading_path(piece.core, piece.end),
                overlap_start=piece.core if piece.begin < piece.core else None,
                page_start=min(pages, default=None),
                page_end=max(pages, default=None),
                flags=(*((f"{PART}:{number}/{total}",) if is_part else ()), *each.flags),
            )

    def _with_overlap(self, piece: Piece, *, after: int, less: int = 0) -> _Candidate:
        """The piece with an overlap that begins later."""
        size = self.view.ruler.size(piece.begin, piece.core) - less
        begin = overlap_begin(self.view, self.cut, core=piece.core, after=after, size=size)
        return self.candidate(replace(piece, begin=begin))

    def _halves(self, piece: Piece) -> tuple[Piece, Piece] | None:
        """Two pieces instead of one; None for a single grapheme cluster."""
        # Where the units of size give no division (one token that is many on its own), the
        # middle of the text does, or else the end of its first grapheme cluster.
        middle = (piece.core + piece.end) // 2
        first_cluster = self.view.letters_after(piece.core) + 1
        half = self.view.ruler.size(piece.core, piece.end) // 2
        if half:
            middle, _ = furthest_end(
                self.view, self.cut, begin=piece.core, core=piece.core, stop=piece.end, room=half
            )
        for position in (middle, first_cluster):
            for end in self.view.units([position]).stops[:1].tolist():
                if piece.core < end < piece.end:
                    start = self.view.start_after(end)
                    return replace(piece, end=end), replace(piece, begin=start, core=start)
        return None

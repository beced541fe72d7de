"""A document as chunkers see it: nested units with exact spans, and a ruler."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
import regex

from chunk_assets.chunking.code_points import NEWLINE, PAGE, classify
from chunk_assets.chunking.graphemes import grapheme_ends
from chunk_assets.chunking.ruler import Ruler, Unit
from chunk_assets.chunking.sentences import sentence_ends
from chunk_assets.chunking.spans import Positions, Spans, positions
from chunk_assets.chunking.words import bounded_words, word_spans
from chunk_assets.embedding.tokenizer import Tokenizer
from chunk_assets.errors import ChunkingError
from chunk_assets.parsing.document import Block, BlockKind, Document

LONGEST_INDENT = 64
"""A unit at the start of a line keeps the line's indentation up to this many code points."""

_PROSE = frozenset(
    {
        BlockKind.HEADING,
        BlockKind.PARAGRAPH,
        BlockKind.LIST_ITEM,
        BlockKind.QUOTE,
        BlockKind.TURN,
    }
)
"""Blocks that divide into sentences; all others divide into lines."""

_BULLET = regex.compile(r"[-*+•‣◦–—]|\(?(?:\d{1,3}|\p{L})[.)]")
"""A word that opens a list item at the start of a line."""


class DocumentView:
    """The units of one document: words, sentences, paragraphs, blocks, and their sizes.

    Every unit is trimmed: it ends with a non-blank character and starts with one, or with the
    indentation of its line. The units of one kind hold all non-blank characters.

    Raises:
        ChunkingError: if the blocks are not ordered spans of the text.
    """

    def __init__(self, document: Document, unit: Unit, tokenizer: Tokenizer | None = None) -> None:
        self.document = document
        self.text = document.text
        _check_blocks(document)
        classes = classify(self.text)
        words = word_spans(self.text, classes)
        pieces = bounded_words(self.text, words)
        self._newlines = _newlines(self.text, np.flatnonzero(classes & NEWLINE))
        self._pages = np.flatnonzero(classes & PAGE)
        # Positions are looked up in pieces of words, whose length is bounded.
        self._letters = pieces.starts
        self._pieces = Spans(self._with_indentation(pieces), pieces.stops)
        starts = self._pieces.starts[pieces.starts.searchsorted(words.starts)]
        self.words = Spans(starts, words.stops)
        """Blank-separated words, dictionary words in scripts without spaces."""
        self.ruler = Ruler(self.text, pieces, unit, tokenizer)
        self._block_starts = positions([block.start for block in document.blocks])
        self._block_stops = positions([block.end for block in document.blocks])

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing to cut."""
        return not len(self._pieces.starts)

    def units(self, cuts: list[int] | Positions) -> Spans:
        """The trimmed units between cuts, given as positions in any order.

        A cut among blanks or in indentation separates the words around it; a cut inside a word
        moves forward to the end of the grapheme cluster it would divide.
        """
        at = np.unique(positions(cuts))
        # The piece that a cut lies before or inside is the first that ends after it.
        piece = self._pieces.stops.searchsorted(at, "right")
        inside = piece < len(self._pieces.stops)
        at, piece = at[inside], piece[inside]
        divides = self._letters[piece] < at
        between = piece[~divides & (piece > 0)]
        starts, stops = [self._pieces.starts[:1]], [self._pieces.stops[-1:]]
        starts.append(self._pieces.starts[between])
        stops.append(self._pieces.stops[between - 1])
        ends = positions([self._grapheme_end(position) for position in at[divides].tolist()])
        starts.append(positions([self.start_after(end) for end in ends.tolist()]))
        stops.append(ends)
        found = np.unique(np.concatenate(starts))
        return Spans(found[found < len(self.text)], np.unique(np.concatenate(stops)))

    def is_blank_between(self, start: int, stop: int) -> bool:
        """Whether a span holds no word, nor a part of one."""
        word = int(self._pieces.stops.searchsorted(start, "right"))
        return word == len(self._letters) or int(self._letters[word]) >= stop

    def start_after(self, position: int) -> int:
        """Where text that follows a unit's end begins; the length of the text if nothing does."""
        word = int(self._pieces.stops.searchsorted(position, "right"))
        if word == len(self._pieces.starts):
            return len(self.text)
        return position if self._letters[word] < position else int(self._pieces.starts[word])

    def letters_after(self, position: int) -> int:
        """The first non-blank character at or after a unit's start: past the indentation."""
        word = int(self._pieces.stops.searchsorted(position, "right"))
        return max(position, int(self._letters[word]))

    def word_end(self, position: int) -> int:
        """The end of the word, or bounded piece of a word, that a position begins or lies in."""
        return int(self._pieces.stops[self._pieces.stops.searchsorted(position, "right")])

    def word_end_before(self, position: int) -> int:
        """The last end of a word, or piece of a word, at or before a position; else 0."""
        complete = int(self._pieces.stops.searchsorted(position, "right"))
        return int(self._pieces.stops[complete - 1]) if complete else 0

    def blocks_in(self, start: int, stop: int) -> Sequence[Block]:
        """The document's blocks that a span touches; outside all blocks, the block before."""
        first = int(self._block_stops.searchsorted(start, "right"))
        following = int(self._block_starts.searchsorted(stop, "left"))
        blocks = self.document.blocks
        return blocks[first:following] or blocks[max(0, first - 1) : first]

    @cached_property
    def blocks(self) -> Spans:
        """Blocks, a heading together with the block that it heads."""
        cuts = [position for block in self.document.blocks for position in (block.start, block.end)]
        return self.units(np.setdiff1d(positions(cuts), self._glued))

    @cached_property
    def paragraphs(self) -> Spans:
        """Blocks divided at blank lines."""
        gaps = self._newlines_before_words() >= 2
        pages = self._pages.searchsorted(self._letters)
        gaps[1:] |= np.diff(pages) > 0
        cuts = np.setdiff1d(self._letters[gaps], self._glued)
        return self.units(np.concatenate((self.blocks.starts, cuts)))

    @cached_property
    def sentences(self) -> Spans:
        """Paragraphs divided into sentences; code, tables and the like into lines."""
        lines = self._letters[self._newlines_before_words() >= 1]
        cuts = [position for block in self.document.blocks for position in (block.start, block.end)]
        for start, stop, is_prose in self._stretches():
            within = lines[slice(*lines.searchsorted((start, stop)).tolist())]
            if is_prose:
                cuts.extend(sentence_ends(self.text, start, stop))
                cuts.extend(self._bullets(within))
            else:
                cuts.extend(within.tolist())
        return self.units(np.concatenate((self.paragraphs.starts, positions(cuts))))

    @cached_property
    def _glued(self) -> Positions:
        """Positions between a heading and the block it heads, where nothing else lies."""
        glued: list[int] = []
        for heading, following in pairwise(self.document.blocks):
            if heading.kind is BlockKind.HEADING:
                letters = self._letters[self._letters.searchsorted(heading.end) :][:1].tolist()
                glued += [heading.end, following.start, *letters]
        return positions(glued)

    def _stretches(self) -> Iterator[tuple[int, int, bool]]:
        """Blocks, and what lies between them, with whether they are prose."""
        end = 0
        for block in self.document.blocks:
            if block.start > end:
                yield end, block.start, True
            yield block.start, block.end, block.kind in _PROSE
            end = block.end
        if end < len(self.text):
            yield end, len(self.text), True

    def _bullets(self, lines: Positions) -> Iterator[int]:
        for start in lines.tolist():
            if _BULLET.fullmatch(self.text, start, self.word_end(start)):
                yield start

    def _newlines_before_words(self) -> Positions:
        """How many line ends lie between each word and the one before it."""
        before = self._newlines.searchsorted(self._letters)
        return np.diff(before, prepend=before[:1])

    def _with_indentation(self, words: Spans) -> Positions:
        ends = np.concatenate(([0], words.stops[:-1])) if len(words.stops) else words.stops
        newline = self._newlines.searchsorted(words.starts) - 1
        lines = np.zeros_like(words.starts)
        after = newline >= 0
        lines[after] = self._newlines[newline[after]] + 1
        indented = (lines >= ends) & (words.starts - lines <= LONGEST_INDENT)
        return np.where(indented, lines, words.starts)

    def _grapheme_end(self, position: int) -> int:
        """The end of the grapheme cluster that a position inside a word lies in or behind."""
        word = int(self._pieces.stops.searchsorted(position, "right"))
        ends = grapheme_ends(self.text, int(self._letters[word]), int(self._pieces.stops[word]))
        return int(ends[ends.searchsorted(position)])


def _newlines(text: str, found: Positions) -> Positions:
    """Positions of line ends; CRLF is one, at its line feed."""
    if "\r" not in text:
        return found
    crlf = [at for at in found.tolist() if text[at] == "\r" and text[at + 1 : at + 2] == "\n"]
    return np.setdiff1d(found, positions(crlf), assume_unique=True)


def _check_blocks(document: Document) -> None:
    end = 0
    for block in document.blocks:
        if not end <= block.start <= block.end <= len(document.text):
            raise ChunkingError(
                f"{document.uri}: the {block.kind} block [{block.start}, {block.end}) overlaps the "
                f"block before it, which ends at {end}, or leaves the text of {len(document.text)} "
                "characters. Blocks must be ordered, disjoint spans: this is a fault of the parser."
            )
        end = block.end

"""The context stage: what the model is given before a chunk's text."""

from collections.abc import Sequence
from itertools import takewhile

from chunk_assets.chunking.settings import StrategySettings
from chunk_assets.chunking.view import DocumentView
from chunk_assets.parsing.document import Block, BlockKind

SEPARATOR = " > "
LARGEST_SHARE = 2
"""Context takes at most one part in this many of the maximum: a chunk is foremost its text."""


class Context:
    """Titles and heading paths of one document's chunks.

    `embed_text` is the parts joined by " > ", a blank line, and the text. A heading that stands
    at the beginning of the text itself is not repeated. When the parts are larger than half of
    the maximum, the outermost go first.
    """

    def __init__(self, view: DocumentView, settings: StrategySettings) -> None:
        self._view = view
        self._settings = settings
        self._prefixes: dict[tuple[str, ...], str] = {(): ""}
        self._openings: dict[tuple[str, str], int] = {}

    def heading_path(self, start: int, stop: int) -> tuple[str, ...]:
        """The longest heading path that is true of all the text (headings in it apart)."""
        blocks = self._view.blocks_in(start, stop)
        matter = [block for block in blocks if block.kind is not BlockKind.HEADING] or blocks
        return _common_prefix([block.heading_path for block in matter])

    def parts(self, start: int, stop: int) -> tuple[str, ...]:
        """The context of a text, outermost first, before any is left out for its size."""
        return self._named(self.heading_path(start, stop), self._view.blocks_in(start, stop), start)

    def prefix(self, parts: tuple[str, ...], dropped: int = 0) -> tuple[str, bool]:
        """What is put before the text, and whether parts were left out.

        Args:
            parts: the context, outermost first.
            dropped: how many of the outermost parts to leave out at least.
        """
        kept = parts[dropped:]
        if kept not in self._prefixes:
            self._prefixes[kept] = self._largest(kept)
        prefix = self._prefixes[kept]
        return prefix, len(kept) < len(parts) or prefix != _joined(kept)

    def opening(self, begin: int, core: int) -> int:
        """What a chunk costs before its text does.

        The size of the context, and for tokens what the first word costs more at the start of a
        text than after a blank. An upper bound, since where the chunk ends is not yet known: its
        context can only become shorter.

        Args:
            begin: where the chunk's text begins, overlap included.
            core: where its own text begins.
        """
        end = self._view.word_end(begin)
        word = self._view.text[begin:end]
        prefix, _ = self.prefix(self._longest_parts(core))
        if (prefix, word) not in self._openings:
            whole = self._view.ruler.count([prefix + word])[0]
            self._openings[prefix, word] = max(0, whole - self._view.ruler.size(begin, end))
        return self._openings[prefix, word]

    def _longest_parts(self, start: int) -> tuple[str, ...]:
        blocks = self._view.blocks_in(start, self._view.letters_after(start) + 1)[:1]
        return self._named(blocks[0].heading_path if blocks else (), blocks, start)

    def _named(self, path: tuple[str, ...], blocks: Sequence[Block], start: int) -> tuple[str, ...]:
        wanted = self._settings.context
        headings = path if "heading_path" in wanted else ()
        if blocks and blocks[0].kind is BlockKind.HEADING and start <= blocks[0].start:
            headings = headings[: max(0, len(blocks[0].heading_path) - 1)]
        title = self._view.document.title
        if "title" not in wanted or not title or path[:1] == (title,):
            return headings
        return (title, *headings)

    def _largest(self, parts: tuple[str, ...]) -> str:
        share = self._settings.maximum // LARGEST_SHARE
        for first in range(len(parts)):
            prefix = _joined(parts[first:])
            if self._view.ruler.count([prefix])[0] <= share:
                return prefix
        return ""


def _joined(parts: tuple[str, ...]) -> str:
    return f"{SEPARATOR.join(parts)}\n\n" if parts else ""


def _common_prefix(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    if not paths:
        return ()
    lowest, highest = min(paths), max(paths)  # what these two share, all share
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(lowest, highest, strict=False))
    return tuple(part for part, _ in pairs)

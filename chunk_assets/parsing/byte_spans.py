"""Where a span of decoded text lies in the bytes it was decoded from."""

import codecs
from collections.abc import Sequence
from itertools import pairwise

from chunk_assets.parsing.decode import decode_as

Span = tuple[int, int]


def byte_spans(raw: bytes, encoding: str, spans: Sequence[Span]) -> list[Span]:
    """Byte ranges of code point ranges of the decoded text, in one pass over the bytes.

    Args:
        raw: the bytes of one item.
        encoding: the encoding that `decode` reported for them.
        spans: `[start, end)` in code points of the decoded text (a byte order mark counts as its
            first character), in any order.

    Returns:
        `[start, end)` in bytes for each span.
    """
    positions = sorted({position for span in spans for position in span})
    offsets = _offsets(raw, encoding, positions)
    return [(offsets[start], offsets[end]) for start, end in spans]


def _offsets(raw: bytes, encoding: str, positions: list[int]) -> dict[int, int]:
    if encoding == "utf-8":
        text, errors = raw.decode("utf-8", "surrogateescape"), "surrogateescape"
    elif encoding.startswith(("utf-16", "utf-32")):
        # A damaged unit is as wide as the U+FFFD that stands for it.
        text, errors = decode_as(raw, encoding), "replace"
    else:
        text, errors = decode_as(raw, encoding), "strict"
    offsets = {0: 0}
    total = 0
    try:
        if errors == "strict" and text.encode(encoding) != raw:
            return _offsets_by_steps(raw, encoding, positions)
        for start, end in pairwise([0, *positions]):
            total += len(text[start:end].encode(encoding, errors))
            offsets[end] = min(total, len(raw))
    except UnicodeEncodeError:
        return _offsets_by_steps(raw, encoding, positions)
    return offsets


def _offsets_by_steps(raw: bytes, encoding: str, positions: list[int]) -> dict[int, int]:
    """For encodings with state, or with several spellings of one character: byte by byte."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    starts: list[int] = []
    pending = 0
    for index in range(len(raw)):
        characters = decoder.decode(raw[index : index + 1], final=index + 1 == len(raw))
        if characters:
            starts += [pending] * len(characters)
            pending = index + 1
    starts.append(len(raw))
    return {position: starts[min(position, len(starts) - 1)] for position in positions}

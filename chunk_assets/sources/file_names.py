"""File names as URIs: valid text for every table, and back to exactly the same bytes."""

import re

_NEEDS_ESCAPE = re.compile("[\udc80-\udcff]|%(?=[0-9a-fA-F]{2})")
_ESCAPE = re.compile("%([0-9a-fA-F]{2})")


def uri_of(path: bytes) -> str:
    """The URI of a path relative to its root.

    Names are kept as they are, spaces and umlauts too, but for two things that are
    percent-encoded: a byte that is not UTF-8, and a percent sign that would otherwise read as the
    start of such a code.
    """
    text = path.decode("utf-8", "surrogateescape")
    return _NEEDS_ESCAPE.sub(lambda match: f"%{ord(match[0]) & 0xFF:02X}", text)


def path_of(uri: str) -> bytes:
    """The inverse of `uri_of`."""
    pieces = _ESCAPE.split(uri)
    return b"".join(
        bytes([int(piece, 16)]) if index % 2 else piece.encode("utf-8", "surrogatepass")
        for index, piece in enumerate(pieces)
    )

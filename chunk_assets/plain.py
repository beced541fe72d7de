"""Text of documents, file names and errors as a terminal may show it."""

from rich.markup import escape

# C0, DEL and C1: a document must not move the cursor, change colours or set a title.
_CONTROLS = {
    code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (9, 10)
}
_ONE_LINE = {**_CONTROLS, 9: "\\t", 10: "\\n"}


def shown(text: str, *, lines: bool = False) -> str:
    """Text without effect on the terminal: markup and control characters are shown, not obeyed.

    Args:
        text: whatever stood in a document, a name or a message.
        lines: keep line ends and tabs.
    """
    return escape(text.translate(_CONTROLS if lines else _ONE_LINE))

"""How documents become text: the `parsing:` part of a corpus."""

import codecs
from importlib.metadata import version
from typing import Annotated

from pydantic import AfterValidator, Field

from chunk_assets.lineage.identity import Fingerprint, fingerprint
from chunk_assets.parsing.normalize import NormalizerOptions
from chunk_assets.parsing.route import Format
from chunk_assets.strict_model import StrictModel

PARSER_VERSIONS = {"decode": 1, "normalize": 1, "markdown": 1, "restructuredtext": 1, "text": 1}
"""Raised with every change of what the parser makes; all documents are then parsed again."""

_LIBRARIES = ("charset-normalizer", "docutils", "markdown-it-py", "mdit-py-plugins")


def _known_encoding(name: str) -> str:
    try:
        "".encode(name)  # also refuses codecs that are no text encodings, such as base64
        return codecs.lookup(name).name
    except LookupError:
        raise ValueError(
            f"{name!r} is no text encoding; use a name that Python knows, such as utf-8, utf-16, "
            "cp1252, shift_jis or gb18030"
        ) from None


class ParsingOptions(StrictModel):
    """How items are turned into normalized text and blocks."""

    formats: dict[str, Format] = Field(default_factory=dict)
    """Pins: glob, as in a `.gitignore`, to format; the first that matches counts."""
    encodings: dict[str, Annotated[str, AfterValidator(_known_encoding)]] = Field(
        default_factory=dict
    )
    """Pins: glob to text encoding, for files whose encoding is guessed wrong; the first that
    matches counts."""
    normalize: NormalizerOptions = NormalizerOptions()
    """Clean-ups of the text; lossless by default."""


def parser_fingerprint(options: ParsingOptions) -> Fingerprint:
    """The identity of everything that decides what bytes become."""
    settings = options.model_dump(mode="json")
    return fingerprint(
        "parser",
        {
            # Pins are tried in order, which canonical JSON would lose.
            **{key: list(settings.pop(key).items()) for key in ("formats", "encodings")},
            "options": settings,
            "versions": PARSER_VERSIONS,
            "libraries": {name: version(name) for name in _LIBRARIES},
        },
    )

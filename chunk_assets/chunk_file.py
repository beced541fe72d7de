"""Cut one file without a corpus: what `chunk-assets chunk` does."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chunk_assets.chunking.chunk import Chunk
from chunk_assets.chunking.pipeline import chunk_document
from chunk_assets.chunking.strategy import Strategy, parse_strategy
from chunk_assets.config import config_path, load_configuration
from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.registry import build_embedder
from chunk_assets.embedding.tokenizer import Tokenizer
from chunk_assets.errors import ConfigurationError
from chunk_assets.parsing.config import ParsingOptions
from chunk_assets.parsing.document import Document
from chunk_assets.parsing.parse import parse
from chunk_assets.parsing.route import FORMATS
from chunk_assets.sources.source import SourceItem
from chunk_assets.validation import nearest


@dataclass(frozen=True, slots=True)
class CutFile:
    """A file's chunks, and what its parser noticed."""

    document: Document
    warnings: Sequence[str]
    chunks: Sequence[Chunk]
    tokens: Sequence[int]
    """Of each chunk's `embed_text`, whatever the strategy counts in."""
    unit: str

    def to_json(self) -> dict[str, Any]:
        """What `chunk --json` prints."""
        return {
            "document": {
                "title": self.document.title,
                "format": self.document.format,
                "text_length": len(self.document.text),
                "blocks": [
                    {
                        "kind": block.kind.value,
                        "start": block.start,
                        "end": block.end,
                        "level": block.level,
                        "heading_path": list(block.heading_path),
                        "page": block.page,
                        **block.attributes,
                    }
                    for block in self.document.blocks
                ],
                "warnings": list(self.warnings),
            },
            "unit": self.unit,
            "chunks": [
                {
                    "ordinal": chunk.ordinal,
                    "start": chunk.start,
                    "end": chunk.end,
                    "text": chunk.text,
                    "embed_text": chunk.embed_text,
                    "size": chunk.size,
                    "tokens": tokens,
                    "heading_path": list(chunk.heading_path),
                    "level": chunk.level,
                    "parent": chunk.parent,
                    "overlap_start": chunk.overlap_start,
                    "flags": list(chunk.flags),
                }
                for chunk, tokens in zip(self.chunks, self.tokens, strict=True)
            ],
        }


def chunk_bytes(
    raw: bytes, *, name: str, strategy: str, format_: str | None, config: Path | None
) -> CutFile:
    """Parse and cut bytes.

    Args:
        raw: the file's content.
        name: its name, which may tell the format.
        strategy: the name of a strategy in the configuration, or one as a JSON object.
        format_: the format, where it should not be found out.
        config: the configuration file; only read for a named strategy, or one that names its
            tokenizer.

    Raises:
        ConfigurationError: if the strategy or format is unknown or wrong.
        ParseError: if the bytes cannot be turned into text.
    """
    if format_ is not None and format_ not in FORMATS:
        raise ConfigurationError(f"--format: {format_!r} is not known; {nearest(format_, FORMATS)}")
    embedders = {"minilm": EmbedderConfig()}
    if strategy.lstrip().startswith(("{", "[")):
        chosen = _inline(strategy)
        if chosen.tokenizer is not None and config_path(config).exists():
            embedders = dict(load_configuration(config_path(config)).embedders)
    else:
        configuration = load_configuration(config_path(config))
        if strategy not in configuration.strategies:
            raise ConfigurationError(
                f"--strategy: {strategy!r} is not in {config_path(config)}; "
                f"{nearest(strategy, configuration.strategies)}"
            )
        chosen = configuration.strategies[strategy]
        embedders = dict(configuration.embedders)
    item = SourceItem(uri=name, signature="", format=format_)
    parsed = parse(raw, corpus="", item=item, options=ParsingOptions())
    tokenizer = _tokenizer(chosen, embedders)
    chunks = chunk_document(parsed.document, chosen, tokenizer)
    tokens = tokenizer.count([chunk.embed_text for chunk in chunks])
    return CutFile(parsed.document, parsed.warnings, chunks, tokens, chosen.unit)


def _inline(text: str) -> Strategy:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigurationError(f"--strategy is not valid JSON: {error}") from None
    return parse_strategy(value)


def _tokenizer(strategy: Strategy, embedders: dict[str, EmbedderConfig]) -> Tokenizer:
    name = strategy.tokenizer or next(iter(embedders))
    if name not in embedders:
        raise ConfigurationError(
            f"--strategy: tokenizer {name!r} is no embedder; {nearest(name, embedders)}"
        )
    return build_embedder(name, embedders[name]).tokenizer

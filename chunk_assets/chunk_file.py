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
from chunk_assets.corpus import Corpus, corpora_of
from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.registry import build_embedder
from chunk_assets.embedding.tokenizer import Tokenizer
from chunk_assets.environment import expand
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
    raw: bytes,
    *,
    name: str,
    strategy: str,
    format_: str | None,
    config: Path | None,
    corpus: str | None = None,
) -> CutFile:
    """Parse and cut bytes.

    Args:
        raw: the file's content.
        name: its path, or any name; it may tell the format.
        strategy: the name of a strategy in the configuration, or one as a JSON object.
        format_: the format, where it should not be found out.
        config: the configuration file; only read for a corpus, a named strategy, or one that names
            its tokenizer.
        corpus: the corpus whose parsing options and embedders count; None: default options, and the
            first embedder there is.

    Raises:
        ConfigurationError: if the strategy, format or corpus is unknown or wrong.
        ParseError: if the bytes cannot be turned into text.
    """
    if format_ is not None and format_ not in FORMATS:
        raise ConfigurationError(f"--format: {format_!r} is not known; {nearest(format_, FORMATS)}")
    embedders = {"minilm": EmbedderConfig()}
    options, uri = ParsingOptions(), Path(name).name
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
    if corpus is not None:
        path = config_path(config)
        chosen_corpus = _corpus(corpus, path)
        embedders = chosen_corpus.embedder_configs
        options = chosen_corpus.config.parsing
        uri = _uri(Path(name), chosen_corpus, path.parent)
    item = SourceItem(uri=uri, signature="", format=format_)
    parsed = parse(raw, corpus="", item=item, options=options)
    tokenizer = _tokenizer(chosen, embedders)
    chunks = chunk_document(parsed.document, chosen, tokenizer)
    tokens = tokenizer.count([chunk.embed_text for chunk in chunks])
    return CutFile(parsed.document, parsed.warnings, chunks, tokens, chosen.unit)


def _corpus(name: str, path: Path) -> Corpus:
    corpora = corpora_of(load_configuration(path))
    if name not in corpora:
        raise ConfigurationError(f"--corpus: {name!r} is not in {path}; {nearest(name, corpora)}")
    return corpora[name]


def _uri(file: Path, corpus: Corpus, folder: Path) -> str:
    """What a file is called in a corpus, as pins know it; its bare name if it lies elsewhere."""
    source = corpus.config.source
    if source.kind != "files":
        return file.name
    root = (folder / Path(expand(source.root)).expanduser()).resolve()
    there = file.resolve()
    return there.relative_to(root).as_posix() if there.is_relative_to(root) else file.name


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

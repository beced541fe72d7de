"""The tokenizer of a model that runs elsewhere: its files are here, its weights need not be."""

import re
import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from chunk_assets.embedding.config import PACKAGE_PREFIX
from chunk_assets.embedding.huggingface_tokenizer import (
    FILE_NAME,
    HuggingFaceTokenizer,
    tokenizer_file,
)
from chunk_assets.embedding.model_files import locate_model
from chunk_assets.embedding.tokenizer import Tokenizer
from chunk_assets.errors import EmbeddingError
from chunk_assets.lineage.identity import Fingerprint, fingerprint

OPENAI_PREFIX = "openai:"

_RULES_VERSION = 1
_SURROGATES = re.compile("[\ud800-\udfff]")
# No token of these vocabularies goes from a letter to a space, so a text may be cut between them.
_CUT = re.compile(r"(?<=[^\W\d_])(?=\s)")
# The library takes fewer than a million characters at once.
_CHARACTERS_AT_ONCE = 500_000


class ApiTokenizer(Tokenizer, Protocol):
    """A tokenizer that knows what the model puts around a text."""

    @property
    def special_tokens(self) -> int:
        """How many special tokens the model puts around a text."""


class BytePairTokenizer:
    """One of OpenAI's vocabularies, which the package `bpe-openai` carries.

    Control tokens that stand in a text are ordinary text, and a lone surrogate is read as U+FFFD.
    """

    special_tokens = 0

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding

    @property
    def name(self) -> str:
        """How a configuration names it."""
        return f"{OPENAI_PREFIX}{self._encoding}"

    @property
    def fingerprint(self) -> Fingerprint:
        """The identity of its vocabulary and rules, which its name fixes for ever."""
        return fingerprint("tokenizer", {"openai": self._encoding, "version": _RULES_VERSION})

    def count(self, texts: Sequence[str]) -> list[int]:
        """The number of content tokens of each text."""
        return [sum(len(ids) for ids in self._ids(text)) for text in texts]

    def offsets(self, text: str) -> npt.NDArray[np.int64]:
        """Content tokens as `[start, end)` in code points, in order: shape (tokens, 2).

        Tokens that are parts of one code point share it.
        """
        lengths = [
            len(self._library.decode_single_token_bytes(t)) for ids in self._ids(text) for t in ids
        ]
        ends = np.cumsum(lengths, dtype=np.int64)
        if not len(ends):
            return np.empty((0, 2), dtype=np.int64)
        widths = [len(character.encode()) for character in encodable(text)]
        owner = np.repeat(np.arange(len(widths), dtype=np.int64), widths)
        return np.stack([owner[ends - lengths], owner[ends - 1] + 1], axis=1)

    def _ids(self, text: str) -> Iterator[list[int]]:
        for part in _parts(encodable(text)):
            yield self._library.encode_ordinary(part)

    @cached_property
    def _library(self) -> Any:  # noqa: ANN401 - the package has no types
        try:
            with warnings.catch_warnings():  # it reads its data in a deprecated way when imported
                warnings.simplefilter("ignore", DeprecationWarning)
                import bpe_openai  # type: ignore[import-untyped]
        except ImportError as error:
            raise EmbeddingError(
                f"tokenizer {self.name!r} needs the package bpe-openai: install "
                "`chunk-assets[openai]`, or name a tokenizer.json, a folder or a hub model"
            ) from error
        names: list[str] = bpe_openai.list_encoding_names()
        if self._encoding not in names:
            known = ", ".join(f"{OPENAI_PREFIX}{name}" for name in names)
            raise EmbeddingError(f"there is no tokenizer {self.name!r}; there are: {known}")
        return bpe_openai.get_encoding(self._encoding)


def load_api_tokenizer(name: str) -> ApiTokenizer:
    """A tokenizer as a configuration names it. Cheap: its file is read on first use.

    Args:
        name: `openai:VOCABULARY`, `package:NAME`, a folder, a `tokenizer.json`, or a name on the
            Hugging Face hub, of which only the tokenizer is downloaded, if it is not in the cache.

    Raises:
        EmbeddingError: if it is not there and cannot be had.
    """
    if name.startswith(OPENAI_PREFIX):
        return BytePairTokenizer(name.removeprefix(OPENAI_PREFIX))
    path = Path(name).expanduser()
    if path.is_file():
        return HuggingFaceTokenizer(path.resolve(), name)
    local = name.startswith((PACKAGE_PREFIX, ".", "/", "~")) or path.is_dir()
    if local or len(path.parts) > 2:
        return HuggingFaceTokenizer(tokenizer_file(locate_model(name)), name)
    return HuggingFaceTokenizer(_hub_file(name), name)


def encodable(text: str) -> str:
    """A text that UTF-8 can carry: every lone surrogate becomes U+FFFD."""
    return _SURROGATES.sub("\ufffd", text)


def _parts(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _CHARACTERS_AT_ONCE:
        stop = start + _CHARACTERS_AT_ONCE
        cuts = [match.start() for match in _CUT.finditer(text, start + 1, stop)]
        stop = cuts[-1] if cuts else stop
        yield text[start:stop]
        start = stop
    yield text[start:]


def _hub_file(name: str) -> Path:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    def fetch(*, local_files_only: bool) -> Path:
        return Path(hf_hub_download(name, FILE_NAME, local_files_only=local_files_only))

    try:
        try:
            return fetch(local_files_only=True)
        except LocalEntryNotFoundError:
            return fetch(local_files_only=False)
    except Exception as error:  # the hub's client raises what its transport raises
        raise EmbeddingError(
            f"tokenizer {name!r} is neither a file, nor a folder, nor in the Hugging Face cache, "
            f"and cannot be downloaded: {error}. Check the name; if this machine is offline, copy "
            f"{FILE_NAME} here and name that file."
        ) from error

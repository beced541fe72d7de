"""Tokenizers of Hugging Face models, through the `tokenizers` library alone."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from chunk_assets.embedding.tokenizer import Tokenizer
from chunk_assets.errors import EmbeddingError
from chunk_assets.lineage.identity import Fingerprint, fingerprint

if TYPE_CHECKING:
    import tokenizers

FILE_NAME = "tokenizer.json"

# Raised when the same file would be read differently.
_RULES_VERSION = 1
# An encoding takes about 100 bytes a token, so a corpus is not encoded in one go.
_TEXTS_AT_ONCE = 512
_SURROGATES = re.compile("[\ud800-\udfff]")


class HuggingFaceTokenizer:
    """A `tokenizer.json`, without its truncation and padding.

    Special tokens that stand in a text are ordinary text, and a lone surrogate, which the library
    cannot be given, is read as U+FFFD: both leave the offsets as they are.

    Args:
        path: the file `tokenizer.json`.
        name: how a configuration names it.
        lowercase: whether sentence-transformers lower-cases before this tokenizer.
    """

    def __init__(self, path: Path, name: str, *, lowercase: bool = False) -> None:
        self._path = path
        self._name = name
        self._lowercase = lowercase

    @property
    def name(self) -> str:
        """How a configuration names it."""
        return self._name

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """The identity of its vocabulary and rules."""
        # Both are switched off, and tools rewrite them in the file at will.
        rules = {
            key: value
            for key, value in json.loads(self._path.read_text(encoding="utf-8")).items()
            if key not in ("truncation", "padding")
        }
        return fingerprint(
            "tokenizer",
            {"rules": rules, "lowercase": self._lowercase, "version": _RULES_VERSION},
        )

    def count(self, texts: Sequence[str]) -> list[int]:
        """The number of content tokens of each text."""
        return [
            len(encoding)
            for part in _parts(texts)
            for encoding in self._library.encode_batch_fast(part, add_special_tokens=False)
        ]

    def offsets(self, text: str) -> npt.NDArray[np.int64]:
        """Content tokens as `[start, end)` in code points, in order: shape (tokens, 2).

        Tokens that are parts of one code point share it; a token may be empty if the model adds
        it (a leading space).
        """
        encoding = self._library.encode(_encodable(text), add_special_tokens=False)
        return np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)

    @cached_property
    def special_tokens(self) -> int:
        """How many special tokens the model puts around a text."""
        return int(self._library.num_special_tokens_to_add(False))

    @cached_property
    def leading_special_tokens(self) -> int:
        """How many of them stand before the text."""
        mask: list[int] = self._library.encode("a").special_tokens_mask
        return mask.index(0)

    def model_inputs(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each text as the model wants them, with special tokens around them."""
        return [
            encoding.ids
            for part in _parts(texts)
            for encoding in self._library.encode_batch_fast(part, add_special_tokens=True)
        ]

    def content_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The same, without special tokens: as many ids as `count` counts."""
        return [
            encoding.ids
            for part in _parts(texts)
            for encoding in self._library.encode_batch_fast(part, add_special_tokens=False)
        ]

    @cached_property
    def unknown_id(self) -> int | None:
        """The id that stands for what the vocabulary does not hold; None where nothing is left."""
        model = self._library.model
        if hasattr(model, "unk_token"):
            token: str | None = model.unk_token
            return None if token is None else self._library.token_to_id(token)
        # The library does not tell that of a unigram model.
        unknown: int | None = json.loads(self._path.read_text(encoding="utf-8"))["model"]["unk_id"]
        return unknown

    @cached_property
    def vocabulary_size(self) -> int:
        """One more than the largest id it gives."""
        return max(self._library.get_vocab(with_added_tokens=True).values(), default=-1) + 1

    def cut_model_inputs(self, texts: Sequence[str], max_tokens: int) -> list[list[int]]:
        """The same, with the content of each text cut after `max_tokens` tokens."""
        encodings = [self._library.encode(_encodable(t), add_special_tokens=False) for t in texts]
        for encoding in encodings:
            encoding.truncate(max_tokens)
        return [self._library.post_process(encoding).ids for encoding in encodings]

    @cached_property
    def _library(self) -> "tokenizers.Tokenizer":
        import tokenizers

        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(self._path))
        except Exception as error:  # the library raises nothing narrower
            raise EmbeddingError(
                f"Tokenizer {self._name!r}: {self._path} cannot be read: {error}. The file is "
                "damaged or needs a newer `tokenizers`: fetch the model again, or upgrade."
            ) from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        if self._lowercase:
            steps = [tokenizers.normalizers.Lowercase()]
            if tokenizer.normalizer is not None:
                steps.append(tokenizer.normalizer)
            tokenizer.normalizer = tokenizers.normalizers.Sequence(steps)
        return tokenizer


def load_tokenizer(path: Path, name: str) -> Tokenizer:
    """The tokenizer of a model folder, or of a `tokenizer.json`.

    Cheap: the file is read on first use.

    Raises:
        EmbeddingError: if there is no such file.
    """
    return HuggingFaceTokenizer(tokenizer_file(path), name)


def tokenizer_file(path: Path) -> Path:
    """The `tokenizer.json` of a model folder, or the given file.

    Raises:
        EmbeddingError: if there is no such file.
    """
    file = path / FILE_NAME if path.is_dir() else path
    if not file.is_file():
        raise EmbeddingError(
            f"There is no {FILE_NAME} at {file}. Write one with `transformers`: "
            "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)."
        )
    return file


def _parts(texts: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        yield [_encodable(text) for text in texts[start : start + _TEXTS_AT_ONCE]]


def _encodable(text: str) -> str:
    return _SURROGATES.sub("\ufffd", text)

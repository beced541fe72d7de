"""Texts that exceed the model: windows embedded and averaged, a cut, or an error; never silent."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import regex

from chunk_assets.embedding.config import OverflowMode
from chunk_assets.embedding.embedder import Vectors
from chunk_assets.embedding.tokenizer import Tokenizer
from chunk_assets.embedding.unit_vectors import normalize
from chunk_assets.errors import EmbeddingError

_CLUSTER = regex.compile(r"\X")


@dataclass(frozen=True, slots=True)
class Fitted:
    """A text as the model can take it."""

    windows: tuple[str, ...]
    """What is embedded; one window for a text that fits."""
    window_tokens: tuple[int, ...]
    """The content tokens of each window, counted on the window itself."""
    flags: tuple[str, ...] = ()
    """`pooled` or `truncated` where the text did not fit."""

    @property
    def tokens_embedded(self) -> int:
        """The content tokens the model sees."""
        return sum(self.window_tokens)


def fit(
    text: str, tokens: int, tokenizer: Tokenizer, *, max_tokens: int, overflow: OverflowMode
) -> Fitted:
    """What the model is given for a text of so many tokens.

    Raises:
        EmbeddingError: if it exceeds `max_tokens` and `overflow` is `error`.
    """
    if tokens <= max_tokens:
        return Fitted((text,), (tokens,))
    if overflow == "error":
        raise EmbeddingError(
            f"the text has {tokens} tokens, but the model takes {max_tokens}, and `overflow: "
            "error` forbids to cut it: lower the strategy's maximum, or set overflow to pool or "
            "truncate"
        )
    windows = split_windows(text, tokenizer, max_tokens)
    if overflow == "truncate":
        window, count = next(windows)
        return Fitted((window,), (count,), ("truncated",))
    parts, counts = zip(*windows, strict=True)
    return Fitted(parts, counts, ("pooled",))


def split_windows(text: str, tokenizer: Tokenizer, max_tokens: int) -> Iterator[tuple[str, int]]:
    """Windows that tile a text, each with its number of tokens, at most `max_tokens`.

    They are cut where a token and a grapheme cluster begin together. Inside a cluster that alone
    exceeds `max_tokens` they are cut between code points.
    """
    offsets = tokenizer.offsets(text)
    total = len(offsets)
    cuts = _boundaries(offsets)
    clean = cuts[_begins_cluster(text, offsets[cuts, 0])]
    first, start = 0, 0
    while start < len(text):
        wanted = first + max_tokens
        while True:
            stop = total if wanted >= total else _cut(clean, cuts, first, wanted, total)
            end = len(text) if stop == total else int(offsets[stop, 0])
            window = text[start:end]
            [count] = tokenizer.count([window])
            if count <= max_tokens or wanted <= first + 1:
                break
            # A cut can change how the text beside it is tokenized: the window's own count decides.
            wanted = max(first + 1, min(wanted, stop) - (count - max_tokens))
        yield window, count
        first, start = stop, end


def pool(vectors: Vectors, weights: Sequence[int]) -> npt.NDArray[np.float32]:
    """The mean of window vectors weighted by their tokens, scaled to length one.

    Returns:
        Shape (dimension,); all zero if the windows cancel each other.
    """
    # Summed row by row: a matrix product may add in another order on another machine.
    weighted = vectors.astype(np.float64) * np.asarray(weights, dtype=np.float64)[:, np.newaxis]
    unit: npt.NDArray[np.float32] = normalize(weighted.sum(axis=0, keepdims=True))[0]
    return unit


def _boundaries(offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Tokens, the first apart, that begin later than the one before and where none reaches."""
    reached = np.maximum.accumulate(offsets[:-1, 1])
    begins = offsets[1:, 0]
    return np.flatnonzero((begins >= reached) & (begins > offsets[:-1, 0])) + 1


def _begins_cluster(text: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    starts = [cluster.start() for cluster in _CLUSTER.finditer(text)]
    return np.isin(positions, np.array(starts, dtype=np.int64))


def _cut(
    clean: npt.NDArray[np.int64], cuts: npt.NDArray[np.int64], first: int, wanted: int, total: int
) -> int:
    """The best token to cut before: the last in `(first, wanted]`, else the next after."""
    for boundaries in (clean, cuts):
        at = int(np.searchsorted(boundaries, wanted, side="right")) - 1
        if at >= 0 and boundaries[at] > first:
            return int(boundaries[at])
    at = int(np.searchsorted(cuts, first, side="right"))
    return int(cuts[at]) if at < len(cuts) else total

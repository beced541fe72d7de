"""The unit of work: each missing vector once, block by block, whatever single texts do."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chunk_assets.embedding.config import OverflowMode
from chunk_assets.embedding.embedder import Embedder, Vectors
from chunk_assets.embedding.overflow import Fitted, fit, pool
from chunk_assets.embedding.unit_vectors import check_shape, defect, defects
from chunk_assets.embedding.usage import Usage, usage_of
from chunk_assets.errors import ChunkAssetsError, EmbeddingError
from chunk_assets.lineage.identity import VectorKey

# A few seconds of work on two cores: what a kill can lose, and how often progress is told.
DEFAULT_BLOCK_TOKENS = 65_536

_PROBE = "The quick brown fox jumps over the lazy dog."


@dataclass(frozen=True, slots=True)
class Block:
    """Finished vectors, to be stored together: parallel, one entry per key."""

    keys: tuple[VectorKey, ...]
    vectors: Vectors
    """Unit vectors: shape (keys, dimension)."""
    tokens: tuple[int, ...]
    """Content tokens of each text."""
    tokens_embedded: tuple[int, ...]
    """Content tokens the model saw: fewer than `tokens` where the text was truncated."""
    flags: tuple[tuple[str, ...], ...]
    """`pooled` or `truncated` where the text exceeded the model."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the work is; what failed is done as well."""

    done_texts: int
    total_texts: int
    done_tokens: int
    total_tokens: int


@dataclass(frozen=True, slots=True)
class FailedText:
    """A text without a vector."""

    key: VectorKey
    reason: str


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """What was done."""

    texts_embedded: int
    tokens: int
    """Content tokens of all texts given, each text once, failed ones included."""
    tokens_embedded: int
    """Content tokens that went into vectors."""
    pooled: int
    truncated: int
    usage: Usage
    """What the embedder computed for it; windows, prompts and special tokens included."""
    failed: tuple[FailedText, ...]


@dataclass(frozen=True, slots=True)
class _Unit:
    key: VectorKey
    tokens: int
    fitted: Fitted


@dataclass(frozen=True, slots=True)
class _Outcome:
    unit: _Unit
    vector: npt.NDArray[np.float32] | None
    reason: str = ""


def embed_missing(
    items: Iterable[tuple[VectorKey, str]],
    embedder: Embedder,
    *,
    overflow: OverflowMode,
    store: Callable[[Block], None],
    on_progress: Callable[[Progress], None] | None = None,
    block_tokens: int | None = None,
) -> EmbedReport:
    """Embed texts, shortest first, and store them in blocks as they are done.

    A text that makes the embedder fail, or whose vector is no unit vector, is found by bisection
    and reported; the others are embedded all the same. A kill loses the block at hand and nothing
    before it.

    Args:
        items: keys with texts; of equal keys the first counts.
        embedder: what embeds; it is given texts that fit it.
        overflow: what happens to texts that exceed its `max_tokens`.
        store: called once per block, never with an empty one.
        on_progress: called before the first block and after each.
        block_tokens: how many content tokens a block has at most (at least one text); default:
            what suits the embedder (`block_tokens`, which it may leave out), else 65,536.

    Raises:
        EmbeddingError: if the embedder fails on an ordinary sentence too, so that it is not the
            text's fault. Blocks stored before that are kept.
    """
    before = usage_of(embedder)
    texts: dict[VectorKey, str] = {}
    for key, text in items:
        texts.setdefault(key, text)
    units, failed = _fit_all(texts, embedder, overflow)
    tokens = sum(unit.tokens for unit in units) + sum(count for _, count in failed)
    total = sum(unit.fitted.tokens_embedded for unit in units)
    failures = [failure for failure, _ in failed]
    done_texts, done_tokens = len(failures), 0
    embedded: list[_Unit] = []

    def tell() -> None:
        if on_progress is not None:
            on_progress(Progress(done_texts, len(texts), done_tokens, total))

    tell()
    most = block_tokens or getattr(embedder, "block_tokens", None) or DEFAULT_BLOCK_TOKENS
    for block in _blocks(units, most):
        outcomes = list(_embed(block, embedder))
        made = [(o.unit, o.vector) for o in outcomes if o.vector is not None]
        if made:
            store(_block(made))
        embedded += [unit for unit, _ in made]
        failures += [FailedText(o.unit.key, o.reason) for o in outcomes if o.vector is None]
        done_texts += len(block)
        done_tokens += sum(unit.fitted.tokens_embedded for unit in block)
        tell()
    flags = [flag for unit in embedded for flag in unit.fitted.flags]
    return EmbedReport(
        texts_embedded=len(embedded),
        tokens=tokens,
        tokens_embedded=sum(unit.fitted.tokens_embedded for unit in embedded),
        pooled=flags.count("pooled"),
        truncated=flags.count("truncated"),
        usage=usage_of(embedder) - before,
        failed=tuple(failures),
    )


def _fit_all(
    texts: dict[VectorKey, str], embedder: Embedder, overflow: OverflowMode
) -> tuple[list[_Unit], list[tuple[FailedText, int]]]:
    """What the model is given, in the order of the work; what it may not be given."""
    units: list[_Unit] = []
    failed: list[tuple[FailedText, int]] = []
    if not texts:
        return units, failed
    counts = embedder.tokenizer.count(list(texts.values()))
    for (key, text), tokens in zip(texts.items(), counts, strict=True):
        try:
            fitted = fit(
                text,
                tokens,
                embedder.tokenizer,
                max_tokens=embedder.max_tokens,
                overflow=overflow,
            )
        except EmbeddingError as error:
            failed.append((FailedText(key, str(error)), tokens))
        else:
            units.append(_Unit(key, tokens, fitted))
    # Neighbours of equal length make full batches without padding.
    units.sort(key=lambda unit: (max(unit.fitted.window_tokens), unit.key))
    return units, failed


def _blocks(units: Sequence[_Unit], block_tokens: int) -> Iterator[list[_Unit]]:
    block: list[_Unit] = []
    size = 0
    for unit in units:
        tokens = unit.fitted.tokens_embedded
        if block and size + tokens > block_tokens:
            yield block
            block, size = [], 0
        block.append(unit)
        size += tokens
    if block:
        yield block


def _block(made: Sequence[tuple[_Unit, npt.NDArray[np.float32]]]) -> Block:
    return Block(
        keys=tuple(unit.key for unit, _ in made),
        vectors=np.stack([vector for _, vector in made]),
        tokens=tuple(unit.tokens for unit, _ in made),
        tokens_embedded=tuple(unit.fitted.tokens_embedded for unit, _ in made),
        flags=tuple(unit.fitted.flags for unit, _ in made),
    )


def _embed(units: Sequence[_Unit], embedder: Embedder) -> Iterator[_Outcome]:
    """Outcomes in order; halves what fails until the text that is to blame stands alone."""
    try:
        vectors = _vectors(units, embedder)
    except Exception as error:  # noqa: BLE001 - whatever a backend raises, the other texts go on
        _raise_unless_it_works(embedder, error)
        if len(units) == 1:
            yield _Outcome(units[0], None, str(error) or repr(error))
            return
        middle = len(units) // 2
        yield from _embed(units[:middle], embedder)
        yield from _embed(units[middle:], embedder)
        return
    reasons = defects(np.stack(vectors))
    wrong = next((reason for reason in reasons if reason is not None), None)
    if wrong is not None:
        _raise_unless_it_works(embedder, EmbeddingError(wrong))
    for unit, vector, reason in zip(units, vectors, reasons, strict=True):
        yield _Outcome(unit, vector if reason is None else None, reason or "")


def _vectors(units: Sequence[_Unit], embedder: Embedder) -> list[npt.NDArray[np.float32]]:
    windows = [window for unit in units for window in unit.fitted.windows]
    rows = embedder.embed_passages(windows)
    check_shape(rows, len(windows), embedder.dimension)
    vectors: list[npt.NDArray[np.float32]] = []
    start = 0
    for unit in units:
        weights = unit.fitted.window_tokens
        part = rows[start : start + len(weights)]
        vectors.append(part[0] if len(weights) == 1 else pool(part, weights))
        start += len(weights)
    return vectors


def _raise_unless_it_works(embedder: Embedder, error: Exception) -> None:
    """Tell a text that fails from an embedder that fails on everything."""
    try:
        rows = embedder.embed_passages([_PROBE])
        check_shape(rows, 1, embedder.dimension)
        reason = defect(rows[0])
    except Exception:  # noqa: BLE001 - the first error is the one to tell
        reason = str(error) or repr(error)
    if reason is None:
        return
    if isinstance(error, ChunkAssetsError):
        raise error
    raise EmbeddingError(
        f"embedder {embedder.name!r} fails on every text, an ordinary sentence included: {reason}"
    ) from error

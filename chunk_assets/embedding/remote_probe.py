"""Fixed texts that show whether the model behind an API is still the one it was."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from chunk_assets.embedding.embedder import Vectors
from chunk_assets.embedding.overflow import split_windows
from chunk_assets.embedding.remote_exchange import Outcome
from chunk_assets.embedding.remote_probe_store import ProbeStore
from chunk_assets.embedding.tokenizer import Tokenizer
from chunk_assets.errors import EmbeddingError
from chunk_assets.lineage.identity import Fingerprint, VectorKey, vector_key

# Words, letter case, digits, white space and scripts: what another model, another quantization or
# another preprocessing treats otherwise. A changed text is kept anew by every store.
PROBE_TEXTS = (
    "Open the valve slowly, then wait until the lamp turns green.",
    "GDPR Article 17(1): the right to erasure ('right to be forgotten')",
    "def mean(values):\n    return sum(values) / len(values)",
    "Die Straßenbahn fährt um 17:45 Uhr am Müllerplatz ab.",
    "東京の天気は晴れ、気温は 23.5 度です。",
)

# Special tokens and rounding move the count of a whole text by less.
_WHOLE = 0.95


@dataclass(frozen=True, slots=True)
class Probed:
    """An embedder as its probes see it."""

    name: str
    where: str
    """The URL and the model, for messages."""
    fingerprint: Fingerprint
    tokenizer: Tokenizer
    max_tokens: int
    """The most content tokens of a text."""
    input_limit: int
    """`max_tokens` as it is configured."""
    min_cosine: float
    send: Callable[[Sequence[str]], Outcome]
    """Embeds texts as passages."""


def verify(probed: Probed, store: ProbeStore | None) -> float | None:
    """Embed the probe texts and compare them with what the store keeps, or let it keep them.

    Before the first vectors of a model are kept, one text of `max_tokens` shows whether the server
    reads all of it.

    Returns:
        How much of what the configured tokenizer counts the server counts, 1 at most; None if it
        does not count.

    Raises:
        EmbeddingError: if the probe texts cannot be embedded, if another model made the vectors
            that are kept, or if the server takes less than `max_tokens`.
    """
    fitted = [next(split_windows(t, probed.tokenizer, probed.max_tokens)) for t in PROBE_TEXTS]
    texts = [text for text, _ in fitted]
    outcome = probed.send(texts)
    if outcome.error is not None:
        raise outcome.error
    share = _share(outcome)
    if store is None:
        return share
    keys = [vector_key(probed.fingerprint, text) for text in texts]
    found = {key: outcome.vectors[position] for position, key in enumerate(keys)}
    kept = store.load(probed.fingerprint, keys)
    if kept:
        _compare(probed, found, kept)
    else:
        _check_limit(probed, share)
    new = {key: tokens for key, (_, tokens) in zip(keys, fitted, strict=True) if key not in kept}
    if new:
        store.save(probed.fingerprint, {key: found[key] for key in new}, list(new.values()))
    return share


def _compare(
    probed: Probed, found: Mapping[VectorKey, Vectors], kept: Mapping[VectorKey, Vectors]
) -> None:
    cosine = min(
        float(found[key].astype(np.float64) @ vector.astype(np.float64))
        for key, vector in kept.items()
    )
    if cosine >= probed.min_cosine:
        return
    raise EmbeddingError(
        f"embedder {probed.name!r}: {probed.where} is not the model that made the stored vectors: "
        f"the vectors of fixed texts have a cosine of {cosine:.4f} to those kept since the first "
        f"use, expected {probed.min_cosine:g} or more. Bring the former model back; or, if it was "
        f"replaced on purpose, set embedders.{probed.name}.revision to a new value: everything is "
        "embedded anew, into another collection. If only its rounding has changed, lower "
        "remote.min_probe_cosine."
    )


def _check_limit(probed: Probed, share: float | None) -> None:
    unit = "\n".join(PROBE_TEXTS) + "\n"
    [tokens] = probed.tokenizer.count([unit])
    text, _ = next(
        split_windows(
            unit * (probed.max_tokens // max(1, tokens) + 1), probed.tokenizer, probed.max_tokens
        )
    )
    outcome = probed.send([text])
    where = f"embedder {probed.name!r}: max_tokens is {probed.input_limit:,}, but "
    if outcome.error is not None:
        raise EmbeddingError(
            f"{where}a text of that length, sent once before the first vectors are kept, failed: "
            f"{outcome.error}"
        )
    told = _share(outcome)
    if share is not None and told is not None and told < _WHOLE * share:
        raise EmbeddingError(
            f"{where}{probed.where} read {outcome.told_tokens:,} tokens of a text of "
            f"{outcome.own_tokens:,}: it cuts long texts in silence. Lower max_tokens to what it "
            "reads, let it read more (Ollama: num_ctx), or let it refuse (text-embeddings-"
            "inference: --auto-truncate false)."
        )


def _share(outcome: Outcome) -> float | None:
    if not outcome.told_tokens or not outcome.own_tokens:
        return None
    return min(1.0, outcome.told_tokens / outcome.own_tokens)

"""A short trial of an embedder: is it right, and how fast is it."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from chunk_assets.embedding.embedder import Embedder, Vectors
from chunk_assets.embedding.unit_vectors import check_shape, defect
from chunk_assets.errors import EmbeddingError

ALIKE = ("The boat crossed the river at dawn.", "A ship sailed over the water in the morning.")
UNLIKE = "The form for income tax is due in April."

# As long as a usual chunk; an embedder that takes less gets what it takes.
_TEXT_TOKENS = 200
_TEXTS_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Trial:
    """How an embedder did."""

    first_vector_s: float
    """From the call to the first vector; the model loads in that time."""
    largest_difference: float
    """Between components of the same texts' vectors, embedded twice."""
    cosine_alike: float
    cosine_unlike: float


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast an embedder is, once it is loaded."""

    tokens: int
    seconds: float

    @property
    def tokens_per_s(self) -> float:
        """Content tokens a second."""
        return self.tokens / self.seconds


def try_out(embedder: Embedder, clock: Callable[[], float] = time.perf_counter) -> Trial:
    """Embed three sentences twice.

    Raises:
        EmbeddingError: if the model cannot be loaded, or a vector is no unit vector.
    """
    started = clock()
    embedder.embed_queries([UNLIKE])
    first_vector_s = clock() - started
    texts = [*ALIKE, UNLIKE]
    once, again = (_checked(embedder, texts) for _ in range(2))
    return Trial(
        first_vector_s=first_vector_s,
        largest_difference=float(np.abs(once - again).max()),
        cosine_alike=float(once[0] @ once[1]),
        cosine_unlike=float(once[0] @ once[2]),
    )


def measure_speed(
    embedder: Embedder, at_least_s: float, clock: Callable[[], float] = time.perf_counter
) -> Speed:
    """Embed texts of about 200 tokens until some seconds have passed.

    Args:
        embedder: one that has been used, so that its model is loaded.
        at_least_s: how long to go on, in seconds; what has begun is finished.
        clock: of the seconds.
    """
    texts = _texts(embedder)
    tokens, seconds = 0, 0.0
    while seconds < at_least_s:
        part = [next(texts) for _ in range(_TEXTS_AT_ONCE)]
        tokens += sum(embedder.tokenizer.count(part))
        started = clock()
        embedder.embed_passages(part)
        seconds += clock() - started
    return Speed(tokens, seconds)


def _checked(embedder: Embedder, texts: list[str]) -> Vectors:
    vectors = embedder.embed_passages(texts)
    check_shape(vectors, len(texts), embedder.dimension)
    for text, vector in zip(texts, vectors, strict=True):
        wrong = defect(vector)
        if wrong is not None:
            raise EmbeddingError(f"{text!r}: {wrong}")
    return vectors


def _texts(embedder: Embedder) -> Iterator[str]:
    """Texts that fit, all different, so that nothing that caches helps."""
    sentence = "Part {} of the pump needs care before the lamp turns green. "
    # The longest number of a text is the last, so none of its sentences is longer than this one.
    [tokens] = embedder.tokenizer.count([sentence.format(10**6)])
    sentences = max(1, min(_TEXT_TOKENS, embedder.max_tokens) // tokens)
    for first in range(0, 10**6, sentences):
        yield "".join(sentence.format(first + number) for number in range(sentences))

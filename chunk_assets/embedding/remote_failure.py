"""What a failed answer means: try again, wait, send less, or give up; pure."""

import re
from dataclasses import dataclass
from enum import Enum, auto

from chunk_assets.embedding.remote_answer import ApiError

_TRANSIENT = {408, 409, 425}
_QUOTA = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
# One text exceeds the model: OpenAI, vLLM, TEI, llama.cpp, Ollama.
_TEXT_TOO_LONG = re.compile(
    r"context (length|size|window)|must have less than \d+ tokens|n_ctx|sequence length", re.I
)
# Azure, OpenAI, TEI, and gateways before them.
_TOO_MANY_TEXTS = re.compile(
    r"batch size|(number|max|maximum) of inputs|too many inputs|array too long"
    r"|array_above_max_length|at most \d+ (inputs|items|texts|documents)",
    re.I,
)
# OpenAI, Mistral.
_TOO_MANY_TOKENS = re.compile(
    r"max_tokens_per_request|tokens per request|too many tokens|tokens in batch|too large", re.I
)


class Meaning(Enum):
    """What to do about a failure."""

    TRANSIENT = auto()
    """Send it again, a limited number of times."""
    BUSY = auto()
    """Wait, and send it again."""
    TOO_MANY_TEXTS = auto()
    TOO_MANY_TOKENS = auto()
    TEXT_TOO_LONG = auto()
    """Send less at once; of a single text these are refusals."""
    REFUSED = auto()
    """These texts, or one of them, are not taken."""
    QUOTA = auto()
    FORBIDDEN = auto()
    NOT_FOUND = auto()
    REDIRECTED = auto()
    """No text would be taken."""


TOO_MUCH = {Meaning.TOO_MANY_TEXTS, Meaning.TOO_MANY_TOKENS, Meaning.TEXT_TOO_LONG}


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed answer."""

    status: int
    meaning: Meaning
    message: str
    """What the server says, or the beginning of its body."""


def meaning_of(status: int, error: ApiError | None, *, told_to_wait: bool) -> Meaning:
    """What a status with its error asks for.

    Args:
        status: of the answer.
        error: what its body tells, if it tells anything.
        told_to_wait: whether it has a `Retry-After`.
    """
    if error is not None and error.status is not None and 200 <= status < 300:
        status = error.status
    details = "" if error is None else f"{error.code} {error.kind} {error.message}"
    if status == 402 or (error is not None and {error.code, error.kind} & _QUOTA):
        return Meaning.QUOTA
    if status == 429 or (status == 503 and told_to_wait):
        return Meaning.BUSY
    if status >= 500 or status in _TRANSIENT or status < 300:
        return Meaning.TRANSIENT
    if status in (401, 403):
        return Meaning.FORBIDDEN
    if status in (404, 405):
        return Meaning.NOT_FOUND
    if 300 <= status < 400:
        return Meaning.REDIRECTED
    if status in (400, 413, 422):
        # A message about one text may speak of its tokens too, so it is looked for first.
        if _TEXT_TOO_LONG.search(details):
            return Meaning.TEXT_TOO_LONG
        if _TOO_MANY_TEXTS.search(details):
            return Meaning.TOO_MANY_TEXTS
        if status == 413 or _TOO_MANY_TOKENS.search(details):
            return Meaning.TOO_MANY_TOKENS
    return Meaning.REFUSED

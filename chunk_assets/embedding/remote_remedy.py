"""What a person is told when an API cannot be used, and what to do about it; pure."""

from chunk_assets.embedding.remote_batches import TextBatch
from chunk_assets.embedding.remote_config import RemoteConfig
from chunk_assets.embedding.remote_failure import Meaning

_SHOWN_CHARACTERS = 60


def remedy(meaning: Meaning, batch: TextBatch, *, key_env: str | None, location: str) -> str:
    """What to do about a refusal.

    Args:
        meaning: of the refusal.
        batch: what was refused.
        key_env: the environment variable whose value was sent as the key.
        location: where a redirect leads.
    """
    match meaning:
        case Meaning.QUOTA:
            return (
                "The account has no credit left, and waiting brings none: add some, raise its "
                "limit, or use the key of another account."
            )
        case Meaning.FORBIDDEN if key_env is None:
            return "No key was sent: name the environment variable that holds it in api_key_env."
        case Meaning.FORBIDDEN:
            return (
                f"The key came from the environment variable {key_env}: check that it is one of "
                "this API and may use this model."
            )
        case Meaning.NOT_FOUND:
            return (
                "Check that base_url ends where /embeddings follows (often with /v1), and that the "
                "API knows a model of this name."
            )
        case Meaning.REDIRECTED:
            return (
                f"It redirects to {location}, but texts and keys go only where base_url says: "
                "correct it."
            )
    if len(batch) > 1:
        return f"One of {len(batch)} texts is the cause, or the request itself."
    return _about(batch, 0)


def no_vector(batch: TextBatch, row: int, reason: str) -> str:
    """What is told of a text that got none."""
    return f"returned no vector for a text: {reason}. {_about(batch, row)}"


def cut_texts(told: int, batch: TextBatch, tokenizer: str) -> str:
    """What is told of a server that counts too few tokens."""
    return (
        f"counts {told:,} tokens where {tokenizer!r} counts {batch.tokens:,} ({len(batch)} texts): "
        "it cuts long texts in silence. Lower max_tokens to what the server takes, let it take "
        "more (Ollama: num_ctx), or let it refuse (text-embeddings-inference: --auto-truncate "
        "false)."
    )


def wrong_dimension(found: str, dimension: int) -> str:
    """What is told of vectors that are too long or too short."""
    return (
        f"returned a vector of {found}, but remote.dimension is {dimension}. Correct it; for "
        "shorter vectors of a model that can shorten them, set send_dimensions: true."
    )


def still_busy(attempts: int, reason: str, remote: RemoteConfig) -> str:
    """What is told of a server that kept asking to wait."""
    return (
        f"still asks to wait after {attempts} requests within deadline_s ({remote.deadline_s:g} "
        f"s): {reason}. Run it again later, lower concurrency or set requests_per_minute and "
        "tokens_per_minute, or ask for a higher limit."
    )


def too_long_a_wait(seconds: float, remote: RemoteConfig) -> str:
    """What is told of a server that asks for more patience than there is."""
    return (
        f"is at its limit and asks to wait {seconds:,.0f} s, but a request may take "
        f"{remote.deadline_s:,.0f} s (deadline_s). Run it again later, raise deadline_s, or ask "
        "for a higher limit."
    )


def not_answered(attempts: int, reason: str, remote: RemoteConfig) -> str:
    """What is told of a server that failed to the last."""
    return (
        f"gave no answer to {attempts} requests (max_attempts {remote.max_attempts}, deadline_s "
        f"{remote.deadline_s:g}); the last one: {reason}. Check that the server runs and can be "
        "reached from here; if it is only slow, raise timeout_s."
    )


def untrusted(reason: str) -> str:
    """What is told of a certificate."""
    return (
        f"has a certificate that is not trusted here: {reason}. Add its authority to the system's, "
        "or name a file of authorities in SSL_CERT_FILE."
    )


def _about(batch: TextBatch, row: int) -> str:
    each = batch.inputs[row]
    return f"The text has {each.tokens} tokens and begins {each.text[:_SHOWN_CHARACTERS]!r}."

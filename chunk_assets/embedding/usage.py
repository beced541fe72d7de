"""What an embedder has computed so far."""

from dataclasses import dataclass

from chunk_assets.embedding.embedder import Embedder


@dataclass(frozen=True, slots=True)
class Usage:
    """Counted since an embedder was built; the difference of two is what lies between."""

    tokens: int = 0
    """Tokens of the inputs, prompts and special ones included; of an API, those it charges for."""
    padding_tokens: int = 0
    """Positions that were computed for nothing: padding, and rows that fill up a batch."""
    requests: int = 0
    """Requests that an API answered with vectors."""
    retries: int = 0
    """Requests that had to be sent again."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.tokens + other.tokens,
            self.padding_tokens + other.padding_tokens,
            self.requests + other.requests,
            self.retries + other.retries,
        )

    def __sub__(self, before: "Usage") -> "Usage":
        return Usage(
            self.tokens - before.tokens,
            self.padding_tokens - before.padding_tokens,
            self.requests - before.requests,
            self.retries - before.retries,
        )

    @property
    def padding_share(self) -> float:
        """Padding among everything that was computed, from 0 to 1."""
        computed = self.tokens + self.padding_tokens
        return self.padding_tokens / computed if computed else 0.0


def usage_of(embedder: Embedder) -> Usage:
    """What an embedder has computed; nothing, if it does not count (`usage` is optional)."""
    usage = getattr(embedder, "usage", None)
    return usage if isinstance(usage, Usage) else Usage()


def computed_by(embedder: Embedder) -> str:
    """What computes an embedder's vectors; empty, if it does not say: it is optional."""
    found = getattr(embedder, "computed_by", "")
    return found if isinstance(found, str) else ""

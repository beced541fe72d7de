"""What a prompt leaves of a model's limit."""

from chunk_assets.errors import EmbeddingError


def prompt_room(embedder: str, field: str, *, limit: int, special: int, taken: int) -> int:
    """How many content tokens a text may have beside its prompt.

    Args:
        embedder: its name, for the message.
        field: what the prompt is called in the configuration.
        limit: the longest input, in tokens.
        special: tokens that the model puts around an input.
        taken: tokens of the prompt.

    Raises:
        EmbeddingError: if the prompt leaves no room for text.
    """
    room = limit - special - taken
    if room < 1:
        raise EmbeddingError(
            f"embedder {embedder!r}: its {field} takes {taken} of the model's {limit} tokens and "
            "leaves no room for text: shorten it"
        )
    return room

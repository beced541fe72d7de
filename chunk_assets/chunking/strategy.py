"""A strategy: one chunker with its settings, parsed and fingerprinted."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, get_args

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from chunk_assets.chunking.fixed_overlap import FixedOverlap
from chunk_assets.chunking.hierarchy import Hierarchy
from chunk_assets.chunking.pipeline import STAGES_VERSION
from chunk_assets.chunking.ruler import Unit
from chunk_assets.chunking.sentence_aware import SentenceAware
from chunk_assets.chunking.settings import StrategySettings
from chunk_assets.errors import ConfigurationError
from chunk_assets.lineage.identity import Fingerprint, fingerprint

Strategy = Annotated[
    FixedOverlap | SentenceAware | Hierarchy,  # a chunker is registered here, and nowhere else
    Field(discriminator="chunker"),
]

CHUNKERS: dict[str, type[StrategySettings]] = {
    model.model_fields["chunker"].default: model for model in get_args(get_args(Strategy)[0])
}

_ADAPTER: TypeAdapter[Strategy] = TypeAdapter(Strategy)


def parse_strategy(value: object) -> Strategy:
    """A strategy from a mapping such as `{"chunker": "hierarchy", "max_tokens": 200}`.

    Raises:
        ConfigurationError: naming each wrong key, its value and what is allowed, with the nearest
            valid name for one that is misspelt.
    """
    if isinstance(value, StrategySettings):
        value = value.model_dump(exclude_unset=True) | {"chunker": value.chunker}
    if not isinstance(value, Mapping):
        raise ConfigurationError(
            f"A strategy is a mapping like {{chunker: hierarchy, max_tokens: 200}}, not {value!r}."
        )
    chunker = value.get("chunker")
    if not isinstance(chunker, str) or chunker not in CHUNKERS:
        given = "names no chunker" if chunker is None else f"names no known chunker: {chunker!r}"
        raise ConfigurationError(
            f"The strategy {given}{_nearest(chunker, CHUNKERS)}. Allowed: {', '.join(CHUNKERS)}."
        )
    try:
        return _ADAPTER.validate_python(value)
    except ValidationError as error:
        problems = [_problem(chunker, details) for details in error.errors()]
        raise ConfigurationError(f"Strategy {chunker}: {'; '.join(problems)}.") from error


def strategy_fingerprint(strategy: Strategy, tokenizer: Fingerprint | None) -> Fingerprint:
    """The identity of everything that decides a strategy's chunks, documents apart.

    Args:
        strategy: its resolved settings and its chunker's algorithm version go in.
        tokenizer: goes in if the strategy counts tokens; otherwise it decides nothing.

    Raises:
        ConfigurationError: if the strategy counts tokens and there is no tokenizer.
    """
    counts_tokens = strategy.unit is Unit.TOKENS
    if counts_tokens and tokenizer is None:
        raise ConfigurationError(
            f"Strategy {strategy.chunker} counts tokens (max_tokens is {strategy.maximum}): its "
            "identity needs the fingerprint of the tokenizer that counts them."
        )
    return fingerprint(
        "strategy",
        {
            "settings": strategy.resolved(),
            "algorithm": strategy.VERSION,
            "stages": STAGES_VERSION,
            "tokenizer": tokenizer if counts_tokens else None,
        },
    )


def _problem(chunker: str, details: ErrorDetails) -> str:
    # The location starts with the chunker's name, which the discriminator adds.
    key = ".".join(str(part) for part in details["loc"][1:2])
    if details["type"] == "extra_forbidden":
        return _unknown_key(chunker, key, details["input"])
    if not key:
        return details["msg"].removeprefix("Value error, ")
    return f"{key} is {details['input']!r}: {details['msg'][:1].lower()}{details['msg'][1:]}"


def _unknown_key(chunker: str, key: str, value: object) -> str:
    keys = CHUNKERS[chunker].model_fields
    owners = [name for name, model in CHUNKERS.items() if key in model.model_fields]
    hint = f" (a key of {', '.join(owners)})" if owners else _nearest(key, keys)
    return f"unknown key {key!r} (value {value!r}){hint}; allowed: {', '.join(keys)}"


def _nearest(name: object, allowed: Mapping[str, object]) -> str:
    nearest = get_close_matches(str(name), allowed, n=1)
    return f" (did you mean {nearest[0]!r}?)" if nearest else ""

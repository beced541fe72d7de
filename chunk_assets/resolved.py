"""A configuration with everything filled in that it leaves open; it loads to the same thing."""

from typing import Any

from chunk_assets.chunking.strategy import Strategy
from chunk_assets.config import Configuration
from chunk_assets.corpus import corpora_of


def resolved(configuration: Configuration) -> dict[str, Any]:
    """Every key with its value; secrets stay names of environment variables."""
    shown: dict[str, Any] = configuration.model_dump(mode="json")
    for name, strategy in configuration.strategies.items():
        shown["strategies"][name] = _strategy(strategy)
    for name, corpus in corpora_of(configuration).items():
        shown["corpora"][name] |= {
            "strategies": corpus.strategies,
            "embedders": list(corpus.embedder_configs),
            "serve": corpus.served_index,
        }
    return shown


def _strategy(strategy: Strategy) -> dict[str, Any]:
    shown: dict[str, Any] = strategy.model_dump(mode="json")
    # A strategy has one unit: of the three limits only its own can be written.
    for unit in ("tokens", "words", "characters"):
        del shown[f"max_{unit}"]
    settled = {key: value for key, value in strategy.resolved().items() if key in shown}
    return {"chunker": strategy.chunker, f"max_{strategy.unit}": strategy.maximum} | shown | settled

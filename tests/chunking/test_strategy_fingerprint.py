"""The identity of a strategy."""

import pytest

from chunk_assets.chunking.hierarchy import Hierarchy
from chunk_assets.chunking.pipeline import STAGES_VERSION
from chunk_assets.chunking.strategy import parse_strategy, strategy_fingerprint
from chunk_assets.errors import ConfigurationError
from chunk_assets.lineage.identity import Fingerprint

TOKENIZER = Fingerprint("a tokenizer")


def identity(counts_with: Fingerprint | None = TOKENIZER, /, **values: object) -> Fingerprint:
    return strategy_fingerprint(parse_strategy({"chunker": "hierarchy", **values}), counts_with)


@pytest.mark.parametrize(
    "same",
    [
        {"max_tokens": 200},
        {"overlap": 0.0},
        {"context": ["heading_path"]},
        {"min_section": 25},
        {"description": "The one we serve."},
        {"tokenizer": "minilm"},
    ],
    ids=str,
)
def test_a_default_written_out_and_a_note_change_nothing(same: dict[str, object]) -> None:
    assert identity(**same) == identity()


@pytest.mark.parametrize(
    "other",
    [
        {"max_tokens": 201},
        {"max_words": 200},
        {"overlap": 1},
        {"min_size": 1},
        {"context": []},
        {"context": ["title", "heading_path"]},
        {"min_section": 24},
        {"chunker": "sentence_aware", "context": ["heading_path"]},
    ],
    ids=str,
)
def test_every_setting_that_decides_the_chunks_changes_it(other: dict[str, object]) -> None:
    assert identity(**other) != identity()


def test_another_tokenizer_changes_a_strategy_that_counts_tokens() -> None:
    assert identity(Fingerprint("another")) != identity()


def test_the_tokenizer_changes_no_strategy_that_counts_words() -> None:
    assert identity(None, max_words=9) == identity(TOKENIZER, max_words=9)


def test_counting_tokens_without_a_tokenizer_has_no_identity() -> None:
    with pytest.raises(ConfigurationError, match="fingerprint of the tokenizer"):
        identity(None)


def test_a_new_version_of_the_chunker_changes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = identity()
    monkeypatch.setattr(Hierarchy, "VERSION", Hierarchy.VERSION + 1)

    assert identity() != before


def test_a_new_version_of_the_shared_stages_changes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = identity()
    monkeypatch.setattr("chunk_assets.chunking.strategy.STAGES_VERSION", STAGES_VERSION + 1)

    assert identity() != before

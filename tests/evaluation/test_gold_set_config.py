from pathlib import Path

import pytest
from pydantic import ValidationError

from chunk_assets.evaluation.config import GoldSetConfig


def test_cutoffs_are_put_in_order() -> None:
    assert GoldSetConfig(path=Path("gold.jsonl"), ks=(10, 1, 5)).ks == (1, 5, 10)


@pytest.mark.parametrize("ks", [(), (0,), (1, 1)])
def test_cutoffs_are_positive_distinct_and_at_least_one(ks: tuple[int, ...]) -> None:
    with pytest.raises(ValidationError):
        GoldSetConfig(path=Path("gold.jsonl"), ks=ks)


def test_every_field_has_a_description() -> None:
    assert all(field.description for field in GoldSetConfig.model_fields.values())

import pytest
from pydantic import ValidationError

from chunk_assets.retrieval.bm25 import Bm25Config
from chunk_assets.retrieval.config import RetrievalConfig


def test_the_default_is_hybrid_with_the_published_constant_of_fusion() -> None:
    config = RetrievalConfig()
    assert (config.mode, config.rrf_k) == ("hybrid", 60)


def test_every_setting_has_a_description() -> None:
    for model in (RetrievalConfig, Bm25Config):
        for name, info in model.model_fields.items():
            assert info.description, name


def test_each_setting_is_part_of_the_fingerprint() -> None:
    variants = [
        RetrievalConfig(),
        RetrievalConfig(mode="dense"),
        RetrievalConfig(mode="sparse"),
        RetrievalConfig(candidates=10),
        RetrievalConfig(rrf_k=10),
        RetrievalConfig(bm25=Bm25Config(k=2.0)),
    ]
    assert len({config.fingerprint for config in variants}) == len(variants)


def test_equal_settings_have_equal_fingerprints() -> None:
    assert RetrievalConfig().fingerprint == RetrievalConfig(mode="hybrid").fingerprint


@pytest.mark.parametrize("settings", [{"mode": "best"}, {"candidates": 0}, {"rrf_k": 0}, {"k": 5}])
def test_settings_outside_their_range_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        RetrievalConfig.model_validate(settings)

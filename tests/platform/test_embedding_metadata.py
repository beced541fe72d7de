"""What `embeddings` says of the work: tokens in, tokens computed, padding, cost, and who did it."""

import dagster as dg
import pytest
from small_platform import STRATEGIES, SmallPlatform, guide

pytestmark = pytest.mark.slow


@pytest.fixture
def minilm(small: SmallPlatform) -> SmallPlatform:
    small.strategies = {"hierarchy": STRATEGIES["hierarchy"]}
    small.extra = {"embedders": {"minilm": {"device": "cpu", "price_per_million_tokens": 500}}}
    small.corpus = {"buckets": 1}
    small.write({"pump.md": guide("pump"), "crane.md": guide("crane")})
    return small


def last_metadata(small: SmallPlatform) -> dict[str, object]:
    event = small.instance.get_latest_materialization_event(dg.AssetKey(["guides", "embeddings"]))
    assert event is not None
    assert event.asset_materialization is not None
    return {name: value.value for name, value in event.asset_materialization.metadata.items()}


def test_tokens_padding_and_cost_are_told(minilm: SmallPlatform) -> None:
    assert not minilm.apply().failed
    metadata = last_metadata(minilm)

    special = 2  # around each text
    assert metadata["embedded"] == metadata["texts"] == 6
    assert metadata["computed_tokens"] == metadata["tokens_embedded"] + special * 6  # type: ignore[operator]
    assert metadata["padding_tokens"] == 10  # each text is padded to a multiple of eight
    computed = metadata["computed_tokens"] + 10
    assert metadata["padding_share"] == round(10 / computed, 4)
    assert metadata["cost"] == pytest.approx(metadata["computed_tokens"] * 500 / 1e6)
    assert str(metadata["computed_by"]).startswith("openvino ")


def test_another_backend_or_device_embeds_nothing_again(minilm: SmallPlatform) -> None:
    minilm.apply()
    before = minilm.platform().tables.read("vectors").num_rows
    minilm.extra = {"embedders": {"minilm": {"backend": "torch", "device": "cpu", "threads": 1}}}
    report = minilm.apply()

    assert not report.results
    assert minilm.platform().tables.read("vectors").num_rows == before

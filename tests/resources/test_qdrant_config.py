from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from chunk_assets.errors import ConfigurationError
from resources.qdrant_edge import QdrantEdgeStore
from resources.qdrant_server import QdrantServerStore
from resources.vector_store_config import (
    EmbeddedStore,
    ServerStore,
    VectorStoreConfig,
    build_vector_store,
)

ADAPTER: TypeAdapter[EmbeddedStore | ServerStore] = TypeAdapter(VectorStoreConfig)


def test_without_a_kind_the_store_is_embedded() -> None:
    assert ADAPTER.validate_python({"lock_timeout_s": 5}) == EmbeddedStore(lock_timeout_s=5)


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValidationError, match="'embedded', 'server'"):
        ADAPTER.validate_python({"kind": "memory"})


def test_the_schema_tells_the_kinds_apart_by_name() -> None:
    mapping = ADAPTER.json_schema()["discriminator"]["mapping"]
    assert set(mapping) == {"embedded", "server"}


@pytest.mark.parametrize("model", [EmbeddedStore, ServerStore])
def test_every_setting_has_a_description(model: type[EmbeddedStore | ServerStore]) -> None:
    for name, info in model.model_fields.items():
        assert info.description, name


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"url": "localhost:6333"}, "with scheme"),
        ({"url": "ftp://host"}, "with scheme"),
        ({"url": "http://me:hunter2@host"}, "no user, password or query"),
        ({"url": "http://host?api-key=hunter2"}, "no user, password or query"),
        ({"url": "http://host", "api_key": "hunter2"}, r"given as \$\{NAME\}"),
        ({"url": "https://host", "prefer_grpc": True, "verify": False}, "does not work together"),
    ],
)
def test_a_server_that_cannot_work_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message) as caught:
        ADAPTER.validate_python({"kind": "server", **settings})
    assert "hunter2" not in str(caught.value.errors()[0]["msg"])


def test_the_embedded_store_lies_below_the_storage_folder(tmp_path: Path) -> None:
    store = build_vector_store(EmbeddedStore(), tmp_path)
    store.create("a", 3)
    assert isinstance(store, QdrantEdgeStore)
    assert (tmp_path / "vector_store" / "collections" / "a").is_dir()


def test_an_absolute_folder_is_taken_as_it_is(tmp_path: Path) -> None:
    store = build_vector_store(EmbeddedStore(folder=tmp_path / "here"), tmp_path / "storage")
    store.create("a", 3)
    assert (tmp_path / "here" / "collections" / "a").is_dir()


def test_a_server_is_built_from_the_environment_without_contacting_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_QDRANT", "http://127.0.0.1:9")
    monkeypatch.setenv("TEST_KEY", "secret")
    config = ServerStore(kind="server", url="${TEST_QDRANT}", api_key="${TEST_KEY}")
    assert isinstance(build_vector_store(config, tmp_path), QdrantServerStore)


def test_a_key_whose_variable_is_not_set_names_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TEST_KEY", raising=False)
    config = ServerStore(kind="server", url="http://127.0.0.1:9", api_key="${TEST_KEY}")
    with pytest.raises(ConfigurationError, match="TEST_KEY"):
        build_vector_store(config, tmp_path)


def test_a_url_from_the_environment_is_checked_without_showing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_QDRANT", "http://me:hunter2@host")
    with pytest.raises(ConfigurationError, match=r"vector_store\.url") as caught:
        build_vector_store(ServerStore(kind="server", url="${TEST_QDRANT}"), tmp_path)
    assert "hunter2" not in str(caught.value)

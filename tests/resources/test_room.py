"""What cannot bear a full disk asks for room first."""

from pathlib import Path

import pytest

from chunk_assets.errors import ChunkAssetsError
from resources import qdrant_edge, tables
from resources.qdrant_edge import QdrantEdgeStore
from resources.room import MIB, require_room
from resources.schemas import SHARED_TABLES
from resources.tables import Tables

MORE_THAN_ANY_DISK_HAS = 2**62


def test_where_there_is_room_nothing_is_said(tmp_path: Path) -> None:
    require_room(tmp_path / "not" / "there" / "yet", MIB, "write")


def test_where_there_is_none_both_sizes_are_told(tmp_path: Path) -> None:
    with pytest.raises(ChunkAssetsError, match=r"Cannot write: .* MiB free, and 4,398,046,511,104"):
        require_room(tmp_path, MORE_THAN_ANY_DISK_HAS, "write")


def test_a_collection_is_not_begun_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The engine would end the process: it writes to mapped files without asking.
    store = QdrantEdgeStore(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(qdrant_edge, "_ROOM_BYTES", MORE_THAN_ANY_DISK_HAS)
        with pytest.raises(ChunkAssetsError, match="Cannot create collection 'a'"):
            store.create("a", 3)
    assert store.names() == []
    store.create("a", 3)
    with (
        monkeypatch.context() as patch,
        store.open("a") as collection,
    ):
        patch.setattr(qdrant_edge, "_ROOM_BYTES", MORE_THAN_ANY_DISK_HAS)
        assert collection.count() == 0, "what is there can be read"
        with pytest.raises(ChunkAssetsError, match="Cannot build the index of 'a'"):
            collection.finish()


def test_a_table_is_not_begun_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_ROOM_BYTES", MORE_THAN_ANY_DISK_HAS)
    with pytest.raises(ChunkAssetsError, match="Cannot write table 'runs'"):
        Tables(tmp_path).append("runs", SHARED_TABLES["runs"].empty_table())
    assert list(tmp_path.iterdir()) == []

"""The platform's own files are no documents, wherever they lie."""

from pathlib import Path

from small_platform import SmallPlatform


def uris(small: SmallPlatform) -> list[str]:
    return [item.uri for item in small.platform().source("guides").list_items()]


def test_storage_below_the_root_is_not_read(small: SmallPlatform) -> None:
    small.extra = {"storage": "docs/my store [1]"}
    small.write({"pump.md": "A pump.", "my store [1]/tables/part.parquet": "no document"})
    assert uris(small) == ["pump.md"]


def test_a_configuration_of_any_name_is_not_read(small: SmallPlatform, tmp_path: Path) -> None:
    small.corpus = {"source": {"kind": "files", "root": "."}}
    small.write({"pump.md": "A pump."})
    assert uris(small) == ["docs/pump.md"]

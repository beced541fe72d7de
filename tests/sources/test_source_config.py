"""The `source:` part of a corpus."""

from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from chunk_assets.errors import ConfigurationError
from chunk_assets.sources.config import (
    FilesConfig,
    PackageDocsConfig,
    SourceConfig,
    build_source,
)
from chunk_assets.sources.files import FilesSource
from chunk_assets.sources.package_docs import PackageDocsSource

adapter: TypeAdapter[FilesConfig | PackageDocsConfig] = TypeAdapter(SourceConfig)


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({"kind": "files", "root": "docs"}, FilesSource),
        ({"kind": "package_docs"}, PackageDocsSource),
    ],
)
def test_the_kind_decides_which_source_is_built(settings: dict[str, str], kind: type) -> None:
    assert isinstance(build_source(adapter.validate_python(settings), Path()), kind)


@pytest.mark.parametrize(
    "settings",
    [
        {"root": "docs"},
        {"kind": "folder", "root": "docs"},
        {"kind": "files"},
        {"kind": "files", "root": "docs", "includes": ["*.md"]},
        {"kind": "files", "root": "docs", "max_bytes": 0},
        {"kind": "package_docs", "root": "docs"},
        {"kind": "package_docs", "min_characters": 0},
    ],
)
def test_what_is_missing_unknown_or_impossible_is_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        adapter.validate_python(settings)


def test_a_root_that_names_an_unset_variable_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_SET", raising=False)
    with pytest.raises(ConfigurationError, match="NOT_SET"):
        build_source(FilesConfig(kind="files", root="${NOT_SET}/docs"), Path())


@pytest.mark.parametrize("model", [FilesConfig, PackageDocsConfig])
def test_every_setting_is_described(model: type[FilesConfig] | type[PackageDocsConfig]) -> None:
    assert [name for name, field in model.model_fields.items() if not field.description] == []

"""Documents that others wrote."""

from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.metadata import parse_email
from parsing_checks import heading_faults, parsed, tiling_faults

from chunk_assets.errors import ParseError
from chunk_assets.parsing.document import BlockKind
from chunk_assets.parsing.parse import ParsedDocument


def faults(result: ParsedDocument, raw: bytes) -> list[str]:
    document = result.document
    found = tiling_faults(document.text, document.blocks)
    found += heading_faults(document.text, document.blocks)
    found += [warning for warning in result.warnings if "failed" in warning]
    spans = [(block.start, block.end) for block in document.blocks]
    for (start, end), (raw_start, raw_end) in zip(
        spans, result.byte_spans(raw, spans), strict=True
    ):
        origin = raw[raw_start:raw_end].decode(result.encoding).replace("\r\n", "\n")
        if origin != document.text[start:end]:
            found.append(f"bytes {raw_start}:{raw_end} are not block {start}:{end}")
    return found


def descriptions() -> Iterator[tuple[str, bytes]]:
    """Of every installed package, whatever it is for."""
    extensions = {"text/markdown": "md", "text/x-rst": "rst", "text/plain": "txt"}
    for found in distributions():
        metadata = parse_email(found.read_text("METADATA") or "")[0]
        content_type = metadata.get("description_content_type", "text/x-rst").partition(";")[0]
        name = f"{metadata.get('name')}.{extensions[content_type.strip()]}"
        yield name, metadata.get("description", "").encode()


def test_the_description_of_every_installed_package_is_tiled() -> None:
    results = {name: faults(parsed(raw, name), raw) for name, raw in descriptions()}
    assert len(results) > 60
    assert {name: found for name, found in results.items() if found} == {}


def test_every_markdown_file_of_a_documentation_site_is_tiled(shared_data: Path) -> None:
    paths = sorted((shared_data / "anthropic_docs" / "docs").rglob("*.md"))
    results = {path.name: faults(parsed(path.read_bytes()), path.read_bytes()) for path in paths}
    assert len(results) > 40
    assert {name: found for name, found in results.items() if found} == {}


def test_every_text_and_markdown_file_of_a_collection_of_odd_files_is_tiled(
    shared_data: Path,
) -> None:
    paths = [path for kind in ("md", "txt") for path in (shared_data / "files" / kind).iterdir()]
    results = {
        path.name: faults(parsed(path.read_bytes(), path.name), path.read_bytes())
        for path in sorted(paths)
    }
    assert len(results) > 5
    assert {name: found for name, found in results.items() if found} == {}


def test_every_other_odd_file_is_refused_by_name_or_read_as_text(shared_data: Path) -> None:
    refused = 0
    for path in sorted((shared_data / "files").rglob("*.*")):
        if path.is_file() and path.suffix not in (".md", ".txt"):
            with pytest.raises(ParseError, match="format not supported"):
                parsed(path.read_bytes(), path.name)
            refused += 1
    assert refused > 40


def test_a_documentation_site_has_headings_code_and_lists(shared_data: Path) -> None:
    folder = shared_data / "anthropic_docs" / "docs"
    kinds = {
        block.kind
        for path in sorted(folder.rglob("*.md"))
        for block in parsed(path.read_bytes()).document.blocks
    }
    assert {BlockKind.HEADING, BlockKind.CODE, BlockKind.LIST_ITEM, BlockKind.PARAGRAPH} <= kinds

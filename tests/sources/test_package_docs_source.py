"""The descriptions of installed packages."""

from pathlib import Path

import pytest

from chunk_assets.errors import SourceError
from chunk_assets.parsing.parse import parse
from chunk_assets.sources.config import PackageDocsConfig, build_source
from chunk_assets.sources.package_docs import PackageDocsSource


def install(
    folder: Path,
    name: str,
    *headers: str,
    requires: tuple[str, ...] = (),
    description: str = "A description of some length.\n",
    version: str = "1.0",
) -> None:
    """Write what an installer leaves of a package."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(exist_ok=True)
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *headers]
    lines += [f"Requires-Dist: {requirement}" for requirement in requires]
    (info / "METADATA").write_text("\n".join(lines) + f"\n\n{description}", encoding="utf-8")


MARKDOWN = "Description-Content-Type: text/markdown; charset=UTF-8; variant=GFM"
RST = "Description-Content-Type: text/x-rst"


def source(folder: Path, **options: object) -> PackageDocsSource:
    return PackageDocsSource("app", search_path=[str(folder)], **options)  # type: ignore[arg-type]


def uris(folder: Path, **options: object) -> list[str]:
    return [item.uri for item in source(folder, **options).list_items()]


def test_requirements_of_requirements_are_listed_and_nothing_else(tmp_path: Path) -> None:
    install(tmp_path, "app", requires=("web>=1",))
    install(tmp_path, "web", MARKDOWN, requires=("Core_Lib",))
    install(tmp_path, "core-lib", RST)
    install(tmp_path, "unrelated", MARKDOWN)
    assert uris(tmp_path) == ["core-lib.rst", "web.md"]


def test_requirements_in_a_circle_end(tmp_path: Path) -> None:
    install(tmp_path, "app", MARKDOWN, requires=("web",))
    install(tmp_path, "web", MARKDOWN, requires=("app", "web"))
    assert uris(tmp_path) == ["web.md"]


def test_only_requirements_for_this_platform_and_without_extras_count(tmp_path: Path) -> None:
    install(
        tmp_path,
        "app",
        requires=(
            "yes; python_version >= '3'",
            "no; python_version < '3'",
            "extra; extra == 'dev'",
            "web[fast]",
        ),
    )
    for name in ("yes", "no", "extra", "speedup", "slow"):
        install(tmp_path, name, MARKDOWN)
    install(
        tmp_path,
        "web",
        MARKDOWN,
        requires=("speedup; extra == 'fast'", "slow; extra == 'slow'"),
    )
    assert uris(tmp_path) == ["speedup.md", "web.md", "yes.md"]


@pytest.mark.parametrize(
    ("headers", "uri", "format_"),
    [
        ((MARKDOWN,), "web.md", "markdown"),
        ((RST,), "web.rst", "restructuredtext"),
        (("Description-Content-Type: text/plain",), "web.txt", "text"),
        ((), "web.txt", "restructuredtext"),
        (("Description-Content-Type: text/unheard-of",), "web.txt", "text"),
    ],
)
def test_the_declared_type_gives_extension_and_format(
    headers: tuple[str, ...], uri: str, format_: str, tmp_path: Path
) -> None:
    install(tmp_path, "app", requires=("web",))
    install(tmp_path, "web", *headers)
    (item,) = source(tmp_path).list_items()
    assert (item.uri, item.format) == (uri, format_)


def test_an_update_is_a_change_of_the_same_document(tmp_path: Path) -> None:
    install(tmp_path, "app", requires=("web",))
    install(tmp_path, "web", MARKDOWN, version="1.0")
    (before,) = source(tmp_path).list_items()
    (tmp_path / "web-1.0.dist-info" / "METADATA").unlink()
    (tmp_path / "web-1.0.dist-info").rmdir()
    install(tmp_path, "web", MARKDOWN, version="2.0")
    (after,) = source(tmp_path).list_items()
    assert before.uri == after.uri
    assert before.signature != after.signature
    assert after.metadata["version"] == "2.0"


def test_a_reinstalled_package_has_the_same_signature(tmp_path: Path) -> None:
    install(tmp_path, "app", requires=("web",))
    install(tmp_path, "web", MARKDOWN)
    before = source(tmp_path).list_items()
    install(tmp_path, "web", MARKDOWN)
    assert source(tmp_path).list_items() == before


def test_facts_about_the_package_are_metadata(tmp_path: Path) -> None:
    install(tmp_path, "app", requires=("web",))
    install(
        tmp_path,
        "web",
        "Summary: Serves pages",
        "License: MIT",
        "Project-URL: Homepage, https://example.org",
        MARKDOWN,
    )
    (item,) = source(tmp_path).list_items()
    assert item.title == "web"
    assert item.metadata == {
        "version": "1.0",
        "summary": "Serves pages",
        "license": "MIT",
        "home_page": "https://example.org",
    }


def test_the_description_is_read_as_it_is(tmp_path: Path) -> None:
    text = "# Wéb\n\nFrom: not a header\n\n    code\n"
    install(tmp_path, "app", requires=("web",))
    install(tmp_path, "web", MARKDOWN, description=text)
    (item,) = source(tmp_path).list_items()
    raw = source(tmp_path).read("web.md")
    assert raw.decode() == text
    assert item.size == len(raw)


@pytest.mark.parametrize("description", ["", "UNKNOWN\n", "\n\n"])
def test_a_package_without_a_description_is_no_document(description: str, tmp_path: Path) -> None:
    install(tmp_path, "app", requires=("web",))
    install(tmp_path, "web", description=description)
    assert uris(tmp_path) == []


def test_short_descriptions_and_excluded_names_are_left_out(tmp_path: Path) -> None:
    install(tmp_path, "app", requires=("web", "short", "Not.Wanted"))
    install(tmp_path, "web", MARKDOWN, description="x" * 100)
    install(tmp_path, "short", MARKDOWN, description="x" * 99)
    install(tmp_path, "Not.Wanted", MARKDOWN, description="x" * 100)
    assert uris(tmp_path, min_characters=100, exclude=["not_wanted"]) == ["web.md"]


def test_what_an_excluded_package_needs_stays(tmp_path: Path) -> None:
    install(tmp_path, "app", requires=("web",))
    install(tmp_path, "web", MARKDOWN, requires=("core",))
    install(tmp_path, "core", MARKDOWN)
    assert uris(tmp_path, exclude=["web"]) == ["core.md"]


def test_a_requirement_that_is_not_installed_is_a_problem(tmp_path: Path) -> None:
    install(tmp_path, "app", requires=("web",))
    (item,) = source(tmp_path).list_items()
    assert item.problem == "web is required but not installed; install it or exclude it"


def test_metadata_that_is_no_utf_8_is_a_problem_of_its_package_alone(tmp_path: Path) -> None:
    install(tmp_path, "app", requires=("web", "core"))
    install(tmp_path, "web", MARKDOWN)
    install(tmp_path, "core", MARKDOWN)
    path = tmp_path / "web-1.0.dist-info" / "METADATA"
    path.write_bytes(path.read_bytes() + b"\xff")
    core, web = source(tmp_path).list_items()
    assert core.problem is None
    assert "not UTF-8" in (web.problem or "")


def test_an_unknown_distribution_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"'app' is not installed .* correct `source\.of`"):
        source(tmp_path).list_items()


@pytest.mark.parametrize("uri", ["gone.md", "web.rst", "web", "../web.md"])
def test_what_is_not_listed_cannot_be_read(uri: str, tmp_path: Path) -> None:
    install(tmp_path, "app", requires=("web",))
    install(tmp_path, "web", MARKDOWN)
    with pytest.raises(SourceError, match=r"web\.md|gone\.md|web\.rst|web:"):
        source(tmp_path).read(uri)


def test_this_project_s_own_requirements_are_at_least_sixty_readable_documents() -> None:
    built = build_source(PackageDocsConfig(kind="package_docs"), Path())
    items = built.list_items()
    assert len(items) >= 60
    assert [item.problem for item in items if item.problem] == []
    documents = [parse(built.read(i.uri), corpus="c", item=i).document for i in items]
    assert all(document.blocks for document in documents)
    headed = [d for d in documents if any(block.heading_path for block in d.blocks)]
    assert len(headed) > 0.9 * len(documents)


def test_the_first_of_two_installed_versions_counts(tmp_path: Path) -> None:
    for folder, version in (("first", "1.0"), ("second", "2.0")):
        (tmp_path / folder).mkdir()
        install(tmp_path / folder, "web", MARKDOWN, version=version)
    install(tmp_path / "first", "app", requires=("web",))
    path = [str(tmp_path / "first"), str(tmp_path / "second")]
    (item,) = PackageDocsSource("app", search_path=path).list_items()
    assert item.metadata["version"] == "1.0"

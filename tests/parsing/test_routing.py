"""Which parser an item gets."""

import pytest

from chunk_assets.errors import ParseError
from chunk_assets.parsing.route import route


@pytest.mark.parametrize(
    ("uri", "format_"),
    [
        ("a/guide.md", "markdown"),
        ("GUIDE.MD", "markdown"),
        ("guide.markdown", "markdown"),
        ("guide.rst", "restructuredtext"),
        ("notes.txt", "text"),
        ("folder.md/README", "text"),
        ("LICENSE", "text"),
    ],
)
def test_the_name_tells_the_format(uri: str, format_: str) -> None:
    assert route(uri, b"x").format == format_


def test_the_reason_names_what_decided() -> None:
    assert "ends in .md" in route("a.md", b"x").reason
    assert "known to its source" in route("a.md", b"x", known="text").reason
    assert "'*.md'" in route("a.md", b"x", pinned={"*.md": "text"}).reason
    assert "text/plain" in route("a.md", b"x", content_type="text/plain").reason


def test_a_pin_goes_before_everything_else() -> None:
    found = route("a.pdf", b"%PDF-1.7", pinned={"*.pdf": "text"}, known="markdown")
    assert found.format == "text"


def test_the_first_pin_that_matches_counts() -> None:
    pins = {"/docs/*.txt": "markdown", "*.txt": "restructuredtext"}
    assert route("docs/a.txt", b"", pinned=pins).format == "markdown"  # type: ignore[arg-type]
    assert route("b/a.txt", b"", pinned=pins).format == "restructuredtext"  # type: ignore[arg-type]


def test_what_the_source_knows_goes_before_the_name() -> None:
    assert route("certifi.txt", b"x", known="restructuredtext").format == "restructuredtext"


def test_a_content_type_goes_before_the_name() -> None:
    found = route("page", b"x", content_type="Text/Markdown; charset=utf-8")
    assert found.format == "markdown"


def test_a_content_type_that_says_nothing_leaves_it_to_the_name() -> None:
    assert route("a.md", b"x", content_type="application/octet-stream").format == "markdown"


@pytest.mark.parametrize(
    ("uri", "raw", "named"),
    [
        ("report.pdf", b"%PDF-1.7", "PDF"),
        ("disguised.md", b"%PDF-1.7", "PDF"),
        ("letter.docx", b"PK\x03\x04...", "DOCX"),
        ("photo", b"\x89PNG\r\n\x1a\n", "PNG"),
        ("letter.rtf", b"{\\rtf1", "RTF"),
        ("page.html", b"<html>", ".html"),
        ("data.json", b"{}", ".json"),
        ("data.csv", b"a,b", ".csv"),
        ("main.py", b"x = 1", ".py"),
    ],
)
def test_an_unsupported_format_is_named_with_what_is_supported(
    uri: str, raw: bytes, named: str
) -> None:
    with pytest.raises(ParseError) as refused:
        route(uri, raw)
    message = str(refused.value)
    assert named in message
    assert "markdown, restructuredtext, text" in message
    assert "source.exclude" in message


def test_a_format_that_only_the_source_knows_is_refused_by_name() -> None:
    with pytest.raises(ParseError, match="says that it is asciidoc"):
        route("a", b"x", known="asciidoc")


def test_an_unsupported_content_type_is_refused_by_name() -> None:
    with pytest.raises(ParseError, match="text/html"):
        route("a", b"x", content_type="text/html")

"""File names as URIs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunk_assets.sources.file_names import path_of, uri_of


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        (b"a/guide.md", "a/guide.md"),
        ("Übung ä 猫 ?#&.md".encode(), "Übung ä 猫 ?#&.md"),
        (b"100%.md", "100%.md"),
        (b"caf\xe9.md", "caf%E9.md"),
        (b"caf%E9.md", "caf%25E9.md"),
        (b"%\xff", "%%FF"),
        (b"two\nlines", "two\nlines"),
    ],
)
def test_names_stay_readable_and_lead_back(path: bytes, uri: str) -> None:
    assert uri_of(path) == uri
    assert path_of(uri) == path


@given(st.binary() | st.text("%25EFaf\xe9/").map(str.encode))
def test_every_name_is_storable_text_that_leads_back(path: bytes) -> None:
    uri = uri_of(path)
    uri.encode("utf-8")
    assert path_of(uri) == path

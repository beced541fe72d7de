"""Identity is content: what decides it, what does not, and that it stays what it is."""

import json
import subprocess
import sys
import uuid
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunk_assets.lineage.identity import (
    Fingerprint,
    Json,
    canonical_json,
    chunk_id,
    content_hash,
    data_version,
    document_id,
    fingerprint,
    text_hash,
    vector_key,
)

# Surrogates included: a broken file name or document must have an identity as well.
TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=20)
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
JSON = st.recursive(
    LEAVES | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
DOCUMENT = document_id("handbook", "guide.md")


def chunk(**changes: object) -> str:
    values = {"document": DOCUMENT, "level": 0, "text": "t", "embed_text": "e", "occurrence": 0}
    return chunk_id(**(values | changes))  # type: ignore[arg-type]


@given(value=JSON)
def test_equal_values_have_equal_fingerprints_whatever_the_order_of_their_keys(value: Json) -> None:
    def reordered(value: Json) -> Json:
        if isinstance(value, dict):
            return {key: reordered(value[key]) for key in reversed(value)}
        return [reordered(item) for item in value] if isinstance(value, list) else value

    assert fingerprint("kind", value) == fingerprint("kind", reordered(value))


@given(first=JSON, second=JSON)
def test_different_values_have_different_fingerprints(first: Json, second: Json) -> None:
    same = fingerprint("kind", first) == fingerprint("kind", second)
    assert same == (canonical_json(first) == canonical_json(second))


@given(value=JSON)
def test_canonical_json_is_read_back_as_the_value(value: Json) -> None:
    assert json.loads(canonical_json(value)) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")]])
def test_a_number_that_is_none_has_no_fingerprint(value: Json) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        fingerprint("kind", value)


@given(value=JSON)
def test_equal_values_of_two_kinds_never_share_an_identity(value: Json) -> None:
    assert fingerprint("strategy", value) != fingerprint("embedder", value)


@given(text=TEXT)
def test_the_same_text_as_bytes_and_as_text_are_two_things(text: str) -> None:
    assert content_hash(text.encode("utf-8", "surrogatepass")) != text_hash(text)


@given(uri=TEXT, corpus=st.sampled_from(["handbook", "manual"]))
def test_a_document_id_is_a_uuid_of_corpus_and_uri(uri: str, corpus: str) -> None:
    try:
        uri.encode()
    except UnicodeEncodeError:
        return  # sources never give such a URI: they percent-encode it
    identity = uuid.UUID(document_id(corpus, uri))
    assert identity.version == 5
    assert document_id(corpus, uri) == str(identity)
    assert document_id(corpus, uri) != document_id(corpus + "s", uri)


def test_files_of_one_name_in_two_folders_are_two_documents() -> None:
    assert document_id("c", "a/readme.md") != document_id("c", "b/readme.md")


@pytest.mark.parametrize(
    "changes",
    [
        {"document": document_id("handbook", "other.md")},
        {"level": 1},
        {"text": "u"},
        {"embed_text": "f"},
        {"occurrence": 1},
        # What one value ends with and the next begins with is not the same thing.
        {"text": "te", "embed_text": ""},
        {"text": "", "embed_text": "te"},
        {"level": 10, "text": "", "embed_text": "te"},
    ],
)
def test_everything_that_a_chunk_is_decides_its_id(changes: dict[str, object]) -> None:
    assert chunk(**changes) != chunk()


@given(text=TEXT, embed_text=TEXT, occurrence=st.integers(0, 1000))
def test_a_chunk_id_is_a_uuid_that_depends_on_nothing_else(
    text: str, embed_text: str, occurrence: int
) -> None:
    identity = chunk(text=text, embed_text=embed_text, occurrence=occurrence)
    assert str(uuid.UUID(identity)) == identity
    assert identity == chunk(text=text, embed_text=embed_text, occurrence=occurrence)


@given(text=TEXT, other=TEXT)
def test_a_vector_is_its_model_and_its_text(text: str, other: str) -> None:
    model, second = Fingerprint("a" * 32), Fingerprint("b" * 32)
    assert vector_key(model, text) != vector_key(second, text)
    assert (vector_key(model, text) == vector_key(model, other)) == (text == other)


@given(rows=st.lists(st.lists(LEAVES | TEXT, max_size=3), max_size=6), data=st.data())
def test_the_order_of_rows_does_not_decide_a_data_version(
    rows: list[list[Json]], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(rows))
    assert data_version("chunks", rows) == data_version("chunks", shuffled)


@given(rows=st.lists(st.lists(LEAVES, max_size=3), min_size=1, max_size=6))
def test_a_row_more_or_twice_is_another_data_version(rows: list[list[Json]]) -> None:
    assert data_version("chunks", rows) != data_version("chunks", rows[1:])
    assert data_version("chunks", rows) != data_version("chunks", [*rows, rows[0]])


def test_rows_are_not_joined_across_their_ends() -> None:
    assert data_version("c", [["a", "b"]]) != data_version("c", [["a"], ["b"]])
    assert data_version("c", [["ab"]]) != data_version("c", [["a", "b"]])


@pytest.mark.parametrize(
    ("identity", "known"),
    [
        (lambda: document_id("handbook", "guide.md"), "ec1b38be-8d6c-5ff9-8c15-143127a4b538"),
        (lambda: content_hash(b"bytes"), "fe85ea5eb08eb1fec4665923a4e3131b"),
        (lambda: text_hash("text äß"), "d37159ca8ab359d2f030de8bee38ff4c"),
        (
            lambda: fingerprint("strategy", {"max_tokens": 200, "b": None}),
            "509bb882f17ecc8c908f73e6142dea7b",
        ),
        (lambda: chunk(), "8488f20c-a645-7350-5e4b-33a86dc605e8"),
        (lambda: vector_key(Fingerprint("a" * 32), "text"), "e0d3f2a0631a5757fbe2460c0f215cb3"),
        (
            lambda: data_version("chunks", [["a", 1], ["b", None]]),
            "fe19f7bf74a14c08c50d23035ead4ed0",
        ),
    ],
    ids=["document", "content", "text", "fingerprint", "chunk", "vector", "data version"],
)
def test_identities_are_those_of_corpora_that_were_built_before(
    identity: Callable[[], str], known: str
) -> None:
    # A change here makes what was built before unreachable: only with a migration.
    assert identity() == known


def test_identities_do_not_depend_on_the_process() -> None:
    program = (
        "from chunk_assets.lineage.identity import fingerprint, document_id;"
        "print(fingerprint('k', {'b': [1], 'a': {'d': 1, 'c': 2}}), document_id('c', 'ü.md'))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    here = fingerprint("k", {"a": {"c": 2, "d": 1}, "b": [1]}), document_id("c", "ü.md")
    assert outputs == {f"{here[0]} {here[1]}\n"}

import json
from pathlib import Path

import pytest

from chunk_assets.errors import GoldError
from chunk_assets.evaluation.config import Scope
from chunk_assets.evaluation.gold import (
    GoldDocument,
    GoldQuery,
    GoldQuote,
    GoldSpan,
    load_gold,
    parse_gold,
)


def parse(*records: object, scope: Scope = "corpus") -> tuple[GoldQuery, ...]:
    return parse_gold("\n".join(json.dumps(record) for record in records), "gold.jsonl", scope)


def record(**changes: object) -> dict[str, object]:
    return {"query_id": "q1", "query": "When?", "quotes": ["at eight"], **changes}


def error_of(*records: object, scope: Scope = "corpus") -> str:
    with pytest.raises(GoldError) as caught:
        parse(*records, scope=scope)
    return str(caught.value)


def test_every_kind_of_evidence_is_read_in_the_order_spans_quotes_alternatives() -> None:
    (query,) = parse(
        {
            "query_id": "q1",
            "query": "When?",
            "doc_id": "a.md",
            "documents": ["b.md", {"doc_id": "c.md", "relevance": 2}],
            "alternatives": [["or this", {"doc_id": "d.md", "start": 5, "end": 9}]],
            "quotes": ["at eight", {"quote": "at nine", "doc_id": "e.md", "relevance": 3}],
            "spans": [{"doc_id": "a.md", "start": 0, "end": 4, "text": "open"}],
        }
    )

    assert query.evidence == (
        (GoldSpan(doc_id="a.md", start=0, end=4, text="open"),),
        (GoldQuote(quote="at eight"),),
        (GoldQuote(quote="at nine", doc_id="e.md", relevance=3),),
        (GoldQuote(quote="or this"), GoldSpan(doc_id="d.md", start=5, end=9)),
    )
    assert query.documents == (
        GoldDocument(doc_id="b.md"),
        GoldDocument(doc_id="c.md", relevance=2),
    )


def test_further_keys_of_a_record_are_kept() -> None:
    (query,) = parse(record(answer="eight", level=2))

    assert query.extras == {"answer": "eight", "level": 2}


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        *((key, "spans") for key in ("span", "Spans", "SPANS", "spnas", "spans ", "sp-ans")),
        *((key, "doc_id") for key in ("docId", "DocID", "doc-id", "doc id", "docid")),
        *((key, "alternatives") for key in ("alternative", "Alternatives", "altenatives")),
        *((key, "documents") for key in ("document", "Documents")),
        ("QUOTES", "quotes"),
    ],
)
def test_a_key_that_looks_like_a_known_one_is_never_taken_for_a_key_of_your_own(
    key: str, meant: str
) -> None:
    # Beside other evidence it would be lost in silence, and the question judged by half of it.
    message = error_of(record(**{key: [{"doc_id": "a.md", "start": 0, "end": 4}]}))
    assert f"there is no key `{key}`; did you mean `{meant}`?" in message


@pytest.mark.parametrize("key", ["author", "answer", "level", "notes", "source", "id", "tags"])
def test_a_key_of_your_own_is_taken_as_such(key: str) -> None:
    (query,) = parse(record(**{key: "mine"}))
    assert query.extras == {key: "mine"}


def test_blank_lines_are_ignored_and_the_order_of_lines_is_kept() -> None:
    content = "\n" + json.dumps(record(query_id="b")) + "\n\n" + json.dumps(record(query_id="a"))

    assert [query.query_id for query in parse_gold(content, "gold.jsonl")] == ["b", "a"]


def test_a_line_separator_inside_a_string_does_not_end_the_line() -> None:
    content = json.dumps(record(query="one\u2028two"), ensure_ascii=False)

    assert parse_gold(content, "gold.jsonl")[0].query == "one\u2028two"


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (record(query=" \n"), ["key `query`", "not be blank", '" \\n"']),
        (record(query_id=7), ["key `query_id`", "valid string", "Found: 7"]),
        (record(quotes="at eight"), ["key `quotes`", "valid list", '"at eight"']),
        (record(quotes=["at eight", ""]), ["key `quotes[1].quote`", "not be blank"]),
        (record(quotes=[3]), ["key `quotes[0]`", "an object", "Found: 3"]),
        (
            record(quotes=[{"quote": "x", "relevance": 0}]),
            ["key `quotes[0].relevance`", "greater than or equal to 1", "Found: 0"],
        ),
        (
            record(quotes=[{"quote": "x", "relevance": True}]),
            ["key `quotes[0].relevance`", "valid integer", "Found: true"],
        ),
        (
            record(spans=[{"doc_id": "a.md", "start": 4, "end": 4}]),
            ["key `spans[0]`", "end after it starts"],
        ),
        (
            record(spans=[{"doc_id": "a.md", "start": -1, "end": 4}]),
            ["key `spans[0].start`", "Found: -1"],
        ),
        (
            record(spans=[{"doc_id": "a.md", "start": 0, "end": 4, "text": "  "}]),
            ["key `spans[0]`", "not be blank"],
        ),
        (
            record(alternatives=[["x", {"doc_id": "a.md", "start": 3}]]),
            ["key `alternatives[0][1].end` is missing"],
        ),
        (record(alternatives=[[]]), ["key `alternatives[0]`", "at least 1"]),
        (record(documents=[{}]), ["key `documents[0].doc_id` is missing"]),
        (record(quotes=[{"quote": "x", "relevence": 2}]), ["`relevence`", "did you mean"]),
        (record(quote="at nine"), ["the record", "no key `quote`", "did you mean `quotes`"]),
        ({"query_id": "q1", "query": "When?"}, ["'q1' has no evidence", "`alternatives`"]),
        (
            {"query_id": "q1", "query": "When?", "spans": [{"start": 0, "end": 4}]},
            ["[0, 4)", "has no `doc_id`"],
        ),
        (["q1"], ["expected an object", '["q1"]']),
    ],
)
def test_a_mistake_is_named_with_line_key_value_and_what_was_expected(
    wrong: object, expected: list[str]
) -> None:
    message = error_of(record(query_id="q0"), wrong)

    assert message.startswith("gold.jsonl, line 2: ")
    for part in expected:
        assert part in message


def test_a_line_that_is_not_json_is_named() -> None:
    with pytest.raises(GoldError, match=r"gold\.jsonl, line 2: this is not JSON"):
        parse_gold(json.dumps(record()) + "\n{'query_id': 'q2'}", "gold.jsonl")


def test_a_repeated_query_id_is_an_error_that_names_both_lines() -> None:
    message = error_of(record(), record(query_id="q2"), record())

    assert "line 3" in message
    assert "'q1' already stands in line 1" in message


def test_a_set_without_questions_is_an_error() -> None:
    with pytest.raises(GoldError, match="no question"):
        parse_gold("\n \n", "gold.jsonl")


def test_document_scope_needs_a_document_for_every_query() -> None:
    assert "has no `doc_id`" in error_of(record(), scope="document")


def test_document_scope_refuses_evidence_in_another_document() -> None:
    message = error_of(
        record(doc_id="a.md", quotes=[{"quote": "x", "doc_id": "b.md"}]), scope="document"
    )

    assert "'a.md'" in message
    assert "'b.md'" in message


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(GoldError, match=r"nowhere\.jsonl: the gold set cannot be read"):
        load_gold(tmp_path / "nowhere.jsonl")


def test_a_file_that_is_not_utf8_is_an_error_that_names_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_bytes(b'{"query": "caf\xe9"}')

    with pytest.raises(GoldError, match="byte 14 is not UTF-8"):
        load_gold(path)


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps(record()), encoding="utf-8-sig")

    assert load_gold(path)[0].query_id == "q1"

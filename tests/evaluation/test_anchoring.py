import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunk_assets.errors import GoldError
from chunk_assets.evaluation.anchor import Anchoring, Place, anchor
from chunk_assets.evaluation.find_text import SearchableText
from chunk_assets.evaluation.gold import (
    GoldDocument,
    GoldPlace,
    GoldQuery,
    GoldQuote,
    GoldSpan,
    load_gold,
)

TEXT = "The office opens at 8.\nIt’s closed — mostly — on\n  Sundays. The office is red."


def anchored(
    *places: GoldPlace, texts: dict[str, str] | None = None, fold_typography: bool = True
) -> Anchoring:
    query = GoldQuery("q1", "When?", "a.md", tuple((place,) for place in places))
    return anchor([query], texts or {"a.md": TEXT}, fold_typography=fold_typography)


def only_places(anchoring: Anchoring) -> tuple[Place, ...]:
    assert not anchoring.unanchored
    ((places,),) = (query.evidence for query in anchoring.queries)
    return places


def kinds(anchoring: Anchoring) -> list[str]:
    return [remark.kind for remark in anchoring.remarks]


def words(anchoring: Anchoring, text: str = TEXT) -> list[str]:
    return [text[place.start : place.end] for place in only_places(anchoring)]


def test_a_quote_is_found_exactly() -> None:
    found = anchored(GoldQuote(quote="opens at 8.", relevance=2))

    assert only_places(found) == (Place("a.md", 11, 22, 2),)
    assert kinds(found) == []


def test_a_quote_is_found_whatever_its_whitespace() -> None:
    found = anchored(GoldQuote(quote=" on Sundays.\t\n The "))

    assert words(found) == ["on\n  Sundays. The"]
    assert kinds(found) == ["whitespace"]


def test_a_quote_is_found_whatever_its_quotation_marks_and_dashes() -> None:
    found = anchored(GoldQuote(quote="It's closed - mostly"))

    assert words(found) == ["It’s closed — mostly"]
    assert kinds(found) == ["typography"]


def test_typography_counts_where_the_set_says_so() -> None:
    found = anchored(GoldQuote(quote="It's closed"), fold_typography=False)

    assert not found.queries
    assert "fold_typography" in found.unanchored[0].reason


def test_an_exact_match_is_preferred_to_a_tolerant_one() -> None:
    found = anchored(GoldQuote(quote="a b"), texts={"a.md": "a  b, a b"})

    assert only_places(found) == (Place("a.md", 6, 9),)


def test_all_copies_of_a_text_are_places_of_one_piece_of_evidence() -> None:
    found = anchored(GoldQuote(quote="The office"))

    assert words(found) == ["The office", "The office"]
    assert kinds(found) == ["ambiguous"]


def test_alternatives_are_places_of_one_piece_of_evidence() -> None:
    piece = (GoldQuote(quote="opens at 8"), GoldQuote(quote="is red"))
    found = anchor([GoldQuery("q1", "When?", "a.md", (piece,))], {"a.md": TEXT})

    assert words(found) == ["opens at 8", "is red"]


def test_a_quote_without_document_is_found_in_every_document_that_has_it() -> None:
    query = GoldQuery("q1", "When?", None, ((GoldQuote(quote="r opens at noo"),),))
    texts = {
        "a.md": "Our bar opens at noon.",
        "b.md": "A door opens at\nnight",
        "c.md": "Her opens",
    }
    texts["d.md"] = "every floor opens at noon"

    assert [place.doc_id for place in only_places(anchor([query], texts))] == ["a.md", "d.md"]


def test_a_span_whose_text_still_stands_there_is_taken_as_it_is() -> None:
    found = anchored(GoldSpan(start=4, end=10, text="office"))

    assert only_places(found) == (Place("a.md", 4, 10),)
    assert kinds(found) == []


def test_a_span_whose_text_moved_is_found_by_its_text() -> None:
    found = anchored(GoldSpan(start=0, end=6, text="is red"))

    assert words(found) == ["is red"]
    assert kinds(found) == ["moved"]


def test_a_span_without_text_is_taken_and_remarked_as_unverified() -> None:
    found = anchored(GoldSpan(start=4, end=10))

    assert only_places(found) == (Place("a.md", 4, 10),)
    assert kinds(found) == ["unverified"]


def test_a_span_beyond_the_end_of_the_text_does_not_anchor() -> None:
    found = anchored(GoldSpan(start=4, end=1000))

    assert "ends at 1000" in found.unanchored[0].reason
    assert f"{len(TEXT)} characters" in found.unanchored[0].reason


def test_what_does_not_anchor_is_listed_and_its_query_is_not_scored() -> None:
    found = anchored(GoldQuote(quote="opens at 8."), GoldQuote(quote="opens at 9."))

    assert found.queries == ()
    ((query_id, doc_id, quote),) = [
        (lost.query_id, lost.doc_id, lost.quote) for lost in found.unanchored
    ]
    assert (query_id, doc_id, quote) == ("q1", "a.md", "opens at 9.")


def test_the_reason_says_how_far_the_text_agrees() -> None:
    found = anchored(GoldQuote(quote="The office opens at nine"))

    assert found.unanchored[0].reason == (
        "the document's text has it up to 'The office opens at', but not followed by 'nine'"
    )


def test_a_text_with_too_many_copies_does_not_anchor() -> None:
    found = anchored(GoldQuote(quote="ab"), texts={"a.md": "ab " * 101})

    assert "more than 100 times" in found.unanchored[0].reason


def test_an_unknown_document_is_named_with_one_of_the_same_name() -> None:
    found = anchored(GoldQuote(quote="x", doc_id="a.md"), texts={"docs/a.md": "x"})

    assert found.unanchored[0].reason == (
        "the corpus has no document 'a.md'; did you mean 'docs/a.md'?"
    )


def test_an_unknown_judged_document_does_not_anchor() -> None:
    query = GoldQuery("q1", "When?", None, (), (GoldDocument(doc_id="b.md"),))

    assert anchor([query], {"a.md": TEXT}).unanchored[0].doc_id == "b.md"


def test_requiring_all_evidence_names_every_query_and_quote_that_is_missing() -> None:
    found = anchored(GoldQuote(quote="opens at 9."), GoldQuote(quote="is blue"))

    with pytest.raises(GoldError) as caught:
        found.require_anchored()

    message = str(caught.value)
    assert "2 pieces of evidence" in message
    assert "query 'q1', document 'a.md', quote 'opens at 9.'" in message
    assert "quote 'is blue'" in message


def test_requiring_all_evidence_passes_when_there_is_nothing_missing() -> None:
    anchored(GoldQuote(quote="is red")).require_anchored()


def test_the_cluster_of_a_query_is_the_document_of_its_first_evidence() -> None:
    query = GoldQuery(
        "q1",
        "When?",
        None,
        ((GoldSpan(doc_id="b.md", start=0, end=1),), (GoldSpan(doc_id="a.md", start=0, end=1),)),
    )

    assert anchor([query], {"a.md": "x", "b.md": "y"}).queries[0].cluster == "b.md"


WORDS = st.lists(st.sampled_from(["ab", "b", "ba’s", "a–b", "猫"]), min_size=1, max_size=8)
BLANKS = st.sampled_from([" ", "\n", " \t ", "\u00a0", "\u2003\n"])


@given(st.data(), WORDS)
def test_any_run_of_words_is_found_under_any_respelling_of_its_blanks_and_marks(
    data: st.DataObject, document: list[str]
) -> None:
    text = data.draw(BLANKS) + "".join(word + data.draw(BLANKS) for word in document)
    first = data.draw(st.integers(0, len(document) - 1))
    last = data.draw(st.integers(first, len(document) - 1))
    quoted = document[first : last + 1]
    quote = data.draw(BLANKS).join(quoted).replace("’", "'").replace("–", "-")

    found = list(SearchableText(text).find(quote, "typography"))

    assert found
    for start, end in found:
        spelled = " ".join(text[start:end].split()).replace("’", "'").replace("–", "-")
        assert spelled == " ".join(quote.split())


@pytest.mark.skipif(
    "CHUNK_ASSETS_SHARED_DATA" not in os.environ, reason="CHUNK_ASSETS_SHARED_DATA is not set"
)
@pytest.mark.parametrize(
    "name", ["anthropic_docs", "chroma", "code", "covidqa", "fairytaleqa", "qmsum", "tatqa"]
)
def test_all_spans_of_the_shared_gold_sets_stand_where_they_say(name: str) -> None:
    folder = Path(os.environ["CHUNK_ASSETS_SHARED_DATA"]) / name
    texts = {
        path.relative_to(folder / "docs").as_posix(): path.read_bytes().decode("utf-8")
        for path in (folder / "docs").rglob("*")
        if path.is_file()
    }

    found = anchor(load_gold(folder / "gold.dev.jsonl"), texts)

    found.require_anchored()
    assert found.remarks == ()

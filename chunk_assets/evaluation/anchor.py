"""Anchoring: where the evidence of a gold set stands in the documents as they are now.

A quote is searched exactly, then with any whitespace for any whitespace, then (optionally) with
plain quotation marks and dashes; the first search that finds something decides. Text that occurs
more than once counts as one piece of evidence with several places: retrieving any copy is right. A
span is taken as it is while its text still stands there, and is otherwise searched by that text.

What does not anchor is listed with its reason, and its query is not scored: its scores would be
about other evidence than was asked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath
from typing import Literal

from chunk_assets.errors import GoldError
from chunk_assets.evaluation.find_text import FoundBy, SearchableText, plain_typography
from chunk_assets.evaluation.gold import GoldPlace, GoldQuery, GoldQuote, GoldSpan

RemarkKind = Literal["ambiguous", "moved", "whitespace", "typography", "unverified"]

_MOST_PLACES = 100
"""A text with more copies than this says nothing about where the answer stands."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a piece of evidence can be read: `[start, end)` in code points of a document's text."""

    doc_id: str
    start: int
    end: int
    relevance: int = 1


@dataclass(frozen=True, slots=True)
class AnchoredQuery:
    """A question all of whose evidence was found."""

    query_id: str
    query: str
    doc_id: str | None
    evidence: tuple[tuple[Place, ...], ...]
    """Pieces, all wanted; each can be read in any one of its places."""
    documents: Mapping[str, int]
    """Relevance of whole documents, where the set judges them."""

    @property
    def cluster(self) -> str:
        """The first gold document: queries about one document are not independent."""
        return self.evidence[0][0].doc_id if self.evidence else next(iter(self.documents))


@dataclass(frozen=True, slots=True)
class Unanchored:
    """Evidence that was not found."""

    query_id: str
    doc_id: str | None
    quote: str | None
    """The text looked for; None for a whole document or a span without text."""
    reason: str


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to know about evidence that was found.

    `ambiguous`: the text occurs more than once. `moved`: a span's text no longer stands at its
    offsets. `whitespace`, `typography`: how tolerant the search had to be. `unverified`: a span
    without text, so that nothing shows whether its offsets are still right.
    """

    query_id: str
    doc_id: str | None
    quote: str | None
    kind: RemarkKind


@dataclass(frozen=True, slots=True)
class Anchoring:
    """A gold set in the documents as they are now."""

    queries: tuple[AnchoredQuery, ...]
    """Those all of whose evidence was found: the ones that are scored."""
    unanchored: tuple[Unanchored, ...]
    remarks: tuple[Remark, ...]

    def require_anchored(self) -> None:
        """Insist that all evidence was found.

        Raises:
            GoldError: naming each query and text that was not.
        """
        if not self.unanchored:
            return
        lines = [
            f"- query {lost.query_id!r}"
            + (f", document {lost.doc_id!r}" if lost.doc_id is not None else "")
            + (f", quote {lost.quote!r}" if lost.quote is not None else "")
            + f": {lost.reason}"
            for lost in self.unanchored
        ]
        raise GoldError(
            f"{len(lines)} {'piece' if len(lines) == 1 else 'pieces'} of evidence not found in the "
            "documents. Copy the words from the document's text, or remove the question:\n"
            + "\n".join(lines)
        )


class _NotFoundError(Exception):
    """Why a place does not anchor."""


def anchor(
    queries: Sequence[GoldQuery], texts: Mapping[str, str], *, fold_typography: bool = True
) -> Anchoring:
    """Find the evidence of every query.

    Args:
        queries: a gold set.
        texts: normalized text by the document's URI (what gold calls `doc_id`). Only documents that
            gold names are looked up, unless a quote names none.
        fold_typography: also find quotes whose quotation marks, apostrophes or dashes are typed
            differently.
    """
    corpus = _Corpus(texts, fold_typography=fold_typography)
    anchored: list[AnchoredQuery] = []
    unanchored: list[Unanchored] = []
    remarks: list[Remark] = []
    for query in queries:
        evidence: list[tuple[Place, ...]] = []
        lost_before = len(unanchored)
        for piece in query.evidence:
            places: dict[Place, None] = {}
            for wanted in piece:
                doc_id = wanted.doc_id if wanted.doc_id is not None else query.doc_id
                quote = wanted.quote if isinstance(wanted, GoldQuote) else wanted.text
                try:
                    found, kinds = corpus.locate(wanted, doc_id)
                except _NotFoundError as error:
                    unanchored.append(Unanchored(query.query_id, doc_id, quote, str(error)))
                    continue
                places.update(dict.fromkeys(found))
                remarks.extend(Remark(query.query_id, doc_id, quote, kind) for kind in kinds)
            evidence.append(tuple(places))
        for document in query.documents:
            if document.doc_id not in texts:
                reason = corpus.why_unknown(document.doc_id)
                unanchored.append(Unanchored(query.query_id, document.doc_id, None, reason))
        if len(unanchored) == lost_before:
            documents = {document.doc_id: document.relevance for document in query.documents}
            anchored.append(
                AnchoredQuery(query.query_id, query.query, query.doc_id, tuple(evidence), documents)
            )
    return Anchoring(tuple(anchored), tuple(unanchored), tuple(remarks))


class _Corpus:
    """The documents that were looked into so far, ready to be searched again."""

    def __init__(self, texts: Mapping[str, str], *, fold_typography: bool) -> None:
        self._texts = texts
        self._searches: tuple[FoundBy, ...] = (
            ("exact", "whitespace", "typography") if fold_typography else ("exact", "whitespace")
        )
        self._searchable: dict[str, SearchableText] = {}
        self._documents_with: dict[str, set[str]] | None = None

    def locate(self, wanted: GoldPlace, doc_id: str | None) -> tuple[list[Place], list[RemarkKind]]:
        """All places of a span or quote, with what is to be remarked.

        Raises:
            _NotFoundError: if there is none, or far too many.
        """
        if isinstance(wanted, GoldSpan):
            return self._locate_span(wanted, doc_id)
        return self._search(wanted.quote, doc_id, wanted.relevance)

    def why_unknown(self, doc_id: str) -> str:
        """What to say about a document that is not there."""
        name = PurePosixPath(doc_id).name
        similar = next((uri for uri in self._texts if PurePosixPath(uri).name == name), None)
        hint = f"; did you mean {similar!r}?" if similar else ""
        return f"the corpus has no document {doc_id!r}{hint}"

    def _locate_span(
        self, span: GoldSpan, doc_id: str | None
    ) -> tuple[list[Place], list[RemarkKind]]:
        # gold.py sees to it that a span has a document.
        text = self._document(doc_id or "").text
        here = Place(doc_id or "", span.start, span.end, span.relevance)
        if span.text is None:
            if span.end > len(text):
                raise _NotFoundError(
                    f"the span ends at {span.end}, but the document has {len(text)} characters"
                )
            return [here], ["unverified"]
        if text[span.start : span.end] == span.text:
            return [here], []
        places, kinds = self._search(span.text, doc_id, span.relevance)
        return places, ["moved", *kinds]

    def _search(
        self, quote: str, doc_id: str | None, relevance: int
    ) -> tuple[list[Place], list[RemarkKind]]:
        where = [doc_id] if doc_id is not None else self._candidates(quote)
        for found_by in self._searches:
            places = list(islice(self._places(quote, where, found_by, relevance), _MOST_PLACES + 1))
            if len(places) > _MOST_PLACES:
                raise _NotFoundError(
                    f"it occurs more than {_MOST_PLACES} times; quote more of the text around it"
                )
            if places:
                kinds: list[RemarkKind] = [] if found_by == "exact" else [found_by]
                return places, [*kinds, "ambiguous"] if len(places) > 1 else kinds
        raise _NotFoundError(self._why_missing(quote, doc_id))

    def _places(
        self, quote: str, where: Sequence[str], found_by: FoundBy, relevance: int
    ) -> Iterator[Place]:
        for doc_id in where:
            for start, end in self._document(doc_id).find(quote, found_by):
                yield Place(doc_id, start, end, relevance)

    def _why_missing(self, quote: str, doc_id: str | None) -> str:
        if doc_id is None:
            return "it is in no document of the corpus"
        words = quote.split()
        known = self._document(doc_id).known_words(quote)
        if not known:
            return "it is not in the document's text"
        if known == len(words):
            return "the document has it with other quotation marks or dashes (`fold_typography`)"
        known_part, rest = " ".join(words[max(0, known - 5) : known]), " ".join(words[known:][:5])
        return f"the document's text has it up to {known_part!r}, but not followed by {rest!r}"

    def _document(self, doc_id: str) -> SearchableText:
        if doc_id not in self._searchable:
            if doc_id not in self._texts:
                raise _NotFoundError(self.why_unknown(doc_id))
            self._searchable[doc_id] = SearchableText(self._texts[doc_id])
        return self._searchable[doc_id]

    def _candidates(self, quote: str) -> list[str]:
        """The documents that have all whole words of a quote: few, for anything but a word or two.

        The first and last word may be cut by the quote's edges, so they do not decide.
        """
        words = plain_typography(quote).split()[1:-1]
        if not words:
            return list(self._texts)
        if self._documents_with is None:
            self._documents_with = {}
            for doc_id, text in self._texts.items():
                for word in set(plain_typography(text).split()):
                    self._documents_with.setdefault(word, set()).add(doc_id)
        having = sorted((self._documents_with.get(word, set()) for word in words), key=len)
        found = set.intersection(*having)
        return [doc_id for doc_id in self._texts if doc_id in found] if found else []

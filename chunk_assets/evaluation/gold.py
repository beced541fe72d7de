"""Gold sets: questions with the evidence that answers them, as JSON Lines.

One JSON object a line:

    {"query_id": "q1", "query": "When does the office open?", "doc_id": "handbook.md",
     "quotes": ["The office opens at 8."]}

`query_id` (unique) and `query` are required, and at least one piece of evidence:

* `spans`: objects `{"doc_id", "start", "end", "text"?, "relevance"?}`; `[start, end)` in code
  points of the normalized text. With `text`, a span is verified and found again when the
  document changes; without, only its bounds can be checked.
* `quotes`: strings, or objects `{"quote", "doc_id"?, "relevance"?}`, found in the normalized text.
* `alternatives`: a list of lists. Each inner list is *one* piece of evidence that can be read in
  several places; its items are spans or quotes as above, and retrieving any one of them suffices.
* `documents`: strings, or objects `{"doc_id", "relevance"?}`: whole documents that answer.

All pieces of a query are wanted, each in any one of its places. `doc_id` is the document's URI in
the corpus; the record's own `doc_id` is the default of its spans and quotes (a quote without any is
looked for in every document). `relevance` is a whole number from 1, default 1. Further keys are
allowed (those of a record are kept as `extras`), unless they look like a known one mistyped
(`span`, `SPANS`, `docId`).
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)

from chunk_assets.errors import GoldError
from chunk_assets.evaluation.config import Scope
from chunk_assets.lineage.identity import Json

_PARTS = ("spans", "quotes", "alternatives", "documents")
_EXPECTED = {
    "string_pattern_mismatch": "Input should not be blank",
    "model_type": "Input should be an object (quotes and documents may be strings)",
}


class _Open(BaseModel):
    """May have keys of its own, but none that looks like a known one mistyped."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    @model_validator(mode="after")
    def _has_no_mistyped_key(self) -> Self:
        known = {_bare(name): name for name in type(self).model_fields}
        for key in self.model_extra or {}:
            meant = get_close_matches(_bare(key), known, n=1, cutoff=0.8)
            if meant:
                raise ValueError(f"there is no key `{key}`; did you mean `{known[meant[0]]}`?")
        return self


def _bare(key: str) -> str:
    """A key without what people write differently: `docId`, `Doc-ID` and `doc_id` are one."""
    return re.sub(r"[\W_]", "", key).casefold()


class _Part(_Open):
    doc_id: str | None = Field(default=None, min_length=1)
    relevance: int = Field(default=1, ge=1)


class GoldSpan(_Part):
    """A place given by its offsets."""

    start: int = Field(ge=0)
    end: int
    text: str | None = None

    @model_validator(mode="after")
    def _is_not_empty(self) -> Self:
        if self.end <= self.start:
            raise ValueError("a span should end after it starts")
        if self.text is not None and not self.text.strip():
            raise ValueError("the text of a span should not be blank")
        return self


class GoldQuote(_Part):
    """A place given by its words."""

    quote: str = Field(pattern=r"\S")


class GoldDocument(_Part):
    """A whole document that answers."""

    doc_id: str = Field(min_length=1)


def _named(key: str) -> BeforeValidator:
    """Read a bare string as an object with this one key."""
    return BeforeValidator(lambda item: {key: item} if isinstance(item, str) else item)


def _kind_of_place(item: Any) -> str:  # noqa: ANN401 - whatever stands in the file
    is_quote = isinstance(item, str) or (isinstance(item, dict) and "quote" in item)
    return "quote" if is_quote else "span"


_Quote = Annotated[GoldQuote, _named("quote")]
_Place = Annotated[
    Annotated[GoldSpan, Tag("span")] | Annotated[_Quote, Tag("quote")],
    Discriminator(_kind_of_place),
]


class _Record(_Open):
    query_id: str = Field(pattern=r"\S")
    query: str = Field(pattern=r"\S")
    doc_id: str | None = Field(default=None, min_length=1)
    spans: list[GoldSpan] = []
    quotes: list[_Quote] = []
    alternatives: list[Annotated[list[_Place], Field(min_length=1)]] = []
    documents: list[Annotated[GoldDocument, _named("doc_id")]] = []


GoldPlace = GoldSpan | GoldQuote


@dataclass(frozen=True, slots=True)
class GoldQuery:
    """One question: every piece of `evidence` is wanted, each in any one of its places."""

    query_id: str
    query: str
    doc_id: str | None
    """The document the question is about, where the set names one."""
    evidence: tuple[tuple[GoldPlace, ...], ...]
    documents: tuple[GoldDocument, ...] = ()
    extras: Mapping[str, Json] = field(default_factory=dict)


def load_gold(path: Path, scope: Scope = "corpus") -> tuple[GoldQuery, ...]:
    """Read a gold set from a file.

    Raises:
        GoldError: if the file cannot be read, or for the reasons of `parse_gold`.
    """
    try:
        content = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise GoldError(
            f"{path}: the gold set cannot be read ({error.strerror}). Correct `path:` of the gold "
            "set, or create the file (JSON Lines, one question a line)."
        ) from error
    except UnicodeDecodeError as error:
        raise GoldError(
            f"{path}: byte {error.start} is not UTF-8. Save the gold set as UTF-8."
        ) from error
    return parse_gold(content, str(path), scope)


def parse_gold(content: str, source: str, scope: Scope = "corpus") -> tuple[GoldQuery, ...]:
    """Read a gold set, in the order of its lines; blank lines are ignored.

    Args:
        content: JSON Lines in the format of this module.
        source: name of the content in errors.
        scope: with `document`, every record needs a `doc_id`, and all its evidence lies in it.

    Raises:
        GoldError: on the first line that is wrong, naming line, key, value and what was expected;
            also for a repeated `query_id`, and if there is no question at all.
    """
    queries: dict[str, GoldQuery] = {}
    line_of: dict[str, int] = {}
    # splitlines() would also cut at U+2028 and kin, which may stand unescaped inside JSON strings.
    for number, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        query = _parse_line(line, f"{source}, line {number}", scope)
        if query.query_id in queries:
            raise GoldError(
                f"{source}, line {number}: query_id {query.query_id!r} already stands in line "
                f"{line_of[query.query_id]}. Every question needs its own query_id."
            )
        queries[query.query_id] = query
        line_of[query.query_id] = number
    if not queries:
        raise GoldError(f"{source}: there is no question in it. Write one JSON object a line.")
    return tuple(queries.values())


def _parse_line(line: str, where: str, scope: Scope) -> GoldQuery:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise GoldError(f"{where}: this is not JSON ({error}). Write one object a line.") from error
    if not isinstance(value, dict):
        raise GoldError(f"{where}: expected an object, but found {_shown(value)}.")
    try:
        record = _Record.model_validate(value)
    except ValidationError as error:
        raise GoldError(f"{where}: {_explained(error)}") from error
    query = GoldQuery(
        query_id=record.query_id,
        query=record.query,
        doc_id=record.doc_id,
        evidence=(
            *((span,) for span in record.spans),
            *((quote,) for quote in record.quotes),
            *(tuple(places) for places in record.alternatives),
        ),
        documents=tuple(record.documents),
        extras=record.model_extra or {},
    )
    _check_evidence(query, where)
    if scope == "document":
        _check_document_scope(query, where)
    return query


def _check_evidence(query: GoldQuery, where: str) -> None:
    if not query.evidence and not query.documents:
        raise GoldError(
            f"{where}: query {query.query_id!r} has no evidence. Give at least one of "
            f"{', '.join(f'`{part}`' for part in _PARTS)}."
        )
    for place in _places(query):
        if isinstance(place, GoldSpan) and place.doc_id is None and query.doc_id is None:
            raise GoldError(
                f"{where}: the span [{place.start}, {place.end}) of query {query.query_id!r} has "
                "no `doc_id`, and the record has none either. Name the document (its URI)."
            )


def _check_document_scope(query: GoldQuery, where: str) -> None:
    if query.doc_id is None:
        raise GoldError(
            f"{where}: query {query.query_id!r} has no `doc_id`, which a gold set of "
            "`scope: document` needs. Name the document, or use `scope: corpus`."
        )
    for part in (*_places(query), *query.documents):
        if part.doc_id not in (None, query.doc_id):
            raise GoldError(
                f"{where}: query {query.query_id!r} is about {query.doc_id!r}, but has evidence in "
                f"{part.doc_id!r}, which a search inside the document cannot find. Use "
                "`scope: corpus`, or move the evidence."
            )


def _places(query: GoldQuery) -> Iterator[GoldPlace]:
    return (place for piece in query.evidence for place in piece)


def _explained(error: ValidationError) -> str:
    """The first problem: key, what was expected, value."""
    problem = error.errors(include_url=False)[0]
    path = list(problem["loc"])
    # Inside alternatives pydantic puts the kind of the place before the place's own key.
    if path[:1] == ["alternatives"] and path[3:4] in (["span"], ["quote"]):
        del path[3]
    key = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    where = f"key `{key.lstrip('.')}`" if key else "the record"
    if problem["type"] == "missing":
        return f"{where} is missing. Add it."
    message = _EXPECTED.get(problem["type"], problem["msg"].removeprefix("Value error, "))
    return f"{where}: {message.rstrip('.')}. Found: {_shown(problem['input'])}."


def _shown(value: object, limit: int = 80) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"

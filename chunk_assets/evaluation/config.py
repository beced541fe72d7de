"""How a gold set is read and scored."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, PositiveInt

from chunk_assets.strict_model import StrictModel, Written, WrittenPath

Scope = Literal["corpus", "document"]


def _ascending(values: tuple[int, ...]) -> tuple[int, ...]:
    repeated = sorted({value for value in values if values.count(value) > 1})
    if repeated:
        raise ValueError(f"each value may stand only once, but {repeated} repeat")
    return tuple(sorted(values))


Cutoffs = Annotated[tuple[PositiveInt, ...], Written, AfterValidator(_ascending)]


class GoldSetConfig(StrictModel):
    """Questions with the evidence that answers them, and how a ranking is scored against it."""

    path: WrittenPath
    """JSON Lines file of questions; its format is described in `docs/guides/gold.md`."""
    description: str = ""
    """What the questions are and where they come from, for whoever reads the leaderboard."""
    scope: Scope = "corpus"
    """`corpus`: a question stands alone and is searched in all documents. `document`: a question
    is about its `doc_id` and is searched inside that document only."""
    relevance_overlap: float = Field(default=0.5, gt=0, le=1)
    """A chunk is relevant to a piece of evidence when they share at least this part of the shorter
    of the two, in characters."""
    fold_typography: bool = True
    """Also anchor quotes whose quotation marks, apostrophes or dashes are typed differently from
    the document's (’ and ', “ and ", – and -); such matches are counted apart."""
    ks: Cutoffs = Field(default=(1, 3, 5, 10), min_length=1)
    """Numbers of retrieved chunks at which a ranking is scored."""
    token_budgets: Cutoffs = (500, 1000, 2000)
    """Numbers of retrieved tokens at which a ranking is scored: chunks in rank order until the
    budget is full, so that strategies of different chunk sizes are compared at equal cost."""
    confidence: float = Field(default=0.95, gt=0, lt=1)
    """Confidence level of the intervals."""
    resamples: int = Field(default=10_000, ge=100)
    """Bootstrap resamples an interval is computed from."""
    seed: int = Field(default=0, ge=0)
    """Seed of the resampling: equal inputs give equal intervals."""

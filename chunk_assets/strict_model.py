"""The base of every configuration model."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Strict


class StrictModel(BaseModel):
    """A frozen model that takes no unknown key and no value of another type.

    `"8"` is no number and `true` is not 1: what YAML reads as another type than was meant is a
    mistake to be told. A number without fraction is one with. Every field carries a description.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )


Written = Strict(False)
"""For the types that a file has no notation of its own for: a path is text, a tuple is a list."""

WrittenPath = Annotated[Path, Written]

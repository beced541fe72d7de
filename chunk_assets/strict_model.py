"""The base of every configuration model."""

from pydantic import BaseModel, ConfigDict


class StrictModel(BaseModel):
    """A frozen model that rejects unknown keys; every field carries a description."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

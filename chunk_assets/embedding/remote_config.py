"""The settings of an embedding API under `embedders.NAME.remote:`."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints, field_validator, model_validator

from chunk_assets.strict_model import StrictModel

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_KEY_ENV = "OPENAI_API_KEY"

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
_REFERENCE = re.compile(r"\$\{[^}]*\}")
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie|password|credential", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# What this backend writes into every request itself.
_OWN_HEADERS = {"content-type", "content-length", "host", "transfer-encoding"}
_OWN_FIELDS = {"model", "input", "dimensions", "encoding_format"}

PositiveInt = Annotated[int, Field(strict=True, gt=0)]


class RemoteConfig(StrictModel):
    """An API that answers `POST {base_url}/embeddings` as OpenAI's does.

    `dimension`, `tokenizer` and the parameters decide vectors and are part of the fingerprint. The
    URL, the key and everything about batches, limits and patience are not: changing them re-embeds
    nothing.
    """

    base_url: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)] = OPENAI_URL
    """Where the API is, up to and without `/embeddings`. May hold `${NAME}`, and a query
    (`?api-version=…`); never a key."""
    api_key_env: str | None = None
    """The environment variable that holds the key, sent as `Authorization: Bearer …`. Default:
    `OPENAI_API_KEY` for OpenAI's own URL; no key is sent to another."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Further headers. A value may hold `${NAME}`; one that carries a secret (`api-key`) must."""
    dimension: Annotated[int, Field(strict=True, gt=0, le=65536)]
    """Components per vector; an answer of another dimension is refused."""
    send_dimensions: bool = False
    """Whether to ask for `dimension` (`dimensions` in the request), of a model that can shorten its
    vectors. Else the model's own is expected."""
    tokenizer: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    """What counts tokens: `package:NAME`, a folder or a `tokenizer.json`, a name on the Hugging
    Face hub, or `openai:cl100k_base` (OpenAI's vocabularies; with `chunk-assets[openai]`)."""
    passage_parameters: dict[str, Any] = Field(default_factory=dict)
    """Further fields of a request for passages (`input_type: passage`)."""
    query_parameters: dict[str, Any] = Field(default_factory=dict)
    """Further fields of a request for queries (`input_type: query`)."""
    batch_items: PositiveInt = 64
    """Texts per request; halved where the server refuses so many."""
    concurrency: Annotated[int, Field(strict=True, ge=1, le=256)] = 8
    """Requests at once."""
    requests_per_minute: PositiveInt | None = None
    """The most requests per minute, evenly spaced. Default: whatever the server allows."""
    tokens_per_minute: PositiveInt | None = None
    """The most tokens per minute, evenly spaced. Default: whatever the server allows."""
    timeout_s: Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)] = 60.0
    """How long one attempt may take, the whole answer included."""
    max_attempts: Annotated[int, Field(strict=True, ge=1, le=100)] = 6
    """How often a request is sent that fails. Being told to wait is no failure."""
    deadline_s: Annotated[float, Field(gt=0, le=86400, allow_inf_nan=False)] = 600.0
    """How long a request may take with all its attempts and waits, and how long a wait that the
    server asks for may be."""
    encoding_format: Literal["float", "base64"] = "float"
    """How vectors travel: `base64` is a third of the size, where the server offers it."""
    min_probe_cosine: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.999
    """How similar the probe texts' vectors must be to those kept since the first use. Less means
    that another model answers, and is an error."""

    @field_validator("base_url")
    @classmethod
    def _is_a_url_without_a_secret(cls, value: str) -> str:
        if not value.startswith(("http://", "https://", "${")):
            raise ValueError(f"{value!r} is no URL; expected http://… or https://…")
        parts = urlsplit(value)
        if "@" in parts.netloc:
            # The value is not repeated: it may hold a password.
            raise ValueError(
                "a URL holds no user name or password; name the variable of a key in api_key_env, "
                "or send it in headers"
            )
        if "${" in parts.query:
            raise ValueError(
                "a variable stands in the query; a secret belongs in headers, which are never shown"
            )
        if parts.fragment:
            raise ValueError(f"{value!r} has a fragment (#…), which is never sent; remove it")
        return value

    @field_validator("api_key_env")
    @classmethod
    def _is_a_name_and_no_key(cls, value: str | None) -> str | None:
        if value is not None and not _VARIABLE.fullmatch(value):
            # The value is not repeated: it may be the key.
            raise ValueError(
                "expected the name of an environment variable (A-Z, 0-9, _), never the key itself"
            )
        return value

    @field_validator("headers")
    @classmethod
    def _secrets_are_named(cls, value: dict[str, str]) -> dict[str, str]:
        for name, content in value.items():
            if not _HEADER_NAME.fullmatch(name):
                raise ValueError(f"{name!r} is no name of a header")
            if name.lower() in _OWN_HEADERS:
                raise ValueError(f"{name}: this header is written by the backend; remove it")
            if _SECRET_HEADER.search(name) and not _REFERENCE.search(content):
                # The value itself is not repeated: it may be the secret.
                raise ValueError(
                    f"{name}: a secret is given as ${{NAME}}, the name of an environment variable"
                )
        return value

    @field_validator("passage_parameters", "query_parameters")
    @classmethod
    def _nothing_is_cut_in_silence(cls, value: dict[str, Any]) -> dict[str, Any]:
        for field in sorted(_OWN_FIELDS & value.keys()):
            raise ValueError(f"{field}: this field is written by the backend; remove it")
        for field, content in value.items():
            if field.startswith("truncate") and _cuts(content):
                raise ValueError(
                    f"{field}: {content!r} lets the server cut texts in silence; remove it, and "
                    "leave long texts to `overflow`"
                )
        return value

    @model_validator(mode="after")
    def _a_key_goes_to_one_place(self) -> Self:
        names = {name.lower() for name in self.headers}
        if self.key_env is not None and "authorization" in names:
            raise ValueError(
                f"headers.Authorization and the key of {self.key_env} are the same header: remove "
                "one of them"
            )
        return self

    @property
    def key_env(self) -> str | None:
        """The environment variable whose value is sent as the key; None: no key is sent."""
        if self.api_key_env is None and self.base_url.rstrip("/") == OPENAI_URL:
            return OPENAI_KEY_ENV
        return self.api_key_env

    def beside(self, folder: Path) -> "RemoteConfig":
        """The same with a relative path of the tokenizer (`./x`, `../x`) starting at a folder."""
        if not self.tokenizer.startswith(("./", "../")):
            return self
        path = str((folder / self.tokenizer).resolve())
        return self.model_copy(update={"tokenizer": path})


def _cuts(content: object) -> bool:
    """Whether a value of `truncate…` switches it on, in the spellings of the servers there are."""
    if isinstance(content, str):
        return content.lower() not in ("none", "false", "error")
    return content not in (None, False)

"""The requests of one call: some at once, each repeated until it is answered or given up."""

import json
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from chunk_assets.embedding import remote_remedy
from chunk_assets.embedding.embedder import Vectors
from chunk_assets.embedding.remote_answer import (
    Answer,
    MalformedAnswerError,
    WrongDimensionError,
    read_answer,
    read_error,
    shortened,
)
from chunk_assets.embedding.remote_batches import TextBatch
from chunk_assets.embedding.remote_endpoint import Endpoint
from chunk_assets.embedding.remote_failure import TOO_MUCH, Meaning, meaning_of
from chunk_assets.embedding.remote_limits import Limits, read_limits
from chunk_assets.embedding.remote_patience import BusyError, Patience, RetriedError
from chunk_assets.embedding.remote_service import Service
from chunk_assets.embedding.usage import Usage
from chunk_assets.errors import EmbeddingError

if TYPE_CHECKING:
    import ssl

    import anyio
    import httpx2


# Special tokens that one side counts and the other does not, for each text.
_UNCOUNTED_TOKENS = 8


@dataclass(slots=True)
class Outcome:
    """What came of a call."""

    vectors: dict[int, Vectors] = field(default_factory=dict)
    """Unit vectors by position, each of shape (dimension,)."""
    error: Exception | None = None
    """The first error; without one every position has its vector."""
    told_tokens: int = 0
    """What the server counted, of the answers in which it counts."""
    own_tokens: int = 0
    """What the configured tokenizer counts for the same texts."""


@dataclass(frozen=True, slots=True)
class Call:
    """What all requests of a call have in common."""

    service: Service
    endpoint: Endpoint
    parameters: Mapping[str, Any]
    """Further fields of every request."""
    least_share: float | None = None
    """How much of what the configured tokenizer counts the server must count at least; less means
    that it has cut texts. None: not known."""


class _TooMuchError(Exception):
    """Less at once may be taken."""

    def __init__(self, meaning: Meaning) -> None:
        super().__init__()
        self.meaning = meaning


class _StoppedError(Exception):
    """Another request of the call has failed for good."""


async def exchange(call: Call, batches: Sequence[TextBatch]) -> Outcome:
    """Send all batches, so many at once as the configuration allows.

    After an error no further one is sent; the answers that are under way are still taken.
    """
    import anyio
    import httpx2

    workers = min(call.service.remote.concurrency, len(batches))
    limits = httpx2.Limits(max_connections=workers, max_keepalive_connections=workers)
    async with (
        httpx2.AsyncClient(
            headers=call.endpoint.headers,
            verify=_authorities(),
            timeout=None,
            limits=limits,
            follow_redirects=False,
        ) as client,
        anyio.create_task_group() as group,
    ):
        work = _Exchange(call, client, anyio.Event(), deque(batches))
        for _ in range(workers):
            group.start_soon(work.run)
    return work.outcome


@cache
def _authorities() -> "ssl.SSLContext":
    """Whose certificates are trusted; reading them takes longer than a request."""
    import httpx2

    return httpx2.create_ssl_context()


class _Exchange:
    def __init__(
        self,
        call: Call,
        client: "httpx2.AsyncClient",
        stopping: "anyio.Event",
        queue: deque[TextBatch],
    ) -> None:
        self._call = call
        self._service = call.service
        self._endpoint = call.endpoint
        self._client = client
        self._stopping = stopping
        self._queue = queue
        self.outcome = Outcome()

    async def run(self) -> None:
        while self._queue and not self._stopping.is_set():
            batch = self._queue.popleft()
            if self._service.sizes.is_too_large(batch):
                self._queue.extendleft(reversed(batch.halves()))
                continue
            try:
                answer = await self._ask(batch)
            except _TooMuchError as error:
                self._service.sizes.learn(batch, error.meaning)
                self._queue.extendleft(reversed(batch.halves()))
            except _StoppedError:
                return
            except Exception as error:  # noqa: BLE001 - raised by the caller, out of the group
                self._fail(error)
            else:
                self._take(batch, answer)

    def _take(self, batch: TextBatch, answer: Answer) -> None:
        for row, position in enumerate(batch.positions):
            if row in answer.defects:
                told = remote_remedy.no_vector(batch, row, answer.defects[row])
                self._fail(self._error(told))
            else:
                self.outcome.vectors[position] = answer.vectors[row]

    def _fail(self, error: Exception) -> None:
        self.outcome.error = self.outcome.error or error
        self._stopping.set()

    def _error(self, told: str) -> EmbeddingError:
        return EmbeddingError(
            f"embedder {self._service.name!r}: {self._endpoint.url} (model "
            f"{self._service.model!r}) {self._endpoint.scrub(told)}"
        )

    async def _ask(self, batch: TextBatch) -> Answer:
        import tenacity

        patience = Patience(self._service)
        attempts = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception_type((RetriedError, BusyError)),
            wait=patience.wait,
            stop=patience.stop,
            sleep=self._rest,
            before_sleep=lambda _: self._service.tally.add(Usage(retries=1)),
            reraise=True,
        )
        remote = self._service.remote
        try:
            answer: Answer = await attempts(self._attempt, batch, patience)
        except RetriedError as error:
            count = attempts.statistics["attempt_number"]
            raise self._error(remote_remedy.not_answered(count, str(error), remote)) from None
        except BusyError as error:
            count = attempts.statistics["attempt_number"]
            raise self._error(remote_remedy.still_busy(count, str(error), remote)) from None
        return answer

    async def _attempt(self, batch: TextBatch, patience: Patience) -> Answer:
        await self._turn(batch, patience)
        sent_at = self._service.clock.now()
        response = await self._send(batch)
        limits = read_limits(response.headers, time.time())
        error = read_error(response.content)
        if response.is_success and error is None:
            self._service.pace.answered(limits, sent_at=sent_at, accepted=True)
            return self._read(response.content, batch)
        waits = limits.retry_after_s is not None
        meaning = meaning_of(response.status_code, error, told_to_wait=waits)
        if meaning is Meaning.BUSY:
            self._service.pace.answered(limits, sent_at=sent_at, accepted=False)
        said = error.message if error else response.content.decode("utf-8", "replace")
        # Scrubbed before it is shortened, which could leave half of a secret.
        said = f"{response.status_code}: {shortened(self._endpoint.scrub(said))}"
        raise self._meant(meaning, said, batch, limits, response.headers.get("location", "nowhere"))

    async def _turn(self, batch: TextBatch, patience: Patience) -> None:
        """Wait until the pace lets the request go."""
        while (wait := self._service.pace.take(batch.tokens)) is not None:
            if wait.by_server and not patience.outlasts(wait.seconds):
                raise self._error(remote_remedy.too_long_a_wait(wait.seconds, self._service.remote))
            await self._rest(wait.seconds)
        patience.start()

    async def _rest(self, seconds: float) -> None:
        """Sleep, unless the call is over."""
        import anyio

        with anyio.move_on_after(self._service.clock.real(seconds)):
            await self._stopping.wait()
        if self._stopping.is_set():
            raise _StoppedError

    async def _send(self, batch: TextBatch) -> "httpx2.Response":
        import anyio
        import httpx2

        timeout_s = self._service.remote.timeout_s
        try:
            with anyio.fail_after(timeout_s):  # a server may be slow in every byte
                return await self._client.post(self._endpoint.url, content=self._body(batch))
        except TimeoutError:
            raise RetriedError(f"no whole answer within {timeout_s:g} s") from None
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            raise self._error(f"is no URL that can be asked: {error}; correct base_url") from None
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            reason = f"{type(error).__name__}: {error}"
            if _is_untrusted(error):
                raise self._error(remote_remedy.untrusted(reason)) from None
            raise RetriedError(reason) from None

    def _body(self, batch: TextBatch) -> bytes:
        remote = self._service.remote
        value = {
            "model": self._service.model,
            "input": [each.text for each in batch.inputs],
            **self._call.parameters,
        }
        if remote.send_dimensions:
            value["dimensions"] = remote.dimension
        if remote.encoding_format != "float":
            value["encoding_format"] = remote.encoding_format
        return json.dumps(value, ensure_ascii=False).encode("utf-8")

    def _read(self, body: bytes, batch: TextBatch) -> Answer:
        remote = self._service.remote
        try:
            answer = read_answer(
                body,
                len(batch),
                remote.dimension,
                base64_allowed=remote.encoding_format == "base64",
            )
        except MalformedAnswerError as error:
            beginning = shortened(self._endpoint.scrub(body.decode("utf-8", "replace")))
            raise RetriedError(f"{error}; it begins {beginning!r}") from None
        except WrongDimensionError as error:
            told = remote_remedy.wrong_dimension(str(error), remote.dimension)
            raise self._error(told) from None
        told_tokens = answer.tokens
        charged = batch.tokens if told_tokens is None else told_tokens
        self._service.tally.add(Usage(tokens=charged, requests=1))
        if told_tokens is not None:
            least = (self._call.least_share or 0.0) * batch.tokens
            if told_tokens + _UNCOUNTED_TOKENS * len(batch) < least:
                raise self._error(remote_remedy.cut_texts(told_tokens, batch, remote.tokenizer))
            self.outcome.told_tokens += told_tokens
            self.outcome.own_tokens += batch.tokens
        return answer

    def _meant(
        self, meaning: Meaning, said: str, batch: TextBatch, limits: Limits, location: str
    ) -> Exception:
        if meaning is Meaning.TRANSIENT:
            return RetriedError(said)
        if meaning is Meaning.BUSY:
            return BusyError(said, is_held=limits.retry_after_s is not None)
        if meaning in TOO_MUCH and len(batch) > 1:
            return _TooMuchError(meaning)
        what_to_do = remote_remedy.remedy(
            meaning, batch, key_env=self._endpoint.key_env, location=location
        )
        return self._error(f"refuses with {said}. {what_to_do}")


def _is_untrusted(error: BaseException | None) -> bool:
    """Whether a chain of errors comes from a certificate."""
    import ssl

    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False

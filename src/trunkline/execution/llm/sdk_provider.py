"""What providers with an official SDK have in common: the stream, refused parameters, errors.

The SDKs come from one generator and name their exceptions alike, so one reading serves all.
"""

from abc import abstractmethod
from collections.abc import AsyncGenerator, Collection, Iterator
from typing import Any, ClassVar, Protocol

import httpx2
import msgspec
import structlog

from trunkline.execution.errors import ModelError
from trunkline.execution.json_object import Json
from trunkline.execution.llm import sight
from trunkline.execution.llm.base import (
    BaseLLMProvider,
    Call,
    Piece,
    Quirks,
    Thinking,
    Usage,
)
from trunkline.execution.llm.errors import (
    Refusal,
    Service,
    broke_off,
    explained,
    no_key,
    nonsense,
    refusal,
    refused,
    unreachable,
)
from trunkline.execution.llm.heard import Heard
from trunkline.execution.llm.http_client import HttpClient
from trunkline.execution.llm.reply_builder import ReplyBuilder

MODEL_REFUSALS_MAX = 8  # parameters that one server may refuse before its answer counts

log = structlog.get_logger(__name__)

_NO_CONNECTION = (
    httpx2.ConnectError,
    httpx2.TimeoutException,
    httpx2.UnsupportedProtocol,
    httpx2.InvalidURL,
)
_WINDOW_FULL = "model_context_window_exceeded"


def told_by(sdk: Any, error: Exception) -> Refusal | None:
    """What the provider itself said about an error, if it said something."""
    if isinstance(error, sdk.APIStatusError):
        return refusal(error.status_code, error.body, error.response.headers)
    if isinstance(error, sdk.APIError) and error.body is not None:
        return refusal(0, error.body, {})
    return None


class Reading(Protocol):
    """Reads what a server streams into a ReplyBuilder. Fields may be missing or of any type: nobody
    has checked them, and what cannot be read raises."""

    ended: bool
    """The server said that this was all."""

    def take(self, event: Any) -> Iterator[Piece | Usage]:
        """What there is to show of an event."""

    def kept(self) -> Json | None:
        """What the provider wants back with the next call, as it was."""


class SdkProvider(BaseLLMProvider):
    """One account at one base URL. The SDK's client is made on the first call."""

    sdk: Any
    """The SDK's module."""
    path: ClassVar[str]
    """Where calls are posted."""
    usual_base_url: ClassVar[str]

    def __init__(
        self,
        *,
        name: str = "",
        api_key: str,
        base_url: str = "",
        http: HttpClient,
        others: Collection[str] = (),
    ) -> None:
        """`others`: the providers that can be asked, for whoever lacks a key for this one."""
        self._others = others
        self.name = name or self.sdk.__name__
        self._key = api_key
        self.base_url = self._base_url = base_url or self.usual_base_url
        self._http = http
        self._client: Any = None
        self._quirks: dict[str, Quirks] = {}
        self._service = Service.at(self.name, self._base_url)

    @property
    def _is_own(self) -> bool:
        """The provider's own server, which wants a key, and not another that speaks like it."""
        return self._service.host == Service.at(self.name, self.usual_base_url).host

    @property
    def tells_windows(self) -> bool:
        """Whether its server may say how much its models read; none is asked without its key."""
        return bool(self._key) if self._is_own else True

    @abstractmethod
    def _reading(self, answer: ReplyBuilder, model: str) -> Reading:
        """For one stream."""

    @abstractmethod
    def _body(self, call: Call, quirks: Quirks) -> Json:
        """The request."""

    @abstractmethod
    def _quirk(self, told: Refusal, body: Json, quirks: Quirks) -> str | None:
        """What to do without next, if the refusal is about something that can be left out."""

    @abstractmethod
    def _connected(self) -> Any:
        """The SDK's client."""

    async def stream(self, call: Call) -> AsyncGenerator[Piece | Usage, None]:
        if not self._key and self._is_own:
            raise no_key(self._service, self._others)
        answer = ReplyBuilder(self._service, call.model)
        heard: Heard | None = None
        try:
            stream, learned = await self._open(call)
            if "no tools" in learned and call.tools:
                yield Thinking(f"{self._service} takes no tools: asked without them.", "model")
            if sight.NO_IMAGES in learned:
                told = f"{self._service} takes no pictures for this model: told of them in words."
                yield Thinking(told, "model")
            reading = self._reading(answer, call.model)
            heard = Heard.of(stream.response)
            is_empty, counted = True, 0
            async with stream:
                async for event in stream:
                    is_empty = False
                    for piece in reading.take(event):
                        yield piece
                    if answer.chars != counted:
                        counted = answer.chars
                        yield answer.so_far()
            if is_empty and heard.opening:
                raise self._nonsense(heard)
            if not reading.ended:
                raise broke_off(self._service, answer.said)
            answer.provider_blocks = reading.kept()
            if answer.empty and answer.stop_reason == "content_filter":
                raise refused(self._service)
            if answer.empty and answer.stop_reason == _WINDOW_FULL:
                full = Refusal(status=400, message="context window exceeded")
                raise explained(self._service, call.model, full)
        except (ModelError, MemoryError):
            raise  # the latter is this machine's trouble, whoever's answer was being read
        except Exception as error:
            raise self._explained(error, call.model, heard, said=answer.said) from None
        yield answer.reply()

    def _nonsense(self, heard: "Heard | None") -> ModelError:
        if heard is None:
            return nonsense(self._service)
        return nonsense(self._service, heard.media_type, heard.opening, self._key)

    def _explained(
        self, error: Exception, model: str, heard: "Heard | None", *, said: bool
    ) -> ModelError:
        """The error for people. `said`: some of the answer had come."""
        if (told := told_by(self.sdk, error)) is not None:
            return explained(self._service, model, told, self._key)
        lost = (self.sdk.APIConnectionError, httpx2.TransportError, httpx2.InvalidURL)
        if isinstance(error, lost):
            cause = error.__cause__ or error
            if said or not isinstance(cause, _NO_CONNECTION):
                return broke_off(self._service, said)
            return unreachable(self._service, cause)
        # Anything else is our reading of what came stumbling over it.
        log.warning("model_answer_unreadable", service=str(self._service), error=repr(error)[:500])
        return self._nonsense(heard)

    async def _open(self, call: Call) -> tuple[Any, Quirks]:
        """The stream, and what had to be left out for it that was not known before. What a server
        refuses by name is left out at once, and from then on."""
        known = quirks = self._quirks.get(call.model, frozenset())
        for _ in range(MODEL_REFUSALS_MAX):
            body = self._body(call, quirks)
            try:
                return await self._post(body), quirks - known
            except self.sdk.APIStatusError as error:
                told = told_by(self.sdk, error)
                quirk = self._quirk(told, body, quirks) if told else None
                if quirk is None:
                    raise
                quirks |= {quirk}
                self._quirks[call.model] = quirks
        raise broke_off(self._service, said=False)

    async def _post(self, body: Json) -> Any:
        """Plain JSON both ways: the SDKs' typed methods walk the whole conversation and make
        objects of every chunk, which takes longer than everything else in a turn."""
        if self._client is None:
            self._client = self._connected()
        return await self._client.post(
            self.path,
            content=msgspec.json.encode(body),
            cast_to=object,
            stream=True,
            stream_cls=self.sdk.AsyncStream[object],
        )

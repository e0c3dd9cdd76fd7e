"""The models of one session: finds who serves a call, asks again, asks another, reports usage.

The graph calls this and nothing else of `llm`. What was said once is never said again: a call
is repeated only while nothing of its answer has been passed on; later a fallback goes on.
"""

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.backoff import Backoff
from trunkline.execution.errors import ModelError, RequestFailed
from trunkline.execution.line import ControlPlane
from trunkline.execution.llm import estimate, lessons, tokens
from trunkline.execution.llm.anthropic_provider import AnthropicProvider
from trunkline.execution.llm.base import (
    BaseLLMProvider,
    Call,
    Images,
    Message,
    Piece,
    Reply,
    Text,
    Thinking,
    Usage,
)
from trunkline.execution.llm.demo_provider import DemoProvider
from trunkline.execution.llm.http_client import HttpClient
from trunkline.execution.llm.local_model import LocalProvider
from trunkline.execution.llm.model_lists import asked_window
from trunkline.execution.llm.openai_provider import OpenAIProvider
from trunkline.execution.llm.patience import NEWS_S, Patience
from trunkline.execution.llm.routes import DEMO, LOCAL, Route, Routes
from trunkline.execution.llm.sdk_provider import SdkProvider
from trunkline.execution.llm.windows import WINDOW_DEFAULT, Lesson, Windows

log = structlog.get_logger(__name__)

MODEL_RETRY_AFTER_S_MAX = 30.0  # a provider that asks for more is not asked again
WINDOW_SURE = 3_000  # tokens that every model can read
WINDOW_WAIT_S = 1.0  # for a server that says how much a model reads

_PROVIDERS: dict[str, Callable[..., BaseLLMProvider]] = {
    "anthropic": AnthropicProvider,
    "openai": OpenAIProvider,
}
"""By the format that is spoken."""
_PASSWORD = re.compile(r"//[^/@]*@")
# Another model would be told the same.
_FINAL = ("MODEL_REFUSED", "MODEL_CONTEXT_FULL")
_GO_ON = (
    "(The connection broke off in the middle of your answer above. Its reader has seen all of it. "
    "Go on exactly where it stops: repeat nothing, and say nothing about the break.)"
)


class Shelf(Protocol):
    """Where the pictures of a conversation are."""

    async def load(self, messages: Sequence[Message]) -> Images: ...


class Router:
    """Close a stream early with `aclose`: its HTTP request ends at once."""

    def __init__(
        self,
        api_keys: Mapping[str, str],
        llm_config: Mapping[str, Any],
        control: ControlPlane,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        env: Mapping[str, str] | None = None,
        pictures: Shelf | None = None,
        windows: Windows | None = None,
        news_s: tuple[float, ...] = NEWS_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keys = dict(api_keys)
        self._routes = Routes(self._keys, llm_config, env or {})
        self._control = control
        self._sleep = sleep
        self._pictures = pictures
        self._news_s = news_s
        self._clock = clock
        self._http = HttpClient()
        self._providers: dict[str, BaseLLMProvider] = {}
        self._windows = windows or Windows()
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._telling: set[asyncio.Task[None]] = set()

    def default_model(self) -> str:
        return self._routes.default_model()

    async def stream(self, call: Call) -> AsyncGenerator[Piece, None]:
        """Pieces as they come, then one Reply. Raises ModelError."""
        first = call.model.strip() or self.default_model()
        second = self._routes.fallback_model()
        failed: ModelError | None = None
        before = ""
        for name in (first, second):
            attempt = _Attempt()
            asked = _going_on(call, before)
            async with contextlib.aclosing(self._persistently(name, asked, attempt)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Reply) and before:
                        piece = msgspec.structs.replace(piece, text=before + piece.text)
                    yield piece
            error = attempt.error
            if error is None:
                return
            if failed is not None and not attempt.said:
                both = f"{failed.message} The fallback model failed too: {error.message}"
                raise ModelError(failed.code, both)
            if failed is not None or second in ("", first) or error.code in _FINAL:
                raise error
            if attempt.said and not error.retryable:
                raise error
            failed, before = error, attempt.text
            how = f"{second} goes on from there." if before else f"Asking {second} instead."
            yield Thinking(f"{failed.message} {how}", "model")

    def is_plain(self, name: str) -> bool:
        """Whether it takes neither tools nor more than the opening of a system prompt."""
        route = self._found(name)
        return route is not None and route.api in (LOCAL, DEMO)

    async def window(self, name: str, size: int = 0) -> int:
        """The model's context in tokens, as far as it is known. Its server is asked once, on the
        side; a call of that size waits a moment for the answer where it might not fit."""
        route = self._found(name)
        if route is None:
            return WINDOW_DEFAULT
        place = _place(route)
        if route.api in _PROVIDERS and place not in self._asking:
            self._asking[place] = asyncio.create_task(self._ask(route), name="model's window")
            await self._lesson(place)
        if size > WINDOW_SURE and not self._windows.is_sure(place) and place in self._asking:
            await asyncio.wait({self._asking[place]}, timeout=WINDOW_WAIT_S)
        return self._windows.of(place, route.model)

    def learn(self, name: str, window: int) -> None:
        """What a refusal taught: other sessions of this machine need not be refused too."""
        if route := self._found(name):
            place = _place(route)
            known = msgspec.structs.asdict(self._windows.taught(place, window))
            telling = asyncio.create_task(self._lesson(place, **known), name="window learned")
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)

    async def _lesson(self, place: str, **learned: int) -> None:
        """Asks the machine what a refusal taught about that model, or tells it."""
        try:
            async with asyncio.timeout(WINDOW_WAIT_S):
                known = await self._control.request(lessons.METHOD, place=place, **learned)
                if known is not None and not learned:
                    self._windows.remember(place, msgspec.convert(known, Lesson))
        except (ConnectionError, TimeoutError, RequestFailed, msgspec.ValidationError) as error:
            log.info("lesson_not_shared", reason=repr(error)[:200])

    def _found(self, name: str) -> Route | None:
        with contextlib.suppress(ModelError):
            return self._routes.find(name.strip() or self.default_model())
        return None

    async def _ask(self, route: Route) -> None:
        provider = self._provider(route)
        if isinstance(provider, SdkProvider) and provider.tells_windows:
            key = self._keys.get(route.provider, "")
            window = await asked_window(self._http.get(), route, provider.base_url, key)
            self._windows.told(_place(route), window)

    async def close(self) -> None:
        await asyncio.gather(*self._telling, return_exceptions=True)
        for asking in self._asking.values():
            asking.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)
        self._providers.clear()
        await self._http.close()

    async def _persistently(
        self, name: str, call: Call, attempt: "_Attempt"
    ) -> AsyncGenerator[Piece, None]:
        """One model, asked again where that can help; `attempt` says how it ended."""
        backoff = Backoff(limits.MODEL_RETRY_DELAYS_S)
        while True:
            attempt.error = None
            try:
                async with contextlib.aclosing(self._once(name, call)) as pieces:
                    async for piece in pieces:
                        attempt.take(piece)
                        yield piece
            except ModelError as error:
                error.model = name
                attempt.error = error
            failed = attempt.error
            if failed is None or attempt.said:
                return
            if backoff.is_exhausted or not _worth_asking(failed):
                return
            pause_s = backoff.next_s(failed.retry_after_s)
            log.info("model_asked_again", model=name, code=failed.code, pause_s=pause_s)
            yield Thinking(f"{failed.message} Asking again in {pause_s:.0f} s.", "model")
            await self._sleep(pause_s)

    async def _once(self, name: str, call: Call) -> AsyncGenerator[Piece, None]:
        route = self._routes.find(name)
        images = await self._pictures.load(call.messages) if self._pictures else {}
        asked = msgspec.structs.replace(call, model=route.model, images=images)
        started = self._clock()
        spent = Usage()
        patience = Patience(
            route.model,
            first_byte_s=call.first_byte_timeout_s,
            silence_s=call.silence_timeout_s,
            tell=call.tell,
            news_s=self._news_s,
        )
        is_whole = is_free = False
        said = 0.0  # tokens, about
        stream = self._provider(route).stream(asked)
        try:
            async with contextlib.aclosing(stream) as pieces:
                while True:
                    try:
                        piece = await patience.next(pieces)
                    except StopAsyncIteration:
                        break
                    if isinstance(piece, Usage):
                        spent = piece
                        continue
                    if isinstance(piece, Text | Thinking):
                        said += tokens.of_text(piece.text)
                    elif isinstance(piece, Reply):
                        is_whole = True
                        piece = msgspec.structs.replace(piece, latency_ms=self._since_ms(started))
                        self._report(call, piece.model, piece.usage, piece.latency_ms)
                    yield piece
        except ModelError:
            is_free = not patience.has_begun and not patience.is_spent  # nobody took the call
            raise
        finally:
            patience.close()
            if not is_whole and not is_free:  # closed, or broken off: it has its price all the same
                spent = estimate.completed(spent, asked, said)
                self._report(call, route.model, spent, self._since_ms(started))

    def _since_ms(self, started: float) -> int:
        return round((self._clock() - started) * 1000)

    def _report(self, call: Call, model: str, usage: Usage, latency_ms: int) -> None:
        if call.used is not None:
            call.used(model, usage)
        tokens = msgspec.structs.asdict(usage)
        self._control.fire_and_forget("usage_report", model=model, latency_ms=latency_ms, **tokens)

    def _provider(self, route: Route) -> BaseLLMProvider:
        if route.provider not in self._providers:
            self._providers[route.provider] = self._make(route)
        return self._providers[route.provider]

    def _make(self, route: Route) -> BaseLLMProvider:
        if route.api == LOCAL:
            return LocalProvider(self._control, self._http)
        if route.api == DEMO:
            return DemoProvider(LocalProvider(self._control, self._http, introduces=False))
        return _PROVIDERS[route.api](
            name=route.provider,
            api_key=self._keys.get(route.provider, ""),
            base_url=route.base_url,
            http=self._http,
            others=self._routes.set_up(),
        )


def _place(route: Route) -> str:
    """A model at a server; an address may have a password, which is nobody's business."""
    server = _PASSWORD.sub("//", route.base_url) if route.base_url else route.provider
    return f"{server} {route.model}"


class _Attempt:
    """How a model did: whether it said something, and why it stopped, if it failed."""

    def __init__(self) -> None:
        self.said = False
        self.error: ModelError | None = None
        self._parts: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def take(self, piece: Piece) -> None:
        if isinstance(piece, Text):
            self._parts.append(piece.text)
        self.said = self.said or isinstance(piece, Text | Reply)


def _going_on(call: Call, before: str) -> Call:
    """The call for a model that goes on with what another one has begun to say."""
    if not before:
        return call
    begun: list[Message] = [
        {"role": "assistant", "content": before},
        {"role": "user", "content": _GO_ON},
    ]
    return msgspec.structs.replace(call, messages=[*call.messages, *begun])


def _worth_asking(failed: ModelError) -> bool:
    return failed.retryable and failed.retry_after_s <= MODEL_RETRY_AFTER_S_MAX

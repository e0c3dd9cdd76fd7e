"""OpenAI's chat completions, streamed by the official SDK; also any server that speaks them."""

import contextlib
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import openai

from trunkline import limits
from trunkline.execution.llm.answer import Answer, CallParts
from trunkline.execution.llm.base import BaseLLMProvider, Call, Json, Piece, Thinking
from trunkline.execution.llm.errors import Service, broke_off, no_key, refused
from trunkline.execution.llm.http_client import HttpClient
from trunkline.execution.llm.openai_messages import Quirks, quirk_of, request, usage_of
from trunkline.execution.llm.sdk_errors import as_model_error, told_by

DEFAULT_BASE_URL = "https://api.openai.com/v1"


class OpenAIProvider(BaseLLMProvider):
    """One account at one base URL. The SDK's client is made on the first call."""

    def __init__(
        self, *, name: str = "openai", api_key: str, base_url: str = "", http: HttpClient
    ) -> None:
        self.name = name
        self._key = api_key
        self._base_url = base_url or DEFAULT_BASE_URL
        self._http = http
        self._client: openai.AsyncOpenAI | None = None
        self._quirks: dict[str, Quirks] = {}
        self._service = Service.at(name, self._base_url)
        self._is_openai = self._service.host == "api.openai.com"

    async def stream(self, call: Call) -> AsyncGenerator[Piece, None]:
        if not self._key and self._is_openai:
            raise no_key(self._service)
        answer = Answer(self._service, call.model)
        try:
            async with contextlib.aclosing(self._pieces(call, answer)) as pieces:
                async for piece in pieces:
                    yield piece
        except Exception as error:
            raise as_model_error(
                openai,
                error,
                service=self._service,
                model=call.model,
                key=self._key,
                said=answer.said,
            ) from None
        yield answer.reply()

    async def close(self) -> None:
        self._client = None

    async def _pieces(self, call: Call, answer: Answer) -> AsyncGenerator[Piece, None]:
        quirks = self._quirks.get(call.model, frozenset())
        stream, known = await self._open(call, quirks)
        if "no tools" in known - quirks and call.tools:
            yield Thinking(f"{self._service} takes no tools: asked without them.", "model")
        reading = _Reading(answer, self.name, call.model)
        async with stream:
            async for chunk in stream:
                for piece in reading.take(chunk):
                    yield piece
        if not reading.ended:
            raise broke_off(self._service, answer.said)
        answer.provider_blocks = reading.blocks()
        if answer.empty and answer.stop_reason == "content_filter":
            raise refused(self._service)

    async def _open(self, call: Call, quirks: Quirks) -> tuple[Any, Quirks]:
        """The stream. A server that refuses a parameter by name is asked without it, at once
        and from then on."""
        for _ in range(limits.MODEL_REFUSALS_MAX):
            body = request(call, quirks, is_openai=self._is_openai, provider=self.name)
            try:
                return await self._sdk().chat.completions.create(**body), quirks
            except openai.APIStatusError as error:
                told = told_by(openai, error)
                quirk = quirk_of(told, body, quirks) if told else None
                if quirk is None:
                    raise
                quirks |= {quirk}
                self._quirks[call.model] = quirks
        raise broke_off(self._service, said=False)

    def _sdk(self) -> openai.AsyncOpenAI:
        if self._client is None:
            self._client = openai.AsyncOpenAI(
                api_key=self._key or "none",
                base_url=self._base_url,
                max_retries=0,  # the router retries, and says so
                http_client=self._http.get(),
            )
        return self._client


class _Reading:
    """Reads chunks. Fields may be missing or of any type: the SDK does not check them."""

    def __init__(self, answer: Answer, provider: str, model: str) -> None:
        self._answer = answer
        self._provider = provider
        self._model = model
        self._calls: dict[object, CallParts] = {}
        self._thoughts: list[str] = []
        self.ended = False

    def take(self, chunk: Any) -> Iterator[Piece]:
        if getattr(chunk, "usage", None) is not None:
            self._answer.usage = usage_of(chunk.usage)
            self.ended = self.ended or not chunk.choices
        for choice in (chunk.choices or [])[:1]:
            if choice.delta is not None:
                yield from self._delta(choice.delta)
            if isinstance(choice.finish_reason, str):
                self._answer.stop_reason = choice.finish_reason
                self.ended = True

    def _delta(self, delta: Any) -> Iterator[Piece]:
        thought = getattr(delta, "reasoning_content", None)
        if isinstance(thought, str):
            self._thoughts.append(thought)
        if shown := self._answer.thinking(thought or getattr(delta, "reasoning", None)):
            yield shown
        for said in (delta.content, delta.refusal):
            if text := self._answer.text(said):
                yield text
        for part in delta.tool_calls or []:
            self._tool_call(part)

    def blocks(self) -> Json | None:
        """What some servers want back, with the next tool results."""
        if not self._thoughts:
            return None
        thoughts = "".join(self._thoughts)
        return {"provider": self._provider, "model": self._model, "reasoning_content": thoughts}

    def _tool_call(self, part: Any) -> None:
        index, call_id = part.index, part.id
        call = self._calls.get(index)
        # Some servers give every parallel call the index 0 and tell them apart by their ids.
        if call is None or (call_id and call.id and call.id != call_id):
            call = self._calls[index] = self._answer.call()
        function = part.function
        call.named(call_id, getattr(function, "name", None))
        call.arguments(getattr(function, "arguments", None))

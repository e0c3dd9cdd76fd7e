"""OpenAI's chat completions, streamed by the official SDK; also any server that speaks them."""

import contextlib
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import msgspec
import openai

from trunkline import limits
from trunkline.execution.llm.answer import Answer, CallParts, fields
from trunkline.execution.llm.base import BaseLLMProvider, Call, Json, Piece, Thinking
from trunkline.execution.llm.errors import Service, broke_off, no_key, refused
from trunkline.execution.llm.http_client import HttpClient
from trunkline.execution.llm.openai_messages import Quirks, quirk_of, request, usage_of
from trunkline.execution.llm.sdk_errors import as_model_error, told_by

DEFAULT_BASE_URL = "https://api.openai.com/v1"
_Stream = openai.AsyncStream[object]


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

    async def _open(self, call: Call, quirks: Quirks) -> tuple[_Stream, Quirks]:
        """The stream. A server that refuses a parameter by name is asked without it, at once
        and from then on."""
        for _ in range(limits.MODEL_REFUSALS_MAX):
            body = request(call, quirks, is_openai=self._is_openai, provider=self.name)
            try:
                return await self._post(body), quirks
            except openai.APIStatusError as error:
                told = told_by(openai, error)
                quirk = quirk_of(told, body, quirks) if told else None
                if quirk is None:
                    raise
                quirks |= {quirk}
                self._quirks[call.model] = quirks
        raise broke_off(self._service, said=False)

    async def _post(self, body: Json) -> _Stream:
        """Plain JSON both ways: the SDK's typed method walks the whole conversation and makes
        objects of every chunk, which takes longer than everything else in a turn."""
        return await self._sdk().post(
            "/chat/completions",
            content=msgspec.json.encode(body),
            cast_to=object,
            stream=True,
            stream_cls=_Stream,
        )

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
    """Reads chunks. Fields may be missing or of any type: nobody has checked them, and what
    cannot be read raises."""

    def __init__(self, answer: Answer, provider: str, model: str) -> None:
        self._answer = answer
        self._provider = provider
        self._model = model
        self._calls: dict[object, CallParts] = {}
        self._thoughts: list[str] = []
        self.ended = False

    def take(self, chunk: Any) -> Iterator[Piece]:
        choices, usage = chunk.get("choices"), chunk.get("usage")
        if usage is not None:
            self._answer.usage = usage_of(usage)
            self.ended = self.ended or not choices
        for choice in (choices or [])[:1]:
            if (delta := choice.get("delta")) is not None:
                yield from self._delta(delta)
            if isinstance(reason := choice.get("finish_reason"), str):
                self._answer.stop_reason = reason
                self.ended = True

    def _delta(self, delta: Any) -> Iterator[Piece]:
        thought = delta.get("reasoning_content")
        if isinstance(thought, str):
            self._thoughts.append(thought)
        if shown := self._answer.thinking(thought or delta.get("reasoning")):
            yield shown
        for said in (delta.get("content"), delta.get("refusal")):
            if text := self._answer.text(said):
                yield text
        for part in delta.get("tool_calls") or []:
            self._tool_call(part)

    def blocks(self) -> Json | None:
        """What some servers want back, with the next tool results."""
        if not self._thoughts:
            return None
        thoughts = "".join(self._thoughts)
        return {"provider": self._provider, "model": self._model, "reasoning_content": thoughts}

    def _tool_call(self, part: Any) -> None:
        index, call_id = part.get("index"), part.get("id")
        call = self._calls.get(index)
        # Some servers give every parallel call the index 0 and tell them apart by their ids.
        if call is None or (call_id and call.id and call.id != call_id):
            call = self._calls[index] = self._answer.call()
        function = fields(part.get("function"))
        call.named(call_id, function.get("name"))
        call.arguments(function.get("arguments"))

"""Anthropic's messages API, streamed by the official SDK; also gateways that speak it."""

import contextlib
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import anthropic
import msgspec

from trunkline import limits
from trunkline.execution.llm.answer import Answer, CallParts, fields
from trunkline.execution.llm.anthropic_messages import (
    THOUGHTS,
    Quirks,
    quirk_of,
    request,
    usage_of,
)
from trunkline.execution.llm.base import BaseLLMProvider, Call, Json, Piece, Usage
from trunkline.execution.llm.errors import (
    Refusal,
    Service,
    broke_off,
    explained,
    no_key,
    refused,
)
from trunkline.execution.llm.http_client import HttpClient
from trunkline.execution.llm.sdk_errors import as_model_error, told_by

DEFAULT_BASE_URL = "https://api.anthropic.com"
_Stream = anthropic.AsyncStream[object]
_STOP_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}
_WINDOW_FULL = "model_context_window_exceeded"


class AnthropicProvider(BaseLLMProvider):
    """One account at one base URL. The SDK's client is made on the first call."""

    def __init__(
        self, *, name: str = "anthropic", api_key: str, base_url: str = "", http: HttpClient
    ) -> None:
        self.name = name
        self._key = api_key
        self._base_url = base_url or DEFAULT_BASE_URL
        self._http = http
        self._client: anthropic.AsyncAnthropic | None = None
        self._quirks: dict[str, Quirks] = {}
        self._service = Service.at(name, self._base_url)

    async def stream(self, call: Call) -> AsyncGenerator[Piece | Usage, None]:
        if not self._key and not self._is_gateway:
            raise no_key(self._service)
        answer = Answer(self._service, call.model)
        try:
            async with contextlib.aclosing(self._pieces(call, answer)) as pieces:
                async for piece in pieces:
                    yield piece
        except Exception as error:
            raise as_model_error(
                anthropic,
                error,
                service=self._service,
                model=call.model,
                key=self._key,
                said=answer.said,
            ) from None
        yield answer.reply()

    async def close(self) -> None:
        self._client = None

    @property
    def _is_gateway(self) -> bool:
        return self._base_url != DEFAULT_BASE_URL

    async def _pieces(self, call: Call, answer: Answer) -> AsyncGenerator[Piece | Usage, None]:
        reading = _Reading(answer, call.model)
        async with await self._open(call) as stream:
            async for event in stream:
                for piece in reading.take(event):
                    yield piece
        if not reading.ended:
            raise broke_off(self._service, answer.said)
        answer.provider_blocks = reading.kept()
        if answer.empty and answer.stop_reason == "content_filter":
            raise refused(self._service)
        if answer.empty and answer.stop_reason == _WINDOW_FULL:
            full = Refusal(status=400, message="context window exceeded")
            raise explained(self._service, call.model, full)

    async def _open(self, call: Call) -> _Stream:
        """The stream. What a model refuses by name is left out, at once and from then on."""
        quirks = self._quirks.get(call.model, frozenset())
        for _ in range(limits.MODEL_REFUSALS_MAX):
            body = request(call, quirks)
            try:
                return await self._post(body)
            except anthropic.APIStatusError as error:
                told = told_by(anthropic, error)
                quirk = quirk_of(told, body, quirks) if told else None
                if quirk is None:
                    raise
                quirks |= {quirk}
                self._quirks[call.model] = quirks
        raise broke_off(self._service, said=False)

    async def _post(self, body: Json) -> _Stream:
        """Plain JSON both ways: the SDK's typed method makes objects of every event."""
        return await self._sdk().post(
            "/v1/messages",
            content=msgspec.json.encode(body),
            cast_to=object,
            stream=True,
            stream_cls=_Stream,
        )

    def _sdk(self) -> anthropic.AsyncAnthropic:
        if self._client is None:
            # Gateways older than the SDK look for the key where the API used to.
            key = self._key or "none"
            self._client = anthropic.AsyncAnthropic(
                api_key=key,
                base_url=self._base_url,
                max_retries=0,  # the router retries, and says so
                http_client=self._http.get(),
                default_headers={"x-api-key": key} if self._is_gateway else None,
            )
        return self._client


class _Reading:
    """Reads events. Fields may be missing or of any type: nobody has checked them, and what
    cannot be read raises."""

    def __init__(self, answer: Answer, model: str) -> None:
        self._answer = answer
        self._model = model
        self._blocks: dict[object, _Block] = {}
        self._start: Json = {}
        self.ended = False

    def take(self, event: Any) -> Iterator[Piece | Usage]:
        kind, index = event.get("type"), event.get("index")
        if kind == "message_start":
            self._start = fields(event["message"].get("usage"))
            self._answer.usage = usage_of(self._start, {})
            yield self._answer.usage
        elif kind == "content_block_start":
            yield from self._open_block(index, event["content_block"])
        elif kind == "content_block_delta" and index in self._blocks:
            yield from self._delta(self._blocks[index], event["delta"])
        elif kind == "message_delta":
            reason = event["delta"].get("stop_reason")
            if isinstance(reason, str):
                self._answer.stop_reason = _STOP_REASONS.get(reason, reason)
            self._answer.usage = usage_of(self._start, fields(event.get("usage")))
        elif kind == "message_stop":
            self.ended = True

    def kept(self) -> Json | None:
        """The answer's blocks in their order, when there are thoughts among them: those have to
        go back as they were. A call is known by its id."""
        if not any(block.kind in THOUGHTS for block in self._blocks.values()):
            return None
        blocks = [block.as_json() for block in self._blocks.values()]
        return {"provider": "anthropic", "model": self._model, "blocks": blocks}

    def _open_block(self, index: object, started: Any) -> Iterator[Piece]:
        block = self._blocks[index] = _Block(started["type"])
        if block.kind == "tool_use":
            block.call = self._answer.call()
            block.call.named(started.get("id"), started.get("name"))
            if given := started.get("input"):
                block.call.arguments(given)
        elif block.kind == "text":
            if text := self._answer.text(started.get("text")):
                block.parts.append(text.text)
                yield text
        elif block.kind == "redacted_thinking":
            block.parts.append(self._answer.measured(started.get("data")))

    def _delta(self, block: "_Block", delta: Any) -> Iterator[Piece]:
        kind = delta.get("type")
        if kind == "text_delta" and block.kind == "text":
            if text := self._answer.text(delta.get("text")):
                block.parts.append(text.text)
                yield text
        elif kind == "thinking_delta" and block.kind == "thinking":
            if thought := self._answer.thinking(delta.get("thinking")):
                block.parts.append(thought.text)
                yield thought
        elif kind == "signature_delta":
            block.signature += self._answer.measured(delta.get("signature"))
        elif kind == "input_json_delta" and block.call is not None:
            block.call.arguments(delta.get("partial_json"))


class _Block:
    """One block of the answer, in parts."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.parts: list[str] = []
        self.signature = ""
        self.call: CallParts | None = None

    def as_json(self) -> Json:
        content = "".join(self.parts)
        if self.call is not None:
            return {"type": "tool_use", "id": self.call.settled_id()}
        if self.kind == "thinking":
            return {"type": "thinking", "thinking": content, "signature": self.signature}
        field = "data" if self.kind == "redacted_thinking" else "text"
        return {"type": self.kind, field: content}

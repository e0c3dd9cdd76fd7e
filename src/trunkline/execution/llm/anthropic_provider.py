"""Anthropic's messages API, streamed by the official SDK; also gateways that speak it."""

from collections.abc import Iterator
from typing import Any

import anthropic

from trunkline.execution.json_object import Json
from trunkline.execution.llm.anthropic_messages import THOUGHTS, quirk_of, request, usage_of
from trunkline.execution.llm.base import Call, Piece, Quirks, Usage
from trunkline.execution.llm.errors import Refusal
from trunkline.execution.llm.reply_builder import CallParts, ReplyBuilder, fields
from trunkline.execution.llm.sdk_provider import Reading, SdkProvider

_STOP_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}


class AnthropicProvider(SdkProvider):
    sdk: Any = anthropic
    path = "/v1/messages"
    usual_base_url = "https://api.anthropic.com"

    def _reading(self, answer: ReplyBuilder, model: str) -> Reading:
        return _Reading(answer, model)

    def _body(self, call: Call, quirks: Quirks) -> Json:
        return request(call, quirks)

    def _quirk(self, told: Refusal, body: Json, quirks: Quirks) -> str | None:
        return quirk_of(told, body, quirks)

    def _connected(self) -> anthropic.AsyncAnthropic:
        # Gateways older than the SDK look for the key where the API used to.
        key = self._key or "none"
        return anthropic.AsyncAnthropic(
            api_key=key,
            base_url=self._base_url,
            max_retries=0,  # the router retries, and says so
            http_client=self._http.get(),
            default_headers=None if self._is_own else {"x-api-key": key},
        )


class _Reading:
    """Of events."""

    def __init__(self, answer: ReplyBuilder, model: str) -> None:
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

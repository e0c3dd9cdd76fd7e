"""OpenAI's chat completions, streamed by the official SDK; also any server that speaks them."""

from collections.abc import Iterator
from typing import Any

import openai

from trunkline.execution.json_object import Json
from trunkline.execution.llm.base import Call, Piece, Quirks
from trunkline.execution.llm.errors import Refusal
from trunkline.execution.llm.openai_messages import quirk_of, request, usage_of
from trunkline.execution.llm.reply_builder import CallParts, ReplyBuilder, fields
from trunkline.execution.llm.sdk_provider import Reading, SdkProvider


class OpenAIProvider(SdkProvider):
    sdk: Any = openai
    path = "/chat/completions"
    usual_base_url = "https://api.openai.com/v1"

    @property
    def tells_windows(self) -> bool:
        return not self._is_own  # OpenAI's own list has names only

    def _reading(self, answer: ReplyBuilder, model: str) -> Reading:
        return _Reading(answer, self.name, model)

    def _body(self, call: Call, quirks: Quirks) -> Json:
        return request(call, quirks, is_openai=self._is_own, provider=self.name)

    def _quirk(self, told: Refusal, body: Json, quirks: Quirks) -> str | None:
        return quirk_of(told, body, quirks)

    def _connected(self) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(
            api_key=self._key or "none",
            base_url=self._base_url,
            max_retries=0,  # the router retries, and says so
            http_client=self._http.get(),
        )


class _Reading:
    """Of chunks."""

    def __init__(self, answer: ReplyBuilder, provider: str, model: str) -> None:
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

    def kept(self) -> Json | None:
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

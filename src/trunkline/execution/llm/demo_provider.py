"""The demo model: shows what agents do here, with real tools and no key. It says what it is."""

import contextlib
import re
from collections.abc import AsyncGenerator
from uuid import uuid4

from trunkline.execution.errors import ModelError
from trunkline.execution.llm import demo_words
from trunkline.execution.llm.base import (
    BaseLLMProvider,
    Call,
    Json,
    Message,
    Piece,
    Reply,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from trunkline.execution.llm.demo_commands import is_chinese, wants_help, wishes

_RESULT_CHARS_MAX = 6_000
_LOCAL = "The demo model knows no answer to free text. Handing it to the small local model."
_LOCAL_ZH = "演示模型不会回答自由文本，交给本机的小模型。"


class DemoProvider(BaseLLMProvider):
    """Answers a command with a tool call, a tool's result by showing it, and hands free text to
    the local model."""

    name = "demo"

    def __init__(self, local: BaseLLMProvider) -> None:
        self._local = local
        self._introduced = False

    async def stream(self, call: Call) -> AsyncGenerator[Piece | Usage, None]:
        asked = _asked(call.messages)
        chinese = is_chinese(asked)
        if not self._introduced:
            self._introduced = True
            words = demo_words.INTRODUCTION_ZH if chinese else demo_words.INTRODUCTION
            yield Thinking(words, "model")
        if results := _results(call.messages):
            answer = "\n\n".join(_shown(result, call.messages) for result in results)
        elif wants_help(asked):
            answer = demo_words.HELP_ZH if chinese else demo_words.HELP
        elif wanted := wishes(asked):
            offered = {spec.name for spec in call.tools}
            missing = [wish.tool for wish in wanted if wish.tool not in offered]
            if not missing:
                yield Reply(
                    model=call.model,
                    text="",
                    tool_calls=[_tool_call(wish.tool, wish.arguments) for wish in wanted],
                    stop_reason="tool_calls",
                )
                return
            words = demo_words.NO_TOOL_ZH if chinese else demo_words.NO_TOOL
            answer = words.format(tool=missing[0])
        else:
            async with contextlib.aclosing(self._free_text(call, chinese)) as pieces:
                async for piece in pieces:
                    yield piece
            return
        for line in answer.splitlines(keepends=True):  # in pieces, so that it is seen to stream
            yield Text(line)
        yield Reply(model=call.model, text=answer, stop_reason="stop")

    async def close(self) -> None:
        await self._local.close()

    async def _free_text(self, call: Call, chinese: bool) -> AsyncGenerator[Piece | Usage, None]:
        yield Thinking(_LOCAL_ZH if chinese else _LOCAL, "model")
        said = False
        try:
            async with contextlib.aclosing(self._local.stream(call)) as pieces:
                async for piece in pieces:
                    said = said or isinstance(piece, Text)
                    yield piece
        except ModelError as error:
            if said:
                raise
            words = demo_words.FREE_TEXT_ZH if chinese else demo_words.FREE_TEXT
            answer = words.format(reason=error.message)
            yield Text(answer)
            yield Reply(model=call.model, text=answer, stop_reason="stop")


def _asked(messages: list[Message]) -> str:
    said = (message["content"] for message in reversed(messages) if message["role"] == "user")
    return next(said, "")


def _results(messages: list[Message]) -> list[Message]:
    """The tool results that came since the model's last answer."""
    found: list[Message] = []
    for message in reversed(messages):
        if message["role"] != "tool":
            break
        found.insert(0, message)
    return found


def _shown(result: Message, messages: list[Message]) -> str:
    """A tool's result for a person: its name and what it gave, whole lines, in a fence."""
    call_id = result.get("tool_call_id", "")
    calls = (call for message in messages for call in message.get("tool_calls") or [])
    name = next((call["name"] for call in calls if call["id"] == call_id), "tool")
    content = result["content"].rstrip()
    if len(content) > _RESULT_CHARS_MAX:
        content = content[:_RESULT_CHARS_MAX] + "\n…"
    verb = "could not do it" if result.get("is_error") else "gave"
    longest = max((len(run) for run in re.findall(r"`{3,}", content)), default=2)
    fence = "`" * (longest + 1)
    return f"`{name}` {verb}:\n\n{fence}\n{content or '(nothing)'}\n{fence}"


def _tool_call(name: str, arguments: Json) -> ToolCall:
    return ToolCall(id=f"call_{uuid4().hex[:24]}", name=name, arguments=arguments)

"""A session's conversation as its log has it, for a machine that has lost its own: what was asked,
what was answered, which tools were called and what came of it. `messages_of` is pure.

What sub-agents did is part of the call that asked them. Long results are cut in the middle where
the whole would not fit into one frame, and the oldest turns are left out.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from trunkline import limits
from trunkline.control.log.log import Log
from trunkline.control.services.methods import Caller

_EVENTS_MAX = 50_000  # the newest that are looked through
_BYTES_MAX = 2 * limits.MIB
_RESULT_CHARS_MAX = 20_000  # where not everything fits

Json = dict[str, Any]


class _Event(msgspec.Struct):
    """What of an event makes a conversation. Lenient: machines of many kinds wrote it."""

    type: str
    content: Any = None
    turn_id: Any = None
    agent: Any = None
    parent_tool_call_id: Any = None
    tool_call_id: Any = None
    tool_name: Any = None
    tool_input: Any = None
    result: Any = None
    is_error: Any = False


_decoder = msgspec.json.Decoder(_Event)


class Transcripts:
    def __init__(self, log: Log) -> None:
        self._log = log

    async def asked(self, caller: Caller, from_turn: str | None = None) -> Json:
        """The request `get_conversation`: of the session that asks."""
        return await self.conversation(caller.session_id, from_turn)

    async def conversation(self, session_id: str, from_turn: str | None = None) -> Json:
        """Everything from that turn on; without one, or where it is too long ago, the newest."""
        session = await self._log.open(session_id)
        found = await self._log.newest(session, session.last_id, _EVENTS_MAX)
        messages = messages_of(line for _, line in found)
        starts = [at for at, one in enumerate(messages) if one["turn_id"] == from_turn]
        return {"messages": fitting(messages[starts[0] if from_turn and starts else 0 :])}


def messages_of(lines: Iterable[str]) -> list[Json]:
    """Each with its `turn_id`; results follow the message with their calls."""
    built = _Messages()
    for line in lines:
        try:
            event = _decoder.decode(line)
        except msgspec.MsgspecError:
            continue  # no event of a conversation
        if not event.agent and not event.parent_tool_call_id:
            built.add(event)
    built.end_step()
    return built.messages


def fitting(messages: list[Json], bytes_max: int = _BYTES_MAX) -> list[Json]:
    """What has room: long results cut first, then the oldest turns left out."""
    if _size(messages) > bytes_max:
        messages = [_cut(one) if one["role"] == "tool" else one for one in messages]
    while messages and _size(messages) > bytes_max:
        after = [at for at, one in enumerate(messages) if at and one["role"] == "user"]
        if not after:
            break
        messages = messages[after[0] :]
    return messages if _size(messages) <= 2 * bytes_max else []


class _Messages:
    """Messages as events make them, one after the other."""

    def __init__(self) -> None:
        self.messages: list[Json] = []
        self._turn_id: str | None = None
        self._text = ""
        self._calls: list[Json] = []
        self._results: dict[str, Json] = {}

    def add(self, event: _Event) -> None:
        match event.type:
            case "user_message":
                self.end_step()
                self._turn_id = _text(event.turn_id) or None
                self._say({"role": "user", "content": _text(event.content)})
            case "text_chunk":
                if self._results:
                    self.end_step()
                self._text += _text(event.content)
            case "tool_call_start":
                if self._results and len(self._results) == len(self._calls):
                    self.end_step()
                self._call(event)
            case "tool_call_complete":
                self._call(event)
                self._results[_text(event.tool_call_id)] = {
                    "role": "tool",
                    "tool_call_id": _text(event.tool_call_id),
                    "content": _text(event.result),
                    "is_error": event.is_error is True,
                }
            case "execution_complete":
                if not self._calls and not self._text:
                    self._text = _text(event.content)
                self.end_step()
            case "execution_error":
                self.end_step()

    def end_step(self) -> None:
        """The model's message, and the results of its calls in their order."""
        if self._calls:
            self._say({"role": "assistant", "content": self._text, "tool_calls": self._calls})
            for call in self._calls:
                if (result := self._results.get(call["id"])) is not None:
                    self._say(result)
        elif self._text:
            self._say({"role": "assistant", "content": self._text})
        self._text, self._calls, self._results = "", [], {}

    def _call(self, event: _Event) -> None:
        call_id = _text(event.tool_call_id)
        if not call_id or any(call["id"] == call_id for call in self._calls):
            return
        given = event.tool_input if isinstance(event.tool_input, dict) else {}
        self._calls.append({"id": call_id, "name": _text(event.tool_name), "arguments": given})

    def _say(self, message: Json) -> None:
        self.messages.append({**message, "turn_id": self._turn_id})


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _cut(message: Json) -> Json:
    content, half = message["content"], _RESULT_CHARS_MAX // 2
    if len(content) <= _RESULT_CHARS_MAX:
        return message
    return {**message, "content": f"{content[:half]}\n… (cut) …\n{content[-half:]}"}


def _size(messages: list[Json]) -> int:
    return len(msgspec.json.encode(messages))

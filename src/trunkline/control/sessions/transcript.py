"""A session's conversation as its log has it: what was asked, what was answered, which tools were
called and what came of it. For a machine that has lost its own, and for a copy of a session on a
machine that has not got the other's state.

What sub-agents did is part of the call that asked them. Where the whole would not fit into one
frame, long results are cut in the middle, and then the oldest turns are left out.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from trunkline import limits
from trunkline.control.log import events
from trunkline.control.log.log import Log
from trunkline.control.services.methods import Caller

_EVENTS_MAX = 50_000  # the newest that are looked through
_BYTES_MAX = 2 * limits.MIB
_HELD_BYTES_MAX = 8 * _BYTES_MAX  # while a log is read
_RESULT_CHARS_MAX = 20_000  # where not everything fits

Json = dict[str, Any]


class _Event(msgspec.Struct):
    """What of an event makes a conversation. Lenient: machines of many kinds wrote it."""

    type: str
    content: Any = None
    turn_id: Any = None
    message_id: Any = None
    steers: Any = None
    agent: Any = None
    parent_tool_call_id: Any = None
    tool_call_id: Any = None
    tool_name: Any = None
    tool_input: Any = None
    result: Any = None
    is_error: Any = False
    success: Any = None


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
    conversation = Conversation()
    conversation.take(lines)
    return conversation.messages()


def fitting(messages: list[Json], bytes_max: int = _BYTES_MAX) -> list[Json]:
    """What has room: long results cut first, then the oldest turns left out."""
    if _size(messages) > bytes_max:
        messages = [_cut(one) if one["role"] == "tool" else one for one in messages]
    while messages and _size(messages) > bytes_max:
        after = [
            at
            for at, one in enumerate(messages)
            if at and one["role"] == "user" and "steers" not in one
        ]
        if not after:
            break
        messages = messages[after[0] :]
    return messages if _size(messages) <= 2 * bytes_max else []


class Conversation:
    """Takes a log's lines in their order, and makes messages of them."""

    def __init__(self) -> None:
        self._turns: list[_Turn] = []
        self._by_id: dict[str, _Turn] = {}
        self._open: list[_Turn] = []
        self._said: dict[str, str] = {}
        """To turns that ran, and not heard yet; by their ids."""

    def take(self, lines: Iterable[str]) -> None:
        for line in lines:
            try:
                event = _decoder.decode(line)
            except (msgspec.MsgspecError, RecursionError):
                continue  # no event of a conversation
            if not event.agent and not event.parent_tool_call_id:
                self._take(event)
        held = sum(turn.size for turn in self._turns)
        while len(self._turns) > 1 and held > _HELD_BYTES_MAX:
            held -= self._turns.pop(0).size
        self._open = [turn for turn in self._turns if not turn.is_over]

    def messages(self) -> list[Json]:
        return [message for turn in self._turns for message in turn.whole()]

    def _take(self, event: _Event) -> None:
        text, message_id = _text(event.content), _text(event.message_id)
        match event.type:
            case "user_message" if event.steers:
                self._said[message_id] = text
            case "user_message" if isinstance(event.content, str):
                self._begin(event, text)
            case "steer_missed":
                self._begin(event, self._said.pop(message_id, ""))
            case "steer_taken":
                if (turn := self._of(event)) and message_id in self._said:
                    turn.hear(message_id, self._said.pop(message_id))
            case _:
                if turn := self._of(event):
                    turn.add(event)

    def _begin(self, event: _Event, question: str) -> None:
        turn = _Turn(_text(event.turn_id) or None, question)
        self._turns.append(turn)
        self._open.append(turn)
        if turn.turn_id:
            self._by_id[turn.turn_id] = turn

    def _of(self, event: _Event) -> "_Turn | None":
        """Messages wait while a turn runs: the newest turn need not be the one that runs."""
        if named := self._by_id.get(_text(event.turn_id)):
            return named
        while self._open and self._open[0].is_over:
            del self._open[0]
        return next(iter((*self._open, *self._turns[-1:])), None)


class _Turn:
    """A question and what came of it."""

    def __init__(self, turn_id: str | None, question: str) -> None:
        self.turn_id = turn_id
        self.is_over = False
        self.size = 0
        self._messages: list[Json] = []
        self._text = ""
        self._calls: list[Json] = []
        self._results: dict[str, Json] = {}
        self._heard: list[Json] = []
        """Behind the results that are not there yet."""
        self._say({"role": "user", "content": question})

    def whole(self) -> list[Json]:
        self._end_step()
        return self._messages

    def hear(self, message_id: str, text: str) -> None:
        """What was said to this turn, when its model reads it: behind what it did before."""
        self._heard.append({"role": "user", "content": text, "steers": message_id})
        if len(self._results) == len(self._calls):
            said, self._text = (self._text, "") if not self._calls else ("", self._text)
            self._end_step()
            self._text = said

    def add(self, event: _Event) -> None:
        match event.type:
            case "text_chunk":
                if self._results:
                    self._end_step()
                self._text += _text(event.content)
            case "tool_call_start":
                if self._results and len(self._results) == len(self._calls):
                    self._end_step()
                self._call(event)
            case "tool_call_complete":
                if call_id := self._call(event):
                    self._results[call_id] = {
                        "role": "tool",
                        "tool_call_id": call_id,
                        "content": _shown(event.result),
                        "is_error": event.is_error is True or event.success is False,
                    }
            case kind if kind in events.TERMINAL:
                if not self._calls and not self._text:
                    self._text = _text(event.content)
                self._end_step()
                self.is_over = True

    def _end_step(self) -> None:
        """The model's message, the results of its calls in their order, and what was said then."""
        if self._calls:
            self._say({"role": "assistant", "content": self._text, "tool_calls": self._calls})
            for call in self._calls:
                if (result := self._results.get(call["id"])) is not None:
                    self._say(result)
        elif self._text:
            self._say({"role": "assistant", "content": self._text})
        for heard in self._heard:
            self._say(heard)
        self._text, self._calls, self._results, self._heard = "", [], {}, []

    def _call(self, event: _Event) -> str:
        """Its id, if it is a call of this step."""
        call_id, name = _text(event.tool_call_id), _text(event.tool_name)
        if any(call["id"] == call_id for call in self._calls):
            return call_id
        if not call_id or not name:
            return ""
        given = event.tool_input if isinstance(event.tool_input, dict) else {}
        self._calls.append({"id": call_id, "name": name, "arguments": given})
        return call_id

    def _say(self, message: Json) -> None:
        self.size += _size(message)
        self._messages.append({**message, "turn_id": self.turn_id})


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _cut(message: Json) -> Json:
    content, half = message["content"], _RESULT_CHARS_MAX // 2
    if len(content) <= _RESULT_CHARS_MAX:
        return message
    return {**message, "content": f"{content[:half]}\n… (cut) …\n{content[-half:]}"}


def _shown(result: Any) -> str:
    if result is None or isinstance(result, str):
        return result or ""
    return msgspec.json.encode(result).decode()


def _size(told: Any) -> int:
    return len(msgspec.json.encode(told))

"""A log as a conversation: what was asked and answered, which tools were called and what came of
it. Pure.

Each turn stands for itself: messages that wait for a running turn, or are said to it, are in the
log before that turn's own events are over. What sub-agents did is part of the call that asked them.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from trunkline.control.log import events
from trunkline.wire.errors import Malformed

Json = dict[str, Any]

_OF_OTHERS = frozenset(("agent", "parent_tool_call_id"))
"""What the events of sub-agents have: their caller has seen their answers alone."""
NO_RESULT = "not finished: no result of this call was seen"


class Conversation:
    """Takes a log's lines in their order."""

    def __init__(self) -> None:
        self._turns: dict[str, _Turn] = {}
        self._steers: dict[str, tuple[_Turn, Json]] = {}
        """Messages to turns, by their ids."""
        self._nameless = 0

    def take(self, lines: Iterable[str]) -> None:
        for line in lines:
            try:
                event = events.object_of(line)
            except Malformed:
                continue  # no event of a conversation
            if _OF_OTHERS.isdisjoint(event):
                self._take(event)

    def turns(self) -> list[list[Json]]:
        """The messages of each; results follow the message with their calls."""
        return [turn.told() for turn in self._turns.values()]

    def forget_oldest(self) -> None:
        del self._turns[next(iter(self._turns))]

    def _take(self, event: Json) -> None:
        match event:
            case {"type": "user_message", "content": str(text), "steers": str(steered)}:
                self._steer(steered, _text(event.get("message_id")), text)
            case {"type": "user_message", "content": str(text)}:
                self._begin(_text(event.get("turn_id")), text)
            case {"type": "steer_missed", "message_id": str(message_id)}:
                self._miss(message_id)
            case {"type": str()} if (turn := self._of(event)) is not None:
                turn.take(event)

    def _begin(self, turn_id: str, text: str) -> None:
        turn = _Turn(turn_id or None, {"role": "user", "content": text})
        self._nameless += not turn_id
        self._turns.setdefault(turn_id or f"without a name {self._nameless}", turn)

    def _steer(self, steered: str, message_id: str, text: str) -> None:
        turn = self._turns.get(steered)
        if turn is None or turn.is_over:
            turn = next(reversed(self._turns.values()), None)
        if turn is None:
            self._begin(message_id, text)
            return
        message = {"role": "user", "content": text, "steers": message_id}
        turn.steers.append(message)
        self._steers[message_id] = (turn, message)

    def _miss(self, message_id: str) -> None:
        """It did not reach its turn, and is one of its own."""
        if (found := self._steers.pop(message_id, None)) is not None:
            turn, message = found
            turn.drop(message)
            self._begin(message_id, message["content"])

    def _of(self, event: Json) -> "_Turn | None":
        """The turn that an event is of: the one that it names, else the oldest that is open."""
        named = event.get("turn_id")
        if isinstance(named, str) and named in self._turns:
            return self._turns[named]
        return next((turn for turn in self._turns.values() if not turn.is_over), None)


class _Turn:
    def __init__(self, turn_id: str | None, question: Json) -> None:
        self.is_over = False
        self.steers: list[Json] = []
        """What was said to it, as far as its step is not over."""
        self._turn_id = turn_id
        self._messages: list[Json] = [question]
        self._text = ""
        self._calls: list[Json] = []
        self._results: dict[str, Json] = {}

    def told(self) -> list[Json]:
        said = [*self._messages, *self._step()]
        return [{**one, "turn_id": self._turn_id} for one in said]

    def drop(self, steer: Json) -> None:
        for said in (self.steers, self._messages):
            said[:] = [one for one in said if one is not steer]

    def take(self, event: Json) -> None:
        match event["type"]:
            case "text_chunk":
                if self._results or not (self._calls or self._text):
                    self._end_step()
                self._text += _text(event.get("content"))
            case "tool_call_start":
                if self._results and len(self._results) == len(self._calls):
                    self._end_step()
                self._call(event)
            case "tool_call_complete":
                self._result(event)
            case "execution_complete":
                answer, has_spoken = _text(event.get("content")), bool(self._text)
                if not has_spoken and self._messages[-1]["role"] != "assistant":
                    self._end_step()
                    self._text = answer
                self._end()
            case "execution_error":
                self._end()

    def _end(self) -> None:
        self._end_step()
        self.is_over = True

    def _end_step(self) -> None:
        self._messages += self._step()
        self._text, self._calls, self._results, self.steers = "", [], {}, []

    def _step(self) -> list[Json]:
        """The model's message, the results of its calls in their order, and what was said to the
        turn meanwhile."""
        if not self._calls:
            said = [{"role": "assistant", "content": self._text}] if self._text else []
            return [*said, *self.steers]
        step: Json = {"role": "assistant", "content": self._text, "tool_calls": [*self._calls]}
        said = [step]
        for call in self._calls:
            said.append(self._results.get(call["id"]) or _result(call["id"], NO_RESULT, True))
        return [*said, *self.steers]

    def _call(self, event: Json) -> str:
        """Returns its id; an empty one for what is no call."""
        call_id, name = _text(event.get("tool_call_id")), event.get("tool_name")
        if call_id and isinstance(name, str) and all(one["id"] != call_id for one in self._calls):
            given = event.get("tool_input")
            given = given if isinstance(given, dict) else {}
            self._calls.append({"id": call_id, "name": name, "arguments": given})
        return call_id if isinstance(name, str) else ""

    def _result(self, event: Json) -> None:
        if call_id := self._call(event):
            result = event.get("result")
            told = result if isinstance(result, str) else msgspec.json.encode(result).decode()
            is_error = event.get("is_error") is True or event.get("success") is False
            self._results[call_id] = _result(call_id, told, is_error)


def _result(call_id: str, content: str, is_error: bool) -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": content, "is_error": is_error}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

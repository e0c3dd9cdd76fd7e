"""What an agent should remember of a log: messages, tool calls and their results. Pure.

For a session that is a copy of another one, on a machine that has not got the other one's state.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from trunkline.control.log import events
from trunkline.wire.errors import Malformed

Json = dict[str, Any]

_OF_OTHERS = frozenset(("agent", "parent_tool_call_id"))
"""What the events of sub-agents have: their caller has seen their answers alone."""
_NO_RESULT = "This call has no result."


class Remembered:
    """Takes a log's lines in their order."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._turns: list[list[Json]] = []
        self._calls: dict[str, Json] = {}
        """Those of the present turn that have no result."""

    def take(self, lines: Iterable[str]) -> None:
        for line in lines:
            try:
                self._take(events.object_of(line))
            except Malformed:
                continue
        self._shorten()

    def messages(self) -> list[Json]:
        """The newest whole turns that fit."""
        return [one for turn in self._turns for one in turn]

    def _take(self, event: Json) -> None:
        if not _OF_OTHERS.isdisjoint(event):
            return
        kind, text = event.get("type"), event.get("content")
        if kind == "user_message" and isinstance(text, str) and text:
            self._settle()
            if "steers" not in event or not self._turns:
                self._turns.append([])
            self._add({"role": "user", "content": text})
        elif not self._turns:
            return
        elif kind == "text_chunk" and isinstance(text, str):
            self._settle()
            self._add_text(text)
        elif kind == "tool_call_start":
            self._call(event)
        elif kind == "tool_call_complete":
            self._result(event)
        elif kind in events.TERMINAL:
            self._settle()

    def _add(self, message: Json) -> None:
        self._turns[-1].append(message)

    def _add_text(self, text: str) -> None:
        last = self._turns[-1][-1]
        if last["role"] == "assistant" and "tool_calls" not in last:
            last["content"] += text
        else:
            self._add({"role": "assistant", "content": text})

    def _call(self, event: Json) -> None:
        call_id, name = event.get("tool_call_id"), event.get("tool_name")
        if not isinstance(call_id, str) or not isinstance(name, str) or call_id in self._calls:
            return
        given = event.get("tool_input")
        call = {"id": call_id, "name": name, "arguments": given if isinstance(given, dict) else {}}
        last = self._turns[-1][-1]
        if self._calls:  # another call of the same step
            last = next(one for one in reversed(self._turns[-1]) if "tool_calls" in one)
        elif last["role"] != "assistant":
            last = {"role": "assistant", "content": ""}
            self._add(last)
        last.setdefault("tool_calls", []).append(call)
        self._calls[call_id] = call

    def _result(self, event: Json) -> None:
        call_id = event.get("tool_call_id")
        if isinstance(call_id, str) and self._calls.pop(call_id, None) is not None:
            result = event.get("result")
            told = result if isinstance(result, str) else msgspec.json.encode(result).decode()
            is_error = event.get("is_error") is True or event.get("success") is False
            self._add(
                {"role": "tool", "tool_call_id": call_id, "content": told, "is_error": is_error}
            )

    def _settle(self) -> None:
        """Every call of a step has a result before anything else is said."""
        for call_id in self._calls:
            self._add(
                {
                    "role": "tool",
                    "tool_call_id": call_id,
                    "content": _NO_RESULT,
                    "is_error": True,
                }
            )
        self._calls.clear()

    def _shorten(self) -> None:
        whole = [len(msgspec.json.encode(turn)) for turn in self._turns]
        while len(whole) > 1 and sum(whole) > self._bytes_max:
            del whole[0], self._turns[0]

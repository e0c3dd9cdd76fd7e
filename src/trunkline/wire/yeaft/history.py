"""A log as the messages of a conversation: what a Yeaft web client gets that comes back (002).

Made by the same translation as the live stream; pieces of text that follow each other are one
message. Pure, bounded by the newest messages that fit.
"""

from collections import Counter, deque
from typing import Any

import msgspec

from trunkline.wire.yeaft.outward import Outward, from_events

Json = dict[str, Any]

_SHOWN = ("assistant", "user", "result")
_ROWS_MAX = 1_000_000
"""More than one event can have, and little enough for a number to tell them apart."""


class _Envelope(msgspec.Struct, rename="camel"):
    type: str
    data: Any = None
    vp_id: Any = None
    vp_name: Any = None


class _Stamp(msgspec.Struct):
    ts: Any = None


class _Entry:
    """One message, with the id of the last event that is in it."""

    __slots__ = ("data", "event_id", "pieces", "size", "ts", "vp_id", "vp_name")

    def __init__(self, event_id: int, ts: Any, found: _Envelope, size: int) -> None:
        self.event_id = event_id
        self.ts = ts if isinstance(ts, int) else 0
        self.data: Json = found.data
        self.vp_id = found.vp_id
        self.vp_name = found.vp_name
        self.size = size
        text = _only_text(found.data)
        self.pieces = [] if text is None else [text]

    def takes(self, other: "_Entry") -> bool:
        """Whether the other one goes on with the same text."""
        return bool(self.pieces and other.pieces) and self.vp_id == other.vp_id

    def join(self, other: "_Entry") -> None:
        self.event_id = other.event_id
        self.size += len(other.pieces[0])
        self.pieces += other.pieces

    @property
    def content(self) -> list[Json]:
        if self.pieces:
            return [{"type": "text", "text": "".join(self.pieces)}]
        message = self.data.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str):
            return [{"type": "text", "text": content}]
        return (
            [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
        )


_envelope = msgspec.json.Decoder(_Envelope)
_stamp = msgspec.json.Decoder(_Stamp)


class History:
    """The newest messages of one conversation. Events are given in order."""

    def __init__(self, conversation_id: str, bytes_max: int, *, relays: bool = False) -> None:
        self._outward = Outward(conversation_id, relays=relays)
        self._bytes_max = bytes_max
        self._size = 0
        self._entries: deque[_Entry] = deque()
        self.is_cut = False
        """There is more before the first one."""

    def add(self, event_id: int, line: str) -> None:
        for out in from_events(self._outward, event_id, line):
            found = _read(out.body)
            if found is not None:
                entry = _Entry(event_id, _ts(line), found, len(out.body))
                self._append(entry)

    def _append(self, entry: _Entry) -> None:
        last = self._entries[-1] if self._entries else None
        if last is not None and last.takes(entry):
            self._size -= last.size
            last.join(entry)
            self._size += last.size
        else:
            self._entries.append(entry)
            self._size += entry.size
        while self._size > self._bytes_max and len(self._entries) > 1:
            self._drop()

    def _drop(self) -> None:
        self._size -= self._entries.popleft().size
        self.is_cut = True

    def keep_turns(self, count: int) -> None:
        """The newest turns: from what a person said to what they said next."""
        starts = [at for at, entry in enumerate(self._entries) if _is_said(entry)]
        if len(starts) > count:
            for _ in range(starts[-count] if count else len(self._entries)):
                self._drop()

    def keep_rows(self, count: int) -> None:
        while len(self._entries) > count:
            self._drop()

    def messages(self) -> list[Json]:
        """As `data` of `claude_output`, with the id of the last event in it, and the person."""
        found = []
        for entry in self._entries:
            message = {**entry.data, "eventId": entry.event_id}
            if entry.pieces:
                message["message"] = {**entry.data["message"], "content": entry.content}
            if entry.vp_id is not None:
                message |= {"vpId": entry.vp_id, "vpName": entry.vp_name}
            found.append(message)
        return found

    def rows(self) -> list[Json]:
        """As deployed web clients keep them: one row for each block that people see. Its id is the
        event's; further rows of the same event have a fraction behind it, by which they sort."""
        found: list[Json] = []
        numbers: Counter[int] = Counter()
        for entry in self._entries:
            for block in entry.content:
                row = _row(entry, block)
                if row is not None:
                    number = numbers[entry.event_id]
                    numbers[entry.event_id] += 1
                    row_id = entry.event_id + number / _ROWS_MAX if number else entry.event_id
                    found.append({"id": row_id, "created_at": entry.ts, **row})
        return found


def _row(entry: _Entry, block: Json) -> Json | None:
    kind = entry.data.get("type")
    if block.get("type") == "text" and kind in ("user", "assistant"):
        said = entry.data.get("clientMessageId")
        metadata = None if said is None else msgspec.json.encode({"clientMessageId": said}).decode()
        text = block.get("text")
        return {"role": kind, "content": text, "message_type": kind, "metadata": metadata}
    if block.get("type") != "tool_use":
        return None
    given = msgspec.json.encode(block.get("input") or {}).decode()
    row = {"role": "assistant", "content": given, "message_type": "tool_use", "metadata": None}
    return {**row, "tool_name": block.get("name"), "tool_input": given}


def _read(body: bytes) -> _Envelope | None:
    try:
        found = _envelope.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
    if not isinstance(found.data, dict) or found.data.get("type") not in _SHOWN:
        return None
    return found


def _ts(line: str) -> Any:
    try:
        return _stamp.decode(line).ts
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


def _only_text(data: Json) -> str | None:
    """The text of an assistant's message that is nothing else."""
    message = data.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if data.get("type") != "assistant" or not isinstance(content, list) or len(content) != 1:
        return None
    (block,) = content
    if not isinstance(block, dict) or block.get("type") != "text":
        return None
    return block["text"] if isinstance(block.get("text"), str) else None


def _is_said(entry: _Entry) -> bool:
    return entry.data.get("type") == "user" and any(
        block.get("type") == "text" for block in entry.content
    )

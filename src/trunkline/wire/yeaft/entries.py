"""What was said in a conversation, one message after the other, as web clients keep it (002). Pure.

An envelope becomes entries: one for its `data`, or one for each message of the history that a
deployed agent sends with a session of its own. Used for live streams and for what is read again.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

Json = dict[str, Any]

_SHOWN = ("assistant", "user", "result")
_ROWS_MAX = 1_000_000
"""More than one event can have, and little enough for a number to tell them apart."""


class _Envelope(msgspec.Struct, rename="camel"):
    type: str
    data: Any = None
    vp_id: Any = None
    vp_name: Any = None
    history_messages: Any = None


_envelope = msgspec.json.Decoder(_Envelope)


class Entry:
    """One message, with the id of the last event that is in it."""

    __slots__ = ("data", "event_id", "pieces", "size", "ts", "vp_id", "vp_name")

    def __init__(
        self, event_id: int, ts: Any, data: Json, size: int, vp_id: Any = None, vp_name: Any = None
    ) -> None:
        self.event_id = event_id
        self.ts = ts if isinstance(ts, int) else 0
        self.data = data
        self.vp_id = vp_id
        self.vp_name = vp_name
        self.size = size
        text = _only_text(data)
        self.pieces = [] if text is None else [text]

    def takes(self, other: "Entry") -> bool:
        """Whether the other one goes on with the same text."""
        return bool(self.pieces and other.pieces) and self.vp_id == other.vp_id

    def join(self, other: "Entry") -> None:
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

    @property
    def is_said(self) -> bool:
        """Whether it is what a person said."""
        return self.data.get("type") == "user" and any(
            block.get("type") == "text" for block in self.content
        )


def entries_of(event_id: int, ts: Any, body: bytes) -> list[Entry]:
    """The messages that an envelope holds."""
    try:
        found = _envelope.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return []
    if _is_shown(found.data):
        return [Entry(event_id, ts, found.data, len(body), found.vp_id, found.vp_name)]
    kept = found.history_messages if isinstance(found.history_messages, list) else []
    shown = [one for one in kept if _is_shown(one)]
    return [Entry(event_id, ts, one, len(body) // len(shown)) for one in shown]


def rows_of(entries: Iterable[Entry]) -> list[Json]:
    """As deployed web clients keep them: one row for each block that people see. Its id is the
    event's; further rows of the same event have a fraction behind it, by which they sort."""
    found: list[Json] = []
    numbers: Counter[int] = Counter()
    for entry in entries:
        for block in entry.content:
            row = _row(entry, block)
            if row is not None:
                number = numbers[entry.event_id]
                numbers[entry.event_id] += 1
                row_id = entry.event_id + number / _ROWS_MAX if number else entry.event_id
                found.append({"id": row_id, "created_at": entry.ts, **row})
    return found


def _row(entry: Entry, block: Json) -> Json | None:
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


def _is_shown(data: Any) -> bool:
    return isinstance(data, dict) and data.get("type") in _SHOWN


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

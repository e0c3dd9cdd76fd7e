"""A log as the messages of a conversation: what a returning web client gets
(docs/protocols/yeaft.md#returning-clients).

Made by the same translation as the live stream; pieces of text that follow each other are one
message. Pure, bounded by the newest messages that fit.
"""

import math
from collections import deque
from typing import Any

import msgspec

from trunkline.wire.errors import UNREADABLE
from trunkline.wire.yeaft.entries import Entry, entries_of, rows_of
from trunkline.wire.yeaft.outward import from_events
from trunkline.wire.yeaft.outward_state import Outward

Json = dict[str, Any]


class _Stamp(msgspec.Struct):
    ts: Any = None


_stamp = msgspec.json.Decoder(_Stamp)


class History:
    """The newest messages of one conversation. Events are given in order.

    `after`, `before`: ids of rows; there are only those between them, and their messages.
    """

    def __init__(
        self,
        conversation_id: str,
        bytes_max: int,
        *,
        relays: bool = False,
        after: float | None = None,
        before: float | None = None,
    ) -> None:
        self._outward = Outward(conversation_id, relays=relays)
        self._bytes_max = bytes_max
        self._after = -1.0 if after is None else after
        self._before = math.inf if before is None else before
        self._size = 0
        self._entries: deque[Entry] = deque()
        self.is_cut = False
        """There is more before the first one."""

    def add(self, event_id: int, line: str) -> None:
        row = 0
        for out in from_events(self._outward, event_id, line):
            for entry in entries_of(event_id, _ts(line), out.body, row):
                row = entry.next_row
                self._add(entry)

    def _add(self, entry: Entry) -> None:
        last = max(entry.first_row, entry.next_row - 1)
        if entry.row_id(last) <= self._after:
            self.is_cut = True
        elif entry.row_id(entry.first_row) < self._before:
            self._append(entry)

    def _append(self, entry: Entry) -> None:
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
        starts = [at for at, entry in enumerate(self._entries) if entry.is_said]
        if len(starts) > count:
            for _ in range(starts[-count] if count else len(self._entries)):
                self._drop()

    def keep_rows(self, count: int) -> None:
        """The newest rows; a message that makes none (a `result`, a thought) does not count."""
        rows = self.rows()
        if len(rows) > count:
            self._after = rows[-count - 1]["id"]
            self.is_cut = True

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
        """As deployed web clients keep them."""
        rows = rows_of(self._entries)
        return [row for row in rows if self._after < row["id"] < self._before]


def _ts(line: str) -> Any:
    try:
        return _stamp.decode(line).ts
    except UNREADABLE:
        return None

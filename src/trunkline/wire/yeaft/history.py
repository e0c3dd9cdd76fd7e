"""A log as the messages of a conversation: what a returning web client gets
(docs/protocols/yeaft.md#returning-clients).

Made by the same translation as the live stream; pieces of text that follow each other are one
message. Pure, bounded by the newest messages that fit.
"""

import contextlib
import math
from collections import deque
from itertools import islice
from typing import Any

import msgspec

from trunkline.wire import events
from trunkline.wire.errors import UNREADABLE, Malformed
from trunkline.wire.events import SessionEvent, keep
from trunkline.wire.yeaft import codec, stream_json
from trunkline.wire.yeaft.entries import Entry, Question, entries_of, rows_of
from trunkline.wire.yeaft.outward import from_events
from trunkline.wire.yeaft.outward_frames import encode
from trunkline.wire.yeaft.outward_program import PROTOCOL
from trunkline.wire.yeaft.outward_speech import questions_of
from trunkline.wire.yeaft.outward_state import OPEN_MAX, Outward
from trunkline.wire.yeaft.questions import ASKING

Json = dict[str, Any]

_ASKED = '"approval_re'
"""In every event that asks a person, or answers."""
_CALLS_MAX = 50
"""Of the newest messages, in which the tool call of a question is looked for."""


class _Stamp(msgspec.Struct):
    ts: Any = None


class _Listed(msgspec.Struct):
    questions: Any = None


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
        self._since_ms = -1
        self._before = math.inf if before is None else before
        self._size = 0
        self._entries: deque[Entry] = deque()
        self._questions: dict[str, Question] = {}
        self.is_cut = False
        """There is more before the first one."""

    def add(self, event_id: int, line: str, at_ms: int = 0) -> None:
        """`at_ms`: when it was committed, for events that do not say when they happened."""
        row, ts = 0, _ts(line) or at_ms
        for out in from_events(self._outward, event_id, line):
            for entry in entries_of(event_id, ts, out.body, row):
                row = entry.next_row
                self._add(entry)
        if _ASKED in line and (event := events.read(line)) is not None:
            self._note_question(event_id, event, ts, row)

    def _note_question(self, event_id: int, event: SessionEvent, ts: int, row: int) -> None:
        """A question stands at the tool call that asks it: the agent's own, or one made here."""
        request_id = event.question_id
        if event.type == "approval_resolved":
            known = self._questions.get(request_id)
            if known is not None:
                known.answered(event.answer, event.confirmed is True)
        elif event.type == "approval_request" and request_id not in self._questions:
            question = Question(request_id, self._questions_of(event))
            keep(self._questions, request_id, question, OPEN_MAX)
            self._asking(event_id, ts, row, question).question = question

    def _questions_of(self, event: SessionEvent) -> list[Any]:
        """As a Yeaft agent lists them, else as it is told to clients."""
        relays = self._outward.relays
        original = events.original_of(event, PROTOCOL) if relays else None
        if original is not None and original.message:
            with contextlib.suppress(Malformed):
                listed = codec.read(original.message, _Listed).questions
                if isinstance(listed, list) and listed:
                    return listed
        return questions_of(event)

    def _asking(self, event_id: int, ts: int, row: int, question: Question) -> Entry:
        newest = islice(reversed(self._entries), _CALLS_MAX)
        for entry in newest:
            if entry.question is None and entry.asks:
                return entry
        call: Json = {"type": "tool_use", "id": question.ask_request_id, "name": ASKING}
        call["input"] = {"questions": question.ask_questions}
        data = stream_json.assistant(call)
        made = Entry(event_id, ts, data, len(encode(data)), first_row=row, is_row_only=True)
        self._add(made)
        return made

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

    def keep_since(self, ms: int) -> None:
        """The rows of after that time."""
        self._since_ms = ms

    @property
    def ready(self) -> Json:
        """What its machine has said of the session when that began or went on."""
        return self._outward.ready

    @property
    def commands(self) -> bytes:
        """The newest `slash_commands_update`; empty where there was none."""
        return self._outward.commands

    def messages(self) -> list[Json]:
        """As `data` of `claude_output`, with the id of the last event in it, and the person."""
        found = []
        for entry in self._entries:
            if entry.is_row_only:
                continue
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
        return [
            row
            for row in rows
            if self._after < row["id"] < self._before and row["created_at"] > self._since_ms
        ]


def _ts(line: str) -> int:
    try:
        ts = _stamp.decode(line).ts
    except UNREADABLE:
        return 0
    return ts if isinstance(ts, int) else 0

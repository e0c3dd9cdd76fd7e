"""What was said in a conversation, one message after the other, as web clients keep it. Pure.

An envelope becomes entries: one for its `data`, or one for each message of the history that a
deployed agent sends with a session of its own. Used for live streams and for what is read again.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from trunkline.wire.errors import UNREADABLE
from trunkline.wire.events import text_of
from trunkline.wire.yeaft.outward_frames import encode
from trunkline.wire.yeaft.questions import ASKING, YES_NO

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


class Question(msgspec.Struct, rename="camel"):
    """What a row's `metadata` says of the question that its tool call asks."""

    ask_request_id: str
    ask_questions: list[Any]
    ask_answered: bool = False
    selected_answers: Json | None = None

    def answered(self, answer: Any, confirmed: bool) -> None:
        self.ask_answered = True
        if not isinstance(answer, dict):
            first = self.ask_questions[0] if self.ask_questions else None
            name = first.get("question") if isinstance(first, dict) else None
            text = text_of(answer) or YES_NO[not confirmed]
            answer = {text_of(name): text}
        self.selected_answers = answer


class Entry:
    """One message, with the id of the last event that is in it, and which of that event's rows its
    first one is."""

    __slots__ = (
        "data",
        "event_id",
        "first_row",
        "is_row_only",
        "pieces",
        "question",
        "size",
        "ts",
        "vp_id",
        "vp_name",
    )

    def __init__(
        self,
        event_id: int,
        ts: Any,
        data: Json,
        size: int,
        vp_id: Any = None,
        vp_name: Any = None,
        *,
        first_row: int = 0,
        is_piece: bool = True,
        is_row_only: bool = False,
    ) -> None:
        self.event_id = event_id
        self.first_row = first_row
        self.ts = ts if isinstance(ts, int) else 0
        self.data = data
        self.vp_id = vp_id
        self.vp_name = vp_name
        self.size = size
        self.is_row_only = is_row_only
        """Deployed clients see it; to others a question is no message."""
        self.question: Question | None = None
        """That is asked by its tool call."""
        text = _only_text(data) if is_piece else None
        self.pieces = [] if text is None else [text]

    def takes(self, other: "Entry") -> bool:
        """Whether the other one goes on with the same text."""
        return bool(self.pieces and other.pieces) and self.vp_id == other.vp_id

    def join(self, other: "Entry") -> None:
        self.event_id = other.event_id
        self.first_row = other.first_row
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
    def asks(self) -> bool:
        """Whether it is the tool call of a question."""
        return any(_is_asking(block) for block in self.content)

    @property
    def is_said(self) -> bool:
        """Whether it is what a person said."""
        return self.data.get("type") == "user" and any(
            block.get("type") == "text" for block in self.content
        )

    @property
    def row_blocks(self) -> list[Json]:
        """The blocks that people see."""
        texts = self.data.get("type") in ("user", "assistant")
        shown = ("text", "tool_use") if texts else ("tool_use",)
        return [block for block in self.content if block.get("type") in shown]

    @property
    def next_row(self) -> int:
        """Which of its event's rows comes behind it."""
        return self.first_row + len(self.row_blocks)

    def row_id(self, number: int) -> float:
        return self.event_id + number / _ROWS_MAX if number else self.event_id


def entries_of(event_id: int, ts: Any, body: bytes, first_row: int = 0) -> list[Entry]:
    """The messages that an envelope holds. `first_row`: the rows that its event has before it."""
    try:
        found = _envelope.decode(body)
    except UNREADABLE:
        return []
    if _is_shown(found.data):
        person = found.vp_id, found.vp_name
        return [Entry(event_id, ts, found.data, len(body), *person, first_row=first_row)]
    kept = found.history_messages if isinstance(found.history_messages, list) else []
    shown = [one for one in kept if _is_shown(one)]
    entries = []
    for one in shown:
        size = len(body) // len(shown)
        entry = Entry(event_id, ts, one, size, first_row=first_row, is_piece=False)
        entries.append(entry)
        first_row = entry.next_row
    return entries


def rows_of(entries: Iterable[Entry]) -> list[Json]:
    """As deployed web clients keep them: one row for each block that people see. Its id is the
    event's; further rows of the same event have a fraction behind it, by which they sort."""
    return [
        {"id": entry.row_id(number), "created_at": entry.ts, **_row(entry, block)}
        for entry in entries
        for number, block in enumerate(entry.row_blocks, entry.first_row)
    ]


def _row(entry: Entry, block: Json) -> Json:
    if block.get("type") == "text":
        kind = entry.data.get("type")
        said = entry.data.get("clientMessageId")
        metadata = None if said is None else msgspec.json.encode({"clientMessageId": said}).decode()
        text = block.get("text")
        return {"role": kind, "content": text, "message_type": kind, "metadata": metadata}
    given = encode(block.get("input") or {}).decode()
    metadata = None
    if entry.question is not None and _is_asking(block):
        metadata = encode(msgspec.to_builtins(entry.question)).decode()
    row: Json = {"role": "assistant", "content": given, "message_type": "tool_use"}
    row["metadata"] = metadata
    return {**row, "tool_name": block.get("name"), "tool_input": given}


def _is_asking(block: Json) -> bool:
    return block.get("type") == "tool_use" and block.get("name") == ASKING


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

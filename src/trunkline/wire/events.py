"""Session events: the hinge between the protocols (docs/protocols/events.md).

Machines' messages become these, clients' messages are made of these. Lenient: what a careless
machine writes into a field must not hide the event.
"""

import contextlib
import json
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from trunkline.wire.errors import UNREADABLE

Json = dict[str, Any]
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

TERMINAL = ("execution_complete", "execution_error")


_GIVEN = ("tool_input", "args", "arguments", "input")
_EMPTY: tuple[Any, ...] = ({}, [], "")
_PIECES_MAX = 256  # of a text, before they are joined


class SessionEvent(msgspec.Struct):
    """An event as translations look at it; `docs/protocols/events.md` explains the fields."""

    type: str
    content: Any = None
    final_response: Any = None
    turn_id: Any = None
    steers: Any = None
    tool_call_id: Any = None
    ts: Any = None
    tool_name: Any = None
    tool_input: Any = None
    arguments: Any = None
    args: Any = None
    input: Any = None
    result: Any = None
    is_error: Any = None
    denied: Any = None
    skill_name: Any = None
    stage: Any = None
    error: Any = None
    code: Any = None
    cancelled: Any = None
    request_id: Any = None
    approval_id: Any = None
    kind: Any = None
    message: Any = None
    prompt: Any = None
    question: Any = None
    options: Any = None
    multi_select: Any = None
    timeout_seconds: Any = None
    fence: Any = None
    confirmed: Any = None
    answer: Any = None
    answered_by: Any = None
    reason: Any = None
    user_id: Any = None
    client_message_id: Any = None
    attachments: Any = None
    machine: Any = None
    machine_id: Any = None
    ready: Any = None
    commands: Any = None
    resume: Any = None
    tokens_in: Any = None
    tokens_out: Any = None
    details: Any = None
    person: Any = None
    path: Any = None
    title: Any = None
    status: Any = None
    locations: Any = None
    plan: Any = None
    agent: Any = None
    parent_tool_call_id: Any = None
    models: Any = None
    held: Any = None
    problems: Any = None
    degraded: Any = None
    lost_events: Any = None
    echo: Any = None
    name: Any = None
    duration_ms: Any = None
    raw: msgspec.Raw = msgspec.Raw()

    @property
    def answer_text(self) -> str:
        """The final answer, under either of its names."""
        return text_of(self.final_response) or text_of(self.content)

    @property
    def given_input(self) -> Any:
        """A tool's input, under either of its names."""
        return self.tool_input if self.tool_input is not None else self.arguments

    @property
    def asked_message(self) -> str:
        """What a question says, under any of its names."""
        return text_of(self.message) or text_of(self.prompt) or text_of(self.question)

    @property
    def asked_input(self) -> Any:
        """All that a question says of a tool's input: under more names than one, each by its own,
        for nobody may have to allow what is not shown."""
        given = {name: getattr(self, name) for name in _GIVEN}
        told = {name: one for name, one in given.items() if one is not None and one not in _EMPTY}
        first = next(iter(told.values()), None)
        return first if all(one == first for one in told.values()) else told

    @property
    def asked_fence(self) -> str:
        """A line on what keeps the session to its own place, for whoever may allow something; empty
        where that is not told, or words are wanted."""
        fence = " ".join(text_of(self.fence).split())
        return f"Fence: {fence}" if fence and self.kind not in ("select", "input") else ""

    @property
    def has_failed(self) -> bool:
        """Of a tool call that is over, for protocols that know done and failed alone: one that was
        not allowed is not done."""
        return self.is_error is True or self.denied is True

    @property
    def question_id(self) -> str:
        return text_of(self.request_id) or text_of(self.approval_id)


class Original(msgspec.Struct, omit_defaults=True):
    """`raw` of an event: the message that it was made of, for clients of the same protocol.

    Without a message: an event before it has the message that both are made of.
    """

    protocol: str
    message: msgspec.Raw = msgspec.Raw()


_event = msgspec.json.Decoder(SessionEvent)
_original = msgspec.json.Decoder(Original)
_encoder = msgspec.json.Encoder()


def read(line: str) -> SessionEvent | None:
    """An event of the log; None for what is none."""
    try:
        return _event.decode(line)
    except UNREADABLE:
        return _read_closely(line)


def _read_closely(line: str) -> SessionEvent | None:
    """Python's own decoder takes half of a character, which a cut-off answer may end with."""
    try:
        found = json.loads(line.encode("utf-8", "replace"))
        raw = found.pop("raw", None) if isinstance(found, dict) else None
        event = msgspec.convert(found, SessionEvent)
        if raw is not None:
            event.raw = msgspec.Raw(_raw_text(line, raw))
        return event
    except (ValueError, RecursionError, TypeError, msgspec.ValidationError):
        return None


def _raw_text(line: str, raw: Any) -> str:
    """`raw` as it was written, if it stands last, as the edges write it."""
    _, _, rest = line.rstrip().partition(',"raw":')
    with contextlib.suppress(ValueError):
        if json.loads(rest[:-1]) == raw:
            return rest[:-1]
    return json.dumps(raw)


def original_of(event: SessionEvent, protocol: str) -> Original | None:
    """The message that the event was made of, if that was one of this protocol."""
    if not event.raw:
        return None
    try:
        original = _original.decode(event.raw)
    except UNREADABLE:
        return None
    return original if original.protocol == protocol else None


def line(kind: str, /, **fields: Any) -> str:
    """An event for the log; fields that are None are left out."""
    given = {name: value for name, value in fields.items() if value is not None}
    return _encoder.encode({"type": kind, **given}).decode()


def text_of(value: Any) -> str:
    """A field as text: what is no text shows as JSON, nothing as nothing."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return _encoder.encode(value).decode()
    except UnicodeEncodeError:  # half of a character, as `_read_closely` takes it
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace").decode()


def keep(kept: dict[_Key, _Value], key: _Key, value: _Value, count_max: int) -> None:
    """Remembers it among the newest so many."""
    kept[key] = value
    while len(kept) > count_max:
        del kept[next(iter(kept))]


@dataclass(slots=True)
class BoundedText:
    """The pieces of one text, up to a bound: the log has them all. A value.

    A long answer has some hundred thousand pieces, of a word each. As objects they would take ten
    times what they say, and the garbage collector would stop everybody to look at each of them.
    """

    chars_max: int
    _joined: list[str] = field(default_factory=list)
    _pieces: list[str] = field(default_factory=list)
    _chars: int = 0

    def add(self, piece: str) -> None:
        if piece and self._chars < self.chars_max:
            self._pieces.append(piece)
            if len(self._pieces) == _PIECES_MAX:
                self._joined.append("".join(self._pieces))
                self._pieces.clear()
        self._chars += len(piece)

    @property
    def text(self) -> str:
        return "".join([*self._joined, *self._pieces])[: self.chars_max]

    @property
    def is_cut(self) -> bool:
        """There was more than is kept."""
        return self._chars > self.chars_max

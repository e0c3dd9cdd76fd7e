"""What the API returns, as far as this client looks into it. Unknown fields are ignored."""

from typing import Any, Generic, Literal, TypeVar

import msgspec

T = TypeVar("T")
Json = dict[str, Any]


class Page(msgspec.Struct, Generic[T]):
    """Some items of a list; `next_cursor` asks for those after them."""

    items: list[T]
    next_cursor: str | None = None


class Placement(msgspec.Struct, kw_only=True):
    """`reason` is for people, `code` the same for programs."""

    machine_id: str
    machine_name: str
    code: str
    reason: str


class Session(msgspec.Struct, kw_only=True):
    """One conversation, pinned to one machine."""

    id: str
    status: str
    """Whether it is `active` or `closed`."""
    state: str = ""
    """What it does: `idle`, `running`, `needs_you`, `offline` or `closed`."""
    runtime_type: str
    user_id: str
    machine_id: str | None = None
    agent_id: str | None = None
    title: str | None = None
    titled_by: str | None = None
    """`user`, `message` or `model`."""
    placement: Placement | None = None
    """Of a session that was just made: which machine it has, and why."""
    created_at: int = 0
    updated_at: int = 0
    last_event_id: int = 0


class Approval(msgspec.Struct, kw_only=True):
    """A question of a session to a person."""

    id: str
    session_id: str
    state: str
    request: Json = {}
    answer: Any = None


class Event(msgspec.Struct, frozen=True):
    """An event of a session's log. `resync` has no id: the position is no longer kept."""

    id: int | None
    data: Json

    @property
    def type(self) -> str:
        return str(self.data.get("type", ""))

    @property
    def text(self) -> str:
        """The piece of the answer that a `text_chunk` brings; else nothing."""
        return str(self.data.get("content", "")) if self.type == "text_chunk" else ""

    @property
    def request_id(self) -> str | None:
        """What an `approval_request` is answered under, together with its session."""
        name = self.data.get("request_id") or self.data.get("approval_id")
        return name if isinstance(name, str) else None

    @property
    def ends_turn(self) -> bool:
        return self.type in ("execution_complete", "execution_error")


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """How a turn ended, when it ended well. `usage`: what it took, where the machine said so."""

    text: str
    turn_id: str
    is_cancelled: bool = False
    usage: Json | None = None
    last_event_id: int = 0

    def __str__(self) -> str:
        return self.text


class Reply(msgspec.Struct, frozen=True):
    """To a question of an agent. `answer`: what was typed or chosen, where that was asked for;
    `scope`: for how long a yes is meant; `reason`: why not, for the agent."""

    confirmed: bool
    answer: Any = None
    scope: Literal["once", "session", "always"] = "once"
    reason: str | None = None


RESYNC = Event(None, {"type": "resync"})


class LoggedEvent(msgspec.Struct):
    """An event as the log's pages hold it; what is no object is kept as `raw`."""

    id: int
    event: Any

    def as_event(self) -> Event:
        data = self.event if isinstance(self.event, dict) else {"type": "", "raw": self.event}
        return Event(self.id, data)


class EventPage(msgspec.Struct):
    """A piece of the log, oldest first."""

    items: list[LoggedEvent]
    next_after: int | None = None
    resync: bool = False
    """`after` is no place in the log: what came behind it is gone."""


class AcceptedMessage(msgspec.Struct):
    """The turn that a message opened."""

    turn_id: str


class _ErrorBody(msgspec.Struct):
    code: str = "UNKNOWN"
    message: str = ""


class _Refusal(msgspec.Struct):
    error: _ErrorBody


def refusal(body: bytes) -> tuple[str, str] | None:
    """Code and message of an error response; None when it is not of this API."""
    try:
        error = msgspec.json.decode(body, type=_Refusal).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return error.code, error.message

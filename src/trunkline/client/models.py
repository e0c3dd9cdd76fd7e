"""What the API returns, as far as this client looks into it. Unknown fields are ignored."""

from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")
Json = dict[str, Any]


class Page(msgspec.Struct, Generic[T]):
    """Some items of a list; `next_cursor` asks for those after them."""

    items: list[T]
    next_cursor: str | None = None


class Session(msgspec.Struct, kw_only=True):
    """One conversation, pinned to one machine."""

    id: str
    status: str
    runtime_type: str
    user_id: str
    machine_id: str | None = None
    agent_id: str | None = None
    title: str | None = None
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
    def ends_turn(self) -> bool:
        return self.type in ("execution_complete", "execution_error")


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

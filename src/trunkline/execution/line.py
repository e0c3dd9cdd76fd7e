"""The line to the control plane, as the other parts of the execution plane see it: no sockets.

`ws/client.py` speaks to a control plane, `ws/foreign/` to servers of other protocols.
"""

from asyncio import Future
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from trunkline.execution.errors import RequestFailed
from trunkline.execution.json_object import Json

Handler = Callable[[Json], Future[None] | None]
"""Takes the data of one message, at once. What takes longer goes on by itself: the future is done
with it."""

MACHINE = "__vm__"
"""The key of the handlers that are the machine's and not one session's."""


class ControlPlane(Protocol):
    """Asks and reports for one session, in that session's process."""

    async def request(self, method: str, **params: Any) -> Any:
        """The result. Raises RequestFailed, TimeoutError, and ConnectionError while the line is
        down: then the caller does without."""

    def fire_and_forget(self, method: str, **params: Any) -> None:
        """A report that arrives, now or when the line is back."""


class SessionLine(Protocol):
    """What the daemon's sessions need. Nothing here waits for the network but `request`."""

    @property
    def online(self) -> bool: ...

    async def request(self, session_id: str, method: str, /, **params: Any) -> Any:
        """The result. Raises RequestFailed, TimeoutError, ConnectionError."""

    def send_sse_event(self, session_id: str, data: str) -> None:
        """An event for the session's readers: it arrives, now or later, once and in order."""

    def fire_and_forget(self, session_id: str, method: str, /, **params: Any) -> None:
        """A report that arrives, now or later."""

    def register_session(self, session_id: str, handlers: Mapping[str, Handler]) -> None:
        """The session's messages go to these handlers from now on, by type."""

    def unregister_session(self, session_id: str) -> None: ...


async def knows_nothing(method: str, params: Json) -> Json:
    raise RequestFailed("METHOD_NOT_FOUND", f"this machine knows nothing of {method[:100]!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSide:
    """What the machine at this end of a line says of itself, and what it is told."""

    active_sessions: Callable[[], list[str]] = list
    open_turns: Callable[[], list[str]] = list
    health: Callable[[], Json] = dict
    answer: Callable[[str, Json], Awaitable[Json]] = knows_nothing
    """Where it is asked, by the method and its parameters. Raises RequestFailed."""
    initialized: Callable[[Json], None] = lambda _init: None
    """Told keys and addresses: before the first session starts, and whenever they may have
    changed."""
    line_changed: Callable[[bool], None] = lambda _is_up: None


class MachineLine(SessionLine, Protocol):
    """What the daemon itself calls."""

    async def connect(self, machine: MachineSide) -> Json:
        """Keeps a line up from now on, for that machine. Returns the data of `init`."""

    def settle(self) -> None:
        """Now and then: writes down what a full disk has kept out."""

    async def close(self) -> None:
        """Sends what can be sent at once; the rest stays on disk."""

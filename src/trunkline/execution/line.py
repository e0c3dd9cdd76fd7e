"""The line to the control plane, as the other parts of the execution plane see it: no sockets.

`ws/client.py` speaks to a control plane, `ws/foreign/` to servers of other protocols.
"""

from asyncio import Future
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

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


class MachineLine(SessionLine, Protocol):
    """What the daemon sets before `connect`, and what it calls."""

    active_sessions: Callable[[], list[str]]
    open_turns: Callable[[], list[str]]
    health: Callable[[], Json]
    on_init: Callable[[Json], None]
    """Told keys and addresses, before the first session starts."""
    on_line: Callable[[bool], None]

    def answers(self, answer: Callable[[str, Json], Awaitable[Json]]) -> None:
        """What this machine says where it is asked by method and parameters."""

    async def connect(self) -> Json:
        """Keeps a line up from now on. Returns the data of `init`."""

    def settle(self) -> None:
        """Now and then: writes down what a full disk has kept out."""

    async def close(self) -> None:
        """Sends what can be sent at once; the rest stays on disk."""

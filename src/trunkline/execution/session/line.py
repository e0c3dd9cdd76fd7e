"""The line to the control plane, as far as sessions need it. `ws/client.py` is one."""

from collections.abc import Callable
from typing import Any, Protocol

Handlers = dict[str, Callable[[dict[str, Any]], Any]]


class Line(Protocol):
    """Nothing here waits for the network but `request`."""

    @property
    def online(self) -> bool: ...

    async def request(self, session_id: str, method: str, /, **params: Any) -> Any:
        """The result. Raises RequestFailed, TimeoutError, ConnectionError."""

    def send_sse_event(self, session_id: str, data: str) -> None:
        """An event for the session's readers: it arrives, now or later, once and in order."""

    def fire_and_forget(self, session_id: str, method: str, /, **params: Any) -> None:
        """A report that arrives, now or later."""

    def register_session(self, session_id: str, handlers: Handlers) -> None: ...

    def unregister_session(self, session_id: str) -> None: ...

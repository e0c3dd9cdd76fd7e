"""The control plane as code in a session's process sees it: questions and reports, no sockets."""

from typing import Any, Protocol


class RequestFailed(Exception):
    """The control plane, or the daemon, answered with an error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class ControlPlane(Protocol):
    """Asks and reports for one session."""

    async def request(self, method: str, **params: Any) -> Any:
        """The result. Raises RequestFailed, TimeoutError, and ConnectionError while the line is
        down: then the caller does without."""

    def fire_and_forget(self, method: str, **params: Any) -> None:
        """A report that arrives, now or when the line is back."""

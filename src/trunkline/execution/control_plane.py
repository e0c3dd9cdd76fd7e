"""The control plane as code in a session's process sees it: questions and reports, no sockets."""

from typing import Any, Protocol


class ControlPlane(Protocol):
    """Asks and reports for one session."""

    async def request(self, method: str, **params: Any) -> Any:
        """The result. Raises RequestFailed, TimeoutError, and ConnectionError while the line is
        down: then the caller does without."""

    def fire_and_forget(self, method: str, **params: Any) -> None:
        """A report that arrives, now or when the line is back."""

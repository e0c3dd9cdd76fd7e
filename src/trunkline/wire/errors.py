"""What a wire can say went wrong.

WireError
├── Malformed      this message cannot be read: warn, count, go on
└── CloseLine      this connection must end, with a close code and a reason
"""


class WireError(Exception):
    """Base of what the protocols raise."""


class Malformed(WireError):
    """One message is unreadable; the line lives on.

    `request_id`: it was a request, whose sender waits for a response.
    """

    def __init__(self, problem: str, request_id: str | None = None) -> None:
        super().__init__(problem)
        self.request_id = request_id


class CloseLine(WireError):
    """The line must be closed with this code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason

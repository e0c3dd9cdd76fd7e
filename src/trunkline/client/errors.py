"""What a client of the REST API can run into.

ClientError
├── ApiError       the server said no: `status`, `code` and a message for people
├── Unreachable    nobody answers at that address, or not in this language
├── StreamBroken   a stream could not be taken up again
├── TurnFailed     the agent did not come to an answer: `code`, `turn_id`
├── TimedOut       it took longer than the caller wanted to wait
└── NoServer       no server was named, and none was found
    └── WrongServer  what listens there is not the server of the data folder
"""

BAD_GATEWAY = "BAD_GATEWAY"
"""The code of an error response that is not of this API: a proxy may have made it."""

QUOTA_REACHED = "QUOTA_REACHED"
"""Of the many that are refused with 429, the one that waiting does not help."""

_HINTS = {
    401: "give a token: token=…, TRUNKLINE_TOKEN, or the server's data folder in TRUNKLINE_DATA",
    403: "this token may not do that: it is another user's, or lacks a scope or role",
    413: "send less at once",
    429: "too many at once: wait a moment",
    503: "the server is starting, stopping or full: try again in a moment",
}


class ClientError(Exception):
    """Base of the family; its text is for people."""


class ApiError(ClientError):
    """A response `{"error": {"code", "message"}}` with its HTTP status."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        # Shown below a traceback; whoever prints the message has words of its own.
        self.add_note(f"{status} {code}" + (f": {self.hint}" if self.hint else ""))

    @property
    def hint(self) -> str:
        """What to do about it, for programmers; may be empty."""
        return "" if self.code == QUOTA_REACHED else _HINTS.get(self.status, "")

    @property
    def is_passing(self) -> bool:
        """Whether the same request may work a little later."""
        return self.status in (429, 502, 503, 504) and self.code != QUOTA_REACHED

    @property
    def is_of_gateway(self) -> bool:
        """Whether a proxy may have said it: what became of the request is unknown."""
        return self.code == BAD_GATEWAY


class Unreachable(ClientError):
    """The request may not have arrived."""


class StreamBroken(ClientError):
    """The stream ended and every attempt to go on failed."""


class TurnFailed(ClientError):
    """A turn ended with `execution_error`; the codes stand in docs/protocols/events.md."""

    def __init__(self, code: str, message: str, turn_id: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.turn_id = turn_id
        self.add_note(f"{code}: turn {turn_id}")


class TimedOut(ClientError, TimeoutError):
    """What was waited for may still come."""


class NoServer(ClientError):
    """Nobody named one, and none has left its address in the data folder."""


class WrongServer(NoServer):
    """It could not prove itself, and was shown no token."""

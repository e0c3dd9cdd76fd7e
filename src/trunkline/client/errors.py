"""What a client of the REST API can run into.

ClientError
├── ApiError       the server said no: `status`, `code` and a message for people
├── Unreachable    nobody answers at that address, or not in this language
└── StreamBroken   a stream could not be taken up again
"""

BAD_GATEWAY = "BAD_GATEWAY"
"""The code of an error response that is not of this API: a proxy may have made it."""


class ClientError(Exception):
    """Base of the family; its text is for people."""


class ApiError(ClientError):
    """A response `{"error": {"code", "message"}}` with its HTTP status."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message

    @property
    def is_passing(self) -> bool:
        """Whether the same request may work a little later."""
        return self.status in (429, 502, 503, 504)

    @property
    def is_of_gateway(self) -> bool:
        """Whether a proxy may have said it: what became of the request is unknown."""
        return self.code == BAD_GATEWAY


class Unreachable(ClientError):
    """The request may not have arrived."""


class StreamBroken(ClientError):
    """The stream ended and every attempt to go on failed."""

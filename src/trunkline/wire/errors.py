"""What a wire can say went wrong, and what reading a text may raise.

WireError
├── Malformed      this message cannot be read: warn, count, go on
├── CloseLine      this connection must end, with a close code and a reason
└── StateRefused   a MyAgent client's signed state is not taken (`myagent.signed_state`)
"""

from typing import Final

import msgspec

UNREADABLE: Final = (msgspec.DecodeError, UnicodeError, RecursionError)
"""What msgspec's decoders raise, whatever a peer sends: broken JSON, a field of another type, text
that is not UTF-8, objects nested too deep."""


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

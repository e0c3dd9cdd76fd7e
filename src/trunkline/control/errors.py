"""Every error that leaves the control plane: a code, a message for people, an HTTP status.

    TrunklineError            500 INTERNAL_ERROR
    ├── InvalidRequest        400 INVALID_REQUEST      the input is wrong; the message says where
    ├── Unauthorized          401 UNAUTHORIZED         no token, or one that is wrong or revoked
    ├── Forbidden             403 FORBIDDEN            known, but not allowed to do this
    ├── NotFound              404 <KIND>_NOT_FOUND     no such record, or not yours
    ├── Conflict              409 CONFLICT             exists already, or was decided already
    ├── Expired               410 EXPIRED              was good once; its time is over
    ├── TooLarge              413 TOO_LARGE            over a bound
    ├── LimitReached          429 LIMIT_REACHED        a queue is full; try again later
    │   └── QuotaReached      429 QUOTA_REACHED        (quotas.py) a user has as much as they may
    ├── Unavailable           503 UNAVAILABLE          a part that is needed is not there
    │   └── Overtaken         503 DATABASE_IN_USE      another control plane writes the database
    ├── Timeout               504 TIMEOUT              a part did not answer within its limit
    └── NoRoom                507 DISK_FULL            no room on the disk; nothing was changed

REST answers with `{"error": {"code", "message", "details"?}}`, a VM's request with
`response.error`. A more precise code than the class's own is given with `code=`;
docs/reference/errors.md lists them all.
"""


class TrunklineError(Exception):
    """Base of the family. `message` is shown to people; it never carries a secret."""

    code = "INTERNAL_ERROR"
    status = 500
    details: dict[str, str | int] | None = None
    """What programs may want to know besides; docs/reference/errors.md says of which code."""

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code


class InvalidRequest(TrunklineError):
    code = "INVALID_REQUEST"
    status = 400


class Unauthorized(TrunklineError):
    code = "UNAUTHORIZED"
    status = 401


class Forbidden(TrunklineError):
    code = "FORBIDDEN"
    status = 403


class NotFound(TrunklineError):
    """`NotFound("session", id)` has the code SESSION_NOT_FOUND."""

    status = 404

    def __init__(self, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name
        self.asked = name
        """What whoever asks said, for the audit; `name` is what that stands for here."""
        code = f"{kind.upper().replace(' ', '_')}_NOT_FOUND"
        super().__init__(f"{kind} {name[:200]!r} not found", code=code)


class Conflict(TrunklineError):
    code = "CONFLICT"
    status = 409


class Expired(TrunklineError):
    code = "EXPIRED"
    status = 410


class TooLarge(TrunklineError):
    code = "TOO_LARGE"
    status = 413


class LimitReached(TrunklineError):
    code = "LIMIT_REACHED"
    status = 429


class Unavailable(TrunklineError):
    code = "UNAVAILABLE"
    status = 503


class Overtaken(Unavailable):
    code = "DATABASE_IN_USE"


class Timeout(TrunklineError):
    code = "TIMEOUT"
    status = 504


class NoRoom(TrunklineError):
    code = "DISK_FULL"
    status = 507

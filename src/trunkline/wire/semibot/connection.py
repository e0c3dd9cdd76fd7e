"""A VM line as a state machine: connected → authenticated → live → closed. No sockets, no clock.

Text comes in with the time at which it came; messages, `Malformed` or `CloseLine` come out.
"""

from collections.abc import Callable, Iterable
from enum import Enum, auto

from trunkline.wire.errors import CloseLine, Malformed
from trunkline.wire.rate import RateLimit
from trunkline.wire.semibot.close_codes import CloseCode
from trunkline.wire.semibot.codec import Unknown, decode_uplink
from trunkline.wire.semibot.messages import Auth, SseEvent, Uplink

CAPABILITIES = ("seq", "batch", "query", "steer", "fork", "rules")
NO_CAPABILITIES: frozenset[str] = frozenset()
"""One for all: an empty set is an object of its own wherever it is made."""


class State(Enum):
    CONNECTED = auto()  # waiting for `auth`, and for the verdict on it
    AUTHENTICATED = auto()  # the token is good; `init` is being prepared
    LIVE = auto()  # `init` is out
    CLOSED = auto()


class Connection:
    """The control plane's side of one line."""

    __slots__ = ("_early", "_early_max", "_rate", "auth", "capabilities", "state")

    def __init__(self, *, per_minute: int, early_max: int) -> None:
        self.state = State.CONNECTED
        self.auth: Auth | None = None
        self.capabilities = NO_CAPABILITIES
        self._rate = RateLimit(per_minute) if per_minute else None
        self._early: list[Uplink | Unknown] = []
        self._early_max = early_max

    def receive(
        self, text: str | bytes, now: float, is_free: Callable[[str], bool] | None = None
    ) -> Uplink | Unknown | None:
        """The next message for the edge; None while it has to wait for the line to go live.
        `is_free`: whether events of that session are not counted; None: everything is."""
        if is_free is not None and self.state is State.LIVE:
            return self._receive_free(text, now, is_free)
        self._count(now)
        if self.state is State.LIVE:
            return decode_uplink(text)
        if self.state is State.CLOSED:
            return None
        return self._receive_early(text)

    def _receive_free(
        self, text: str | bytes, now: float, is_free: Callable[[str], bool]
    ) -> Uplink | Unknown:
        """All but the events of some sessions is counted, also what cannot be read."""
        try:
            message = decode_uplink(text)
        except Malformed:
            self._count(now)
            raise
        if type(message) is not SseEvent or not is_free(message.session_id):
            self._count(now)
        return message

    def _count(self, now: float) -> None:
        if self._rate is not None and not self._rate.count(now):
            raise CloseLine(CloseCode.RATE_LIMITED, "too many messages in a minute")

    def _receive_early(self, text: str | bytes) -> Auth | None:
        try:
            message = decode_uplink(text)
        except Malformed as error:
            if self.auth is None:
                raise CloseLine(CloseCode.AUTH_FAILED, "the first frame must be auth") from error
            raise
        if self.auth is None:
            if not isinstance(message, Auth):
                raise CloseLine(CloseCode.AUTH_FAILED, "the first frame must be auth")
            self.auth = message
            return message
        # What a peer sends right behind its `auth` waits until the token has been checked.
        if len(self._early) >= self._early_max:
            raise CloseLine(CloseCode.AUTH_FAILED, "too many frames before init")
        self._early.append(message)
        return None

    def authenticated(self) -> frozenset[str]:
        """The token is good. Says which capabilities are in force on this line."""
        assert self.state is State.CONNECTED
        assert self.auth is not None
        named = self.auth.capabilities
        if isinstance(named, list):  # anything else names nothing
            self.capabilities = frozenset(one for one in CAPABILITIES if one in named)
        self.state = State.AUTHENTICATED
        return self.capabilities

    def live(self) -> Iterable[Uplink | Unknown]:
        """`init` has been sent. Hands out what came early, in order."""
        assert self.state is State.AUTHENTICATED
        self.state = State.LIVE
        early, self._early = self._early, []
        return early

    @property
    def is_unlimited(self) -> bool:
        """Live, and with no rate to watch: a message need not come by here."""
        return self.state is State.LIVE and self._rate is None

    def closed(self) -> None:
        """Nothing is taken from this line any more."""
        self.state = State.CLOSED
        self._early = []

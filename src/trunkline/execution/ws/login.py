"""How a machine is let in by a control plane, and what the end of a line means there.

Ticket, token, `auth` and `init`; close codes and how long to stay away after each. The protocol:
docs/protocols/semibot.md.
"""

import base64
import time
from collections.abc import Callable
from datetime import datetime
from typing import Protocol

import msgspec
import structlog
from yarl import URL

from trunkline import limits
from trunkline.execution.backoff import Backoff
from trunkline.execution.errors import LineEnd, NoLine, ServerRefused
from trunkline.execution.ws import messages
from trunkline.execution.ws.connection import Socket
from trunkline.execution.ws.uplink import Pace
from trunkline.wire.errors import Malformed
from trunkline.wire.semibot.close_codes import CloseCode
from trunkline.wire.semibot.connection import CAPABILITIES
from trunkline.wire.semibot.messages import InitData

_log = structlog.get_logger(__name__)

RECONNECT_JITTER = 0.2  # of a delay, either way: machines of one outage do not return as one
LINE_REFUSED_DELAY_S = 60.0  # between attempts with a token that was refused
LINE_LIMITED_DELAY_S = 30.0  # at least, after close 4029
LINE_LIVED_S = 3.0  # one that ends sooner was none: the next attempt waits longer

_REFUSED = {
    CloseCode.AUTH_FAILED: "the control plane refuses this machine's token; issue a new one",
    CloseCode.NO_ACTIVE_VM: "the control plane does not know this machine (any more); add it again",
    CloseCode.USER_NOT_FOUND: "the control plane does not know this machine's user",
    CloseCode.REPLACED: "another process with the same token has taken this machine's line",
}
"""Trying again soon would not help; trying again some time may, and costs nothing."""


class Credentials(Protocol):
    """The credentials of a machine that joined by a code (`execution/joining.py`)."""

    def renewed(self, token: str) -> None: ...

    async def fetch(self) -> str: ...


def token_end(token: str) -> float | None:
    """When it ends (Unix seconds), by its own words; None if it does not say."""
    try:
        part = token.split(".")[1]
        claims = msgspec.json.decode(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        return float(claims["exp"])
    except (IndexError, KeyError, TypeError, ValueError, msgspec.MsgspecError):
        return None


class Login:
    """Lives as long as the machine."""

    def __init__(
        self,
        url: URL,
        ticket: str | None,
        token: str,
        *,
        pace: Pace,
        clock: Callable[[], float],
        random: Callable[[], float],
        credentials: Credentials | None = None,
        today: Callable[[], float] = time.time,
    ) -> None:
        """`credentials`: of a machine that joined; they fetch another token for a refused one.
        `clock` says what has passed, `today` (Unix seconds) whether a token has ended."""
        if url.scheme not in ("ws", "wss", "http", "https") or not url.host:
            raise ValueError(f"not the address of a control plane: {url.with_query(None)}")
        self._url = url
        self._ticket = ticket
        self._ticket_until = clock() + limits.TICKET_LIFE_S
        self._has_shown_ticket = False
        self.token = token
        """Shown on the next line."""
        self._pace = pace
        self._clock = clock
        self._backoff = Backoff(limits.RECONNECT_DELAYS_S, jitter=RECONNECT_JITTER, random=random)
        self._credentials = credentials
        self._today = today
        self._must_fetch = False
        self._has_fetched = False
        self._up_at: float | None = None
        self.problem: str | None = None
        self.is_exhausted = False
        """The documented delays are used up: whoever waits for the line should be told."""

    def address(self) -> URL:
        self._up_at = None
        ticket = self._ticket if self._clock() < self._ticket_until else None
        self._has_shown_ticket = ticket is not None
        return self._url if ticket is None else self._url.update_query(ticket=ticket)

    async def greet(self, socket: Socket) -> InitData:
        """Shows the token and waits for `init`. Raises NoLine."""
        self._ticket = None  # shown is used, whatever comes of it
        if self._must_fetch and self._credentials is not None:
            self._must_fetch, self._has_fetched = False, True
            try:
                self.token = await self._credentials.fetch()
            except ServerRefused as error:
                raise NoLine(LineEnd(CloseCode.AUTH_FAILED, error.message)) from error
        await socket.send(messages.auth(self.token, CAPABILITIES))
        async for text in socket.texts():
            try:
                message = messages.read(text)
            except Malformed as error:
                _log.warning("malformed message before init", problem=str(error))
                continue
            if isinstance(message, InitData):
                self._up_at = self._clock()
                self._has_fetched = False
                _log.info("the line to the control plane is up")
                return message
            _log.warning("a message before init; ignored")
        raise NoLine(socket.end)

    def renewed(self, token: str) -> None:
        """The control plane has sent the one for the next line."""
        self.token = token
        if self._credentials is not None:
            self._credentials.renewed(token)

    def pause_s(self, end: LineEnd) -> float:
        """How long to wait before the next attempt; why is in `problem`, for people."""
        if self._up_at is not None and self._clock() - self._up_at >= LINE_LIVED_S:
            self._backoff.reset()
        if self._up_at is None and self._has_shown_ticket and end.code == CloseCode.AUTH_FAILED:
            return 0.0  # the token alone may do
        is_refused = end.code == CloseCode.AUTH_FAILED
        if is_refused and self._credentials is not None and not self._has_fetched:
            self._must_fetch = True  # it has ended, perhaps: another one may do
            return 0.0
        self._has_fetched = False
        at_least_s = 0.0
        self.problem = f"no line to the control plane ({end.code}: {end.reason})"
        if end.code in _REFUSED:
            self.problem = _REFUSED[CloseCode(end.code)]
            if is_refused:
                self.problem = self._why_refused(end)
            at_least_s = LINE_REFUSED_DELAY_S
        if end.code == CloseCode.RATE_LIMITED:
            self._pace.slow_down()
            at_least_s = LINE_LIMITED_DELAY_S
        else:
            self._pace.recover()
        self.is_exhausted = self._backoff.is_exhausted
        delay_s = self._backoff.next_s(at_least_s)
        level = _log.error if end.code in _REFUSED else _log.warning
        said = {} if end.reason in self.problem else {"reason": end.reason}
        level(self.problem, code=end.code, **said, next_attempt_in_s=round(delay_s, 1))
        return delay_s

    def _why_refused(self, end: LineEnd) -> str:
        if self._credentials is not None:
            return f"the control plane refuses this machine: {end.reason}"
        ended = token_end(self.token)
        if ended is not None and ended <= self._today():
            at = datetime.fromtimestamp(ended).astimezone().strftime("%Y-%m-%d %H:%M")
            return (
                f"this machine's token ended at {at}; issue a new one (trunkline machine token), or"
                " join with a code (trunkline machine add): then it renews itself"
            )
        return _REFUSED[CloseCode.AUTH_FAILED]

"""Keeps a line up: opens it, waits as documented when it is gone, opens it again, for ever.

Knows close codes, tickets and patience; what is said on the line is somebody else's
(document 000 §1, §6, §8).
"""

from collections.abc import Awaitable, Callable

import aiohttp
import structlog
from yarl import URL

from trunkline import limits
from trunkline.execution.backoff import Backoff
from trunkline.execution.errors import LineEnd, NoLine
from trunkline.execution.ws.line import BROKEN, Line, open_line
from trunkline.execution.ws.pace import Pace
from trunkline.wire.semibot.close_codes import CloseCode

_log = structlog.get_logger(__name__)

_REFUSED = {
    CloseCode.AUTH_FAILED: "the control plane refuses this machine's token; issue a new one",
    CloseCode.NO_ACTIVE_VM: "this machine was given up by the control plane; schedule it again",
    CloseCode.USER_NOT_FOUND: "the control plane does not know this machine's user",
    CloseCode.REPLACED: "another process with the same token has taken this machine's line",
}
"""Trying again soon would not help; trying again some time may, and costs nothing."""


class LineKeeper:
    """Everything about a line but its messages."""

    def __init__(
        self,
        url: URL,
        ticket: str | None,
        token: str,
        *,
        pace: Pace,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        random: Callable[[], float],
    ) -> None:
        if url.scheme not in ("ws", "wss", "http", "https") or not url.host:
            raise ValueError(f"not the address of a control plane: {url.with_query(None)}")
        self._url = url
        self._ticket = ticket
        self._ticket_until = clock() + limits.TICKET_LIFE_S
        self.token = token
        """Shown on the next line."""
        self._pace = pace
        self._clock = clock
        self._sleep = sleep
        self._backoff = Backoff(
            limits.RECONNECT_DELAYS_S, jitter=limits.RECONNECT_JITTER, random=random
        )
        self.problem: str | None = None
        self.on_exhausted: Callable[[str], None] = lambda _why: None
        """The documented delays are used up: who still waits for the line waits in vain."""

    async def run(self, live: Callable[[Line], Awaitable[None]]) -> None:
        """Calls `live` with each line that could be opened; until cancelled."""
        async with aiohttp.ClientSession() as http:
            while True:
                end = await self._one_line(http, live)
                if self._backoff.is_exhausted:
                    self.on_exhausted(f"the control plane is unreachable: {end.reason}")
                await self._sleep(self._delay_s(end))

    async def _one_line(
        self, http: aiohttp.ClientSession, live: Callable[[Line], Awaitable[None]]
    ) -> LineEnd:
        ticket = self._ticket if self._clock() < self._ticket_until else None
        url = self._url if ticket is None else self._url.update_query(ticket=ticket)
        try:
            line = await open_line(http, url, self.token)
        except NoLine as error:
            if error.was_reached:
                self._ticket = None  # shown is used, whatever came of it
            if ticket is not None and error.end.code == CloseCode.AUTH_FAILED:
                return await self._one_line(http, live)  # the token alone may do
            return error.end
        except Exception as error:
            _log.exception("a fault kept the line to the control plane from opening")
            return LineEnd(BROKEN, f"a fault on this machine: {type(error).__name__}")
        self._ticket = None
        up_at = self._clock()
        _log.info("the line to the control plane is up")
        try:
            await live(line)
        except Exception:
            _log.exception("a fault ended the line to the control plane")
        finally:
            await line.close()
        if self._clock() - up_at >= limits.LINE_LIVED_S:
            self._backoff.reset()
        return line.end

    def _delay_s(self, end: LineEnd) -> float:
        """How long to wait, and why, for people."""
        at_least_s = 0.0
        self.problem = f"no line to the control plane ({end.code}: {end.reason})"
        if end.code in _REFUSED:
            self.problem = _REFUSED[CloseCode(end.code)]
            at_least_s = limits.LINE_REFUSED_DELAY_S
        if end.code == CloseCode.RATE_LIMITED:
            self._pace.slow_down()
            at_least_s = limits.LINE_LIMITED_DELAY_S
        else:
            self._pace.recover()
        delay_s = self._backoff.next_s(at_least_s)
        level = _log.error if end.code in _REFUSED else _log.warning
        level(self.problem, code=end.code, reason=end.reason, next_attempt_in_s=round(delay_s, 1))
        return delay_s

"""Keeps a line to a foreign server up: opens it, waits when it is gone, opens it again.

Until the server says that it does not want this machine: agents and devices stop at close 1008,
and so do we. What is said on the line is somebody else's.
"""

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp
import structlog
from yarl import URL

from trunkline import limits
from trunkline.execution.errors import LineEnd, NoLine, ServerRefused
from trunkline.execution.wires.socket import Socket, open_socket
from trunkline.execution.ws.line import BROKEN

_log = structlog.get_logger(__name__)

REFUSED = 1008
_REFUSED_HTTP = (400, 401, 403)


class Keeper:
    def __init__(self, url: URL, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._url = url
        self._sleep = sleep
        self._failures = 0
        self._was_up = False

    async def run(self, live: Callable[[Socket], Awaitable[None]]) -> None:
        """Calls `live` with each connection, until cancelled. `live` calls `is_up` when the
        server has let us in, and may raise ServerRefused, as this does."""
        async with aiohttp.ClientSession() as http:
            while True:
                end = await self._one_line(http, live)
                self._give_up_on(end)
                delay_s = self._delay_s()
                _log.warning(
                    "no line to the server",
                    code=end.code,
                    reason=end.reason,
                    next_attempt_in_s=round(delay_s, 1),
                )
                await self._sleep(delay_s)

    def is_up(self) -> None:
        self._was_up = True
        self._failures = 0
        _log.info("the line to the server is up")

    async def _one_line(
        self, http: aiohttp.ClientSession, live: Callable[[Socket], Awaitable[None]]
    ) -> LineEnd:
        try:
            socket = await open_socket(http, self._url)
        except NoLine as error:
            return error.end
        try:
            await live(socket)
        except ServerRefused:
            raise
        except NoLine as error:
            return error.end
        except TimeoutError:
            return LineEnd(BROKEN, "the server did not answer the handshake in time")
        except ConnectionError:
            pass  # how it ended is known to the socket
        except Exception as error:
            _log.exception("a fault ended the line to the server")
            return LineEnd(BROKEN, f"a fault on this machine: {type(error).__name__}")
        finally:
            await socket.close()
        return socket.end

    def _give_up_on(self, end: LineEnd) -> None:
        if end.code == REFUSED:
            why = end.reason or "the token or secret is wrong, or another has taken its place"
            raise ServerRefused(f"the server refuses this machine (1008): {why}")
        if end.code in _REFUSED_HTTP and not self._was_up:
            raise ServerRefused(f"the server refuses this machine ({end.reason})")

    def _delay_s(self) -> float:
        delays = limits.WIRE_RECONNECT_DELAYS_S
        self._failures += 1
        return delays[min(self._failures, len(delays)) - 1]

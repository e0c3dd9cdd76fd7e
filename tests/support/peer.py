"""One end of a WebSocket of JSON messages: what the scripted peers of all protocols share.

It keeps what came and waits for more. It knows no protocol and nothing of our codecs: each peer
adds its own words.
"""

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable
from itertools import islice
from typing import Any, Self

import aiohttp

from tests.support.news import News

Json = dict[str, Any]
Fits = Callable[[Json], bool]

NO_CODE, NO_CLOSE = 1005, 1006
"""RFC 6455 §7.1.5: what stands for the code of a close frame without one, and of no such frame."""


def anything(_message: Json) -> bool:
    return True


class Peer:
    """One connection, with every received message kept in order, also as it came."""

    named_by = "type"
    """The field that says what a message is."""
    bytes_max = 0
    """Of a frame that it takes; above, it closes with 1009. 0: any."""

    def __init__(self, url: str, headers: dict[str, str] | None = None) -> None:
        self.url = url
        self.headers = headers or {}
        self.received: list[Json] = []
        self.texts: list[str] = []
        self.pongs = 0
        self.close_code: int | None = None
        self._fault: Exception | None = None
        self._news = News()
        self._http: aiohttp.ClientSession
        self._socket: aiohttp.ClientWebSocketResponse
        self._reading: asyncio.Task[None] | None = None

    async def connect(self, *, protocols: tuple[str, ...] = (), **headers: str) -> Self:
        """Opens the socket; nothing is said yet. Raises aiohttp's error where it is refused."""
        self._http = aiohttp.ClientSession()
        try:
            self._socket = await self._http.ws_connect(
                self.url,
                headers={**self.headers, **headers},
                protocols=protocols,
                max_msg_size=self.bytes_max,
                autoping=False,
            )
        except BaseException:
            await self._http.close()
            raise
        self._reading = asyncio.create_task(self._read())
        return self

    async def _greet(self) -> None:
        """What it says before anything else, where its protocol asks for that."""

    async def __aenter__(self) -> Self:
        if self._reading is None:
            await self.connect()
            try:
                await self._greet()
            except BaseException:  # nobody leaves what was not entered
                await self.drop()
                raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.leave()

    async def closed(self) -> int:
        """Waits for the end of the line and returns the close code."""
        await self._until(lambda: self.close_code is not None, "end of the line")
        assert self.close_code is not None
        return self.close_code

    async def leave(self) -> None:
        await self._socket.close()
        await self.finish()

    async def drop(self) -> None:
        """The line breaks: no close frame, the socket is gone."""
        line = self._socket.get_extra_info("socket")
        if line is not None:
            with contextlib.suppress(OSError):  # it was gone already
                line.shutdown(socket.SHUT_RDWR)
        await self.finish()

    async def finish(self) -> None:
        """Reads what is left of a line that has ended, and lets go of it."""
        if self._reading is not None:
            await self._reading
        await self._http.close()
        self._raise_fault()

    async def send_text(self, text: str) -> None:
        await self._socket.send_str(text)

    async def send_bytes(self, data: bytes) -> None:
        await self._socket.send_bytes(data)

    async def ping(self) -> None:
        """A WebSocket ping; returns with its answer."""
        pongs = self.pongs
        await self._socket.ping()
        await self._until(lambda: self.pongs > pongs, "pong")

    def of_type(self, kind: str, since: int = 0) -> list[Json]:
        return [one for one in self.received[since:] if one[self.named_by] == kind]

    async def expect(self, kind: str, fits: Fits = anything) -> Json:
        """The first message received of that type that fits; waits for it."""
        return await self._first_of(kind, fits, 0)

    async def _first_of(self, kind: str, fits: Fits, since: int) -> Json:
        return await self.first(
            lambda one: one[self.named_by] == kind and fits(one), repr(kind), since
        )

    async def first(self, fits: Fits, what: str, since: int = 0) -> Json:
        """The first message that fits, beginning at that place; waits for it."""

        def found() -> list[Json]:
            return list(islice(filter(fits, self.received[since:]), 1))

        await self._until(found, what)
        return found()[0]

    async def _until(self, ready: Callable[[], object], what: str) -> None:
        """A line that has ended brings nothing more."""
        await self._news.until(
            lambda: ready() or self.close_code is not None, what, lambda: self.newest
        )
        self._raise_fault()
        assert ready(), f"closed with {self.close_code} before {what}; got {self.newest}"

    @property
    def newest(self) -> list[str]:
        """What a failed wait shows."""
        return [text[:300] for text in self.texts[-10:]]

    async def _take(self, message: Json) -> None:
        """What it does by itself with a message, as soon as that has come."""

    async def _read(self) -> None:
        code = NO_CLOSE
        try:
            while True:
                frame = await self._socket.receive()
                if frame.type is aiohttp.WSMsgType.TEXT:
                    message = json.loads(frame.data)
                    self.texts.append(frame.data)
                    self.received.append(message)
                    self._news.tell()
                    await self._take(message)
                elif frame.type is aiohttp.WSMsgType.PING:
                    await self._socket.pong(frame.data)
                elif frame.type is aiohttp.WSMsgType.PONG:
                    self.pongs += 1
                    self._news.tell()
                else:
                    # Only a frame has the code: the library says 1000 for a bare end, too.
                    if frame.type is aiohttp.WSMsgType.CLOSE:
                        code = int(frame.data or NO_CODE)
                    break
        except ConnectionError:
            pass  # the line broke under an answer
        except Exception as fault:
            self._fault = fault
        self.close_code = code
        self._news.tell()

    def _raise_fault(self) -> None:
        if self._fault is not None:
            raise AssertionError("a message could not be taken") from self._fault

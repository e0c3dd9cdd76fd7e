"""A WebSocket of JSON messages: everything that came is kept in order, and handed on at once."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import aiohttp

Json = dict[str, Any]
WAIT_S = 15.0


class JsonSocket:
    """One connection; it is opened once and never comes back."""

    def __init__(
        self, url: str, on_message: Callable[[Json], None] = lambda _message: None
    ) -> None:
        self._url = url
        self._on_message = on_message
        self.received: list[Json] = []
        self.close_code: int | None = None
        self._fault: Exception | None = None
        self._news = asyncio.Condition()
        self._http: aiohttp.ClientSession
        self._socket: aiohttp.ClientWebSocketResponse
        self._reading: asyncio.Task[None]

    async def open(self, **headers: str) -> "JsonSocket":
        self._http = aiohttp.ClientSession()
        try:
            self._socket = await self._http.ws_connect(self._url, headers=headers, max_msg_size=0)
        except aiohttp.ClientError:
            await self._http.close()
            raise
        self._reading = asyncio.create_task(self._read())
        return self

    async def send(self, message: Json) -> None:
        await self._socket.send_str(json.dumps(message))

    async def expect(self, fits: Callable[[Json], bool], what: str) -> Json:
        """The first message that fits; waits for it."""
        await self.until(lambda: any(map(fits, self.received)) or self.close_code is not None, what)
        found = next((one for one in self.received if fits(one)), None)
        assert found is not None, f"the line closed with {self.close_code} before {what}"
        return found

    async def expect_type(self, kind: str) -> Json:
        """The first message of that `type`."""
        return await self.expect(lambda one: one.get("type") == kind, kind)

    async def until(self, ready: Callable[[], object], what: str) -> None:
        async with self._news:
            try:
                async with asyncio.timeout(WAIT_S):
                    await self._news.wait_for(lambda: bool(self._fault or ready()))
            except TimeoutError:
                tail = json.dumps(self.received[-6:], ensure_ascii=False)[-2000:]
                raise AssertionError(f"no {what} within {WAIT_S:.0f} s; last: {tail}") from None
            if self._fault is not None:
                raise AssertionError("a message could not be taken") from self._fault

    async def closed(self) -> int:
        await self.until(lambda: self.close_code is not None, "end of the line")
        assert self.close_code is not None
        return self.close_code

    async def leave(self) -> None:
        await self._socket.close()
        await self._end()

    async def drop(self) -> None:
        """The connection breaks: no close frame, the socket is gone."""
        connection = self._socket._response.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        await self._end()

    async def _end(self) -> None:
        await asyncio.gather(self._reading, return_exceptions=True)
        await self._http.close()

    async def _read(self) -> None:
        try:
            async for frame in self._socket:
                if frame.type is aiohttp.WSMsgType.TEXT:
                    async with self._news:
                        message = json.loads(frame.data)
                        self.received.append(message)
                        self._on_message(message)
                        self._news.notify_all()
        except Exception as fault:
            self._fault = fault
            raise
        finally:
            async with self._news:
                self.close_code = self._socket.close_code or 1006
                self._news.notify_all()

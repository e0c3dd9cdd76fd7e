"""A scripted execution plane, written from source document 000: raw JSON on a real WebSocket."""

import asyncio
import json
from collections.abc import Callable
from types import TracebackType
from typing import Any

import aiohttp

WAIT_S = 15.0


class ScriptedVm:
    """One line to the control plane, with every received message kept in order."""

    def __init__(self, url: str, user_id: str, token: str, ticket: str | None = None) -> None:
        self.user_id = user_id
        self.token = token
        self.url = f"{url}?user_id={user_id}" + (f"&ticket={ticket}" if ticket else "")
        self.received: list[dict[str, Any]] = []
        self.close_code: int | None = None
        self._http: aiohttp.ClientSession
        self._socket: aiohttp.ClientWebSocketResponse
        self._reading: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()

    async def connect(self, **headers: str) -> "ScriptedVm":
        """Opens the socket; nothing is said yet."""
        self._http = aiohttp.ClientSession()
        self._socket = await self._http.ws_connect(
            self.url, headers=headers, max_msg_size=0, autoclose=True
        )
        self._reading = asyncio.create_task(self._read())
        return self

    async def authenticate(self, *capabilities: str) -> dict[str, Any]:
        """The first frame; returns `init`."""
        first: dict[str, Any] = {"type": "auth", "token": self.token}
        if capabilities:
            first["capabilities"] = list(capabilities)
        await self.send(first)
        return await self.expect("init")

    async def __aenter__(self) -> "ScriptedVm":
        if self._reading is None:
            await self.connect()
            await self.authenticate()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.leave()

    async def send(self, *messages: dict[str, Any]) -> None:
        for message in messages:
            await self._socket.send_str(json.dumps(message))

    async def send_text(self, text: str) -> None:
        await self._socket.send_str(text)

    async def send_bytes(self, data: bytes) -> None:
        await self._socket.send_bytes(data)

    async def event(self, session_id: str, seq: int | None = None, **event: Any) -> None:
        """000 §4.2: an event whose `data` is JSON text."""
        message: dict[str, Any] = {
            "type": "sse_event",
            "session_id": session_id,
            "data": json.dumps(event),
        }
        if seq is not None:
            message["seq"] = seq
        await self.send(message)

    async def text(self, session_id: str, *pieces: str) -> None:
        for piece in pieces:
            await self.event(session_id, type="text_chunk", content=piece)

    async def heartbeat(self, *active: str) -> None:
        await self.send({"type": "heartbeat", "active_sessions": list(active)})

    async def request(self, session_id: str, method: str, /, **params: Any) -> dict[str, Any]:
        """000 §4.3: returns the `response`."""
        request_id = f"msg-{len(self.received)}-{method}"
        await self.send(
            {
                "type": "request",
                "session_id": session_id,
                "id": request_id,
                "method": method,
                "params": params,
            }
        )
        return await self.expect("response", lambda message: message["id"] == request_id)

    async def expect(
        self, kind: str, fits: Callable[[dict[str, Any]], bool] = lambda _message: True
    ) -> dict[str, Any]:
        """The first message received of that type that fits; waits for it."""

        def find() -> dict[str, Any] | None:
            for message in self.received:
                if message["type"] == kind and fits(message):
                    return message
            return None

        found: list[dict[str, Any]] = []

        def ready() -> bool:
            message = find()
            if message is not None:
                found.append(message)
            return bool(found) or self.close_code is not None

        await self._until(ready, f"a message of type {kind!r}")
        if not found:
            raise AssertionError(f"line closed with {self.close_code} before a {kind!r} came")
        return found[0]

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.received if message["type"] == kind]

    async def closed(self) -> int:
        """Waits for the end of the line and returns the close code."""
        await self._until(lambda: self.close_code is not None, "the end of the line")
        assert self.close_code is not None
        return self.close_code

    async def leave(self) -> None:
        await self._socket.close()
        await self._end()

    async def drop(self) -> None:
        """The line breaks: no close frame, the socket is gone."""
        transport = (
            self._socket._response.connection and self._socket._response.connection.transport
        )
        if transport is not None:
            transport.abort()
        await self._end()

    async def _end(self) -> None:
        if self._reading is not None:
            await asyncio.gather(self._reading, return_exceptions=True)
        await self._http.close()

    async def _read(self) -> None:
        async for frame in self._socket:
            if frame.type is aiohttp.WSMsgType.TEXT:
                async with self._news:
                    self.received.append(json.loads(frame.data))
                    self._news.notify_all()
        async with self._news:
            self.close_code = self._socket.close_code or 1006
            self._news.notify_all()

    async def _until(self, ready: Callable[[], bool], what: str) -> None:
        async with self._news:
            try:
                async with asyncio.timeout(WAIT_S):
                    await self._news.wait_for(ready)
            except TimeoutError:
                kinds = [message["type"] for message in self.received]
                raise AssertionError(f"no {what} within {WAIT_S:.0f} s; got {kinds}") from None

"""A control plane that a test scripts: real WebSockets, saying what the test lets it say."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from aiohttp import WSMsgType, web

from tests.support.eventually import WAIT_S

Json = dict[str, Any]


class Connection:
    """One line as the control plane sees it."""

    def __init__(self, server: "ScriptedControl", request: web.Request) -> None:
        self.query = dict(request.query)
        self.received: list[Json] = []
        self.close_code: int | None = None
        self.socket = web.WebSocketResponse(max_msg_size=0)
        self._server = server
        self._request = request

    def of_type(self, kind: str) -> list[Json]:
        return [message for message in self.received if message["type"] == kind]

    def events(self) -> list[Json]:
        """Every event, in the order in which it came, whether batched or not."""
        found = []
        for message in self.received:
            if message["type"] == "sse_event":
                found.append(message)
            elif message["type"] == "batch":
                found += message["events"]
        return found

    def texts(self, session_id: str = "s-1") -> str:
        events = [one for one in self.events() if one["session_id"] == session_id]
        return "".join(json.loads(one["data"]).get("content", "") for one in events)

    async def expect(self, kind: str, fits: Callable[[Json], bool] = lambda _message: True) -> Json:
        await self.until(lambda: any(fits(one) for one in self.of_type(kind)), kind)
        return next(one for one in self.of_type(kind) if fits(one))

    async def until(self, ready: Callable[[], bool], what: str = "that") -> None:
        await self._server.until(ready, lambda: f"{what}; got {str(self.received)[-2000:]}")

    async def send(self, *messages: Json) -> None:
        for message in messages:
            await self.socket.send_json(message)

    def drop(self) -> None:
        """The line breaks: no close frame."""
        assert self._request.transport is not None
        self._request.transport.abort()


class ScriptedControl:
    """Accepts lines one after the other; `refuse` lists close codes for the next ones."""

    def __init__(self) -> None:
        self.connections: list[Connection] = []
        self.capabilities: list[str] | None = None
        self.init: Json = {"user_id": "u-1", "org_id": "o-1", "api_keys": {}}
        self.answers: dict[str, Any] | None = None
        """The results of requests, by method; any other is unsupported. None: the test answers."""
        self.refuse: list[int] = []
        self.url = ""
        self._news = asyncio.Condition()

    @property
    def last(self) -> Connection:
        return self.connections[-1]

    async def connected(self, count: int) -> Connection:
        """The line with this number, once it has shown its token."""
        await self.until(
            lambda: len(self.connections) >= count and bool(self.connections[count - 1].received),
            lambda: f"line number {count}",
        )
        return self.connections[count - 1]

    async def until(self, ready: Callable[[], bool], what: Callable[[], str]) -> None:
        async with self._news:
            try:
                async with asyncio.timeout(WAIT_S):
                    await self._news.wait_for(ready)
            except TimeoutError:
                raise AssertionError(f"not within {WAIT_S:.0f} s: {what()}") from None

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        connection = Connection(self, request)
        await connection.socket.prepare(request)
        self.connections.append(connection)
        try:
            await self._talk(connection)
        finally:
            connection.close_code = connection.socket.close_code
            async with self._news:
                self._news.notify_all()
        return connection.socket

    async def _talk(self, connection: Connection) -> None:
        async for frame in connection.socket:
            if frame.type is not WSMsgType.TEXT:
                continue
            message = json.loads(frame.data)
            async with self._news:
                connection.received.append(message)
                self._news.notify_all()
            if message["type"] == "auth":
                if self.refuse:
                    await connection.socket.close(code=self.refuse.pop(0))
                    return
                data = dict(self.init)
                if self.capabilities is not None:
                    data["capabilities"] = self.capabilities
                await connection.send({"type": "init", "data": data})
            elif message["type"] == "request" and self.answers is not None:
                await connection.send(self._answer(message, self.answers))

    def _answer(self, message: Json, answers: Json) -> Json:
        head = {"type": "response", "id": message["id"]}
        if message["method"] in answers:
            return {**head, "result": answers[message["method"]], "error": None}
        error = {"code": "UNSUPPORTED_METHOD", "message": "no such method"}
        return {**head, "result": None, "error": error}


@contextlib.asynccontextmanager
async def scripted_control(port: int = 0) -> AsyncIterator[ScriptedControl]:
    server = ScriptedControl()
    app = web.Application()
    app.router.add_get("/ws/vm", server.serve)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    server.url = f"ws://127.0.0.1:{runner.addresses[0][1]}/ws/vm"
    try:
        yield server
    finally:
        await runner.cleanup()

"""A scripted MyAgent client, written from source document 001: raw JSON on a real WebSocket.

`TestUser` gives the token; how it is carried is the caller's choice.
"""

import asyncio
import json
from collections.abc import Callable
from types import TracebackType
from typing import Any

import aiohttp

from tests.support.control import TestUser

WAIT_S = 15.0
Json = dict[str, Any]


class MyAgentClient:
    """One connection, with every message kept in order. Each check of the document's rules that
    holds for all messages is made as they come."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url.replace("http", "ws", 1)
        self.token = token
        self.received: list[Json] = []
        self.close_code: int | None = None
        self.subprotocol: str | None = None
        self._http: aiohttp.ClientSession
        self._socket: aiohttp.ClientWebSocketResponse
        self._reading: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()

    async def connect(self, *, protocols: tuple[str, ...] = (), **headers: str) -> "MyAgentClient":
        """Opens the socket; raises `aiohttp.WSServerHandshakeError` when it is refused."""
        if self.token is not None:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        self._http = aiohttp.ClientSession()
        try:
            self._socket = await self._http.ws_connect(
                self.url, headers=headers, protocols=protocols, max_msg_size=0
            )
        except aiohttp.ClientError:
            await self._http.close()
            raise
        self.subprotocol = self._socket.protocol
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aenter__(self) -> "MyAgentClient":
        if self._reading is None:
            await self.connect()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.leave()

    # --- Up -----------------------------------------------------------------------------------

    async def send(self, event: str, **fields: Any) -> None:
        await self.send_text(json.dumps({"event": event, **fields}))

    async def send_text(self, text: str) -> None:
        await self._socket.send_str(text)

    async def create_session(self, content: Any = None, **fields: Any) -> str:
        """001: `user.create_session`, answered by `agent.session_created`."""
        seen = len(self.received)
        if content is not None:
            fields["content"] = content
        await self.send("user.create_session", **fields)
        created = await self.expect("agent.session_created", after=seen)
        return str(created["session_id"])

    async def say(self, session_id: str, content: Any, **fields: Any) -> None:
        await self.send("user.message", session_id=session_id, content=content, **fields)

    async def respond(self, confirm: Json, content: Any) -> None:
        """The answer to an `agent.user_confirm`."""
        await self.send(
            "user.response",
            session_id=confirm["session_id"],
            step_id=confirm["step_id"],
            content=content,
        )

    async def cancel(self, session_id: str) -> None:
        await self.send("user.cancel", session_id=session_id)

    async def reconnect(self, session_id: str, **position: Any) -> None:
        await self.send("user.reconnect", session_id=session_id, **position)

    # --- Down ---------------------------------------------------------------------------------

    async def expect(
        self,
        event: str,
        fits: Callable[[Json], bool] = lambda _message: True,
        *,
        after: int = 0,
    ) -> Json:
        """The first message of that event that fits, beginning at that place; waits for it."""
        found: list[Json] = []

        def ready() -> bool:
            found.extend(
                one for one in self.received[after:] if one["event"] == event and fits(one)
            )
            return bool(found) or self.close_code is not None

        await self._until(ready, f"an {event!r}")
        if not found:
            raise AssertionError(f"closed with {self.close_code} before an {event!r} came")
        return found[0]

    async def fault(self, code: str, *, after: int = 0) -> Json:
        """The error with that code, whoever's it is."""

        def fits(message: Json) -> bool:
            return bool(message.get("metadata", {}).get("error_code") == code)

        found: list[Json] = []

        def ready() -> bool:
            found.extend(one for one in self.received[after:] if fits(one))
            return bool(found) or self.close_code is not None

        await self._until(ready, f"an error {code!r}")
        if not found:
            raise AssertionError(f"closed with {self.close_code} before {code!r} came")
        return found[0]

    async def answered(self) -> None:
        """Waits until everything sent before has been dealt with."""
        seen = len(self.received)
        await self.send("user.ack", content={})
        await self.fault("MISSING_FIELD", after=seen)

    def of_event(self, event: str, session_id: str | None = None) -> list[Json]:
        return [
            one
            for one in self.received
            if one["event"] == event and session_id in (None, one.get("session_id"))
        ]

    def of_session(self, session_id: str) -> list[Json]:
        return [one for one in self.received if one.get("session_id") == session_id]

    def text(self, session_id: str) -> str:
        """The streamed answer: pieces are deltas."""
        return "".join(one["content"] for one in self.of_event("agent.partial_answer", session_id))

    @property
    def connection_id(self) -> str:
        return str(self.received[0]["connection_id"])

    @property
    def last_event_id(self) -> str:
        return str(self.received[-1]["event_id"])

    async def closed(self) -> int:
        await self._until(lambda: self.close_code is not None, "the end")
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
                got = [one["event"] for one in self.received]
                raise AssertionError(f"no {what} within {WAIT_S:.0f} s; got {got}") from None


def client_of(user: TestUser, path: str = "/ws/myagent") -> MyAgentClient:
    """A client of that user, not connected yet."""
    return MyAgentClient(user.control.url + path, user.token)

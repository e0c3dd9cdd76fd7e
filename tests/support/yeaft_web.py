"""A scripted Yeaft web client, written from document 002 and WIRE-NOTES: raw JSON, real socket."""

import asyncio
import json
from collections.abc import Callable
from types import TracebackType
from typing import Any

import aiohttp

from tests.support.control import TestUser

WAIT_S = 15.0

Json = dict[str, Any]
Fits = Callable[[Json], bool]


class ScriptedWeb:
    """One connection, with every received message kept in order, also as it came."""

    def __init__(self, url: str, headers: dict[str, str] | None = None) -> None:
        self.url = url
        self.headers = headers or {}
        self.received: list[Json] = []
        self.texts: list[str] = []
        self.close_code: int | None = None
        self._http: aiohttp.ClientSession
        self._socket: aiohttp.ClientWebSocketResponse
        self._reading: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()

    async def connect(self) -> "ScriptedWeb":
        """Opens the socket. Deployed clients say hello before they have heard anything."""
        self._http = aiohttp.ClientSession()
        self._socket = await self._http.ws_connect(
            self.url, headers=self.headers, max_msg_size=0, autoclose=False
        )
        self._reading = asyncio.create_task(self._read())
        return self

    async def hello(self, **fields: Any) -> Json:
        """The handshake; returns `auth_result`."""
        await self.send("client_hello", plaintextOk=True, **fields)
        await self.expect("client_hello_ack")
        return await self.expect("auth_result")

    async def __aenter__(self) -> "ScriptedWeb":
        if self._reading is None:
            await self.connect()
            await self.hello()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.leave()

    # --- Saying -----------------------------------------------------------------------------------

    async def send(self, kind: str, /, **fields: Any) -> None:
        await self.send_text(json.dumps({"type": kind, **fields}, ensure_ascii=False))

    async def send_text(self, text: str) -> None:
        await self._socket.send_str(text)

    async def ask(self, kind: str, answer: str, /, **fields: Any) -> Json:
        """The first answer of that type that comes after the question, or the error."""
        seen = len(self.received)
        await self.send(kind, **fields)
        await self.until(lambda new: any(one["type"] in (answer, "error") for one in new), seen)
        return next(one for one in self.received[seen:] if one["type"] in (answer, "error"))

    async def create(self, **fields: Any) -> str:
        """002, "Conversation lifecycle" 1 and 2: returns the conversation's id."""
        seen = len(self.received)
        await self.send("create_conversation", **{"provider": "claude-code", **fields})
        ready = await self.expect("session_ready", since=seen)
        return str(ready["conversationId"])

    # --- Hearing ----------------------------------------------------------------------------------

    async def expect(self, kind: str, fits: Fits = lambda _one: True, since: int = 0) -> Json:
        """The first message of that type that fits, since then."""

        def found(new: list[Json]) -> list[Json]:
            return [one for one in new if one["type"] == kind and fits(one)]

        await self.until(lambda new: bool(found(new)), since, f"{kind!r}")
        return found(self.received[since:])[0]

    async def result(self, since: int = 0) -> Json:
        """The `data` of a turn's end."""
        ended = await self.expect("claude_output", is_result, since)
        data: Json = ended["data"]
        return data

    async def until(
        self, ready: Callable[[list[Json]], bool], since: int = 0, what: str = "such messages"
    ) -> None:
        async with self._news:
            try:
                async with asyncio.timeout(WAIT_S):
                    await self._news.wait_for(
                        lambda: ready(self.received[since:]) or self.close_code is not None
                    )
            except TimeoutError:
                raise AssertionError(f"no {what} in {WAIT_S:.0f} s; got {self.newest}") from None
        if not ready(self.received[since:]):
            raise AssertionError(f"closed with {self.close_code} before {what}; got {self.newest}")

    async def closed(self) -> int:
        async with self._news:
            async with asyncio.timeout(WAIT_S):
                await self._news.wait_for(lambda: self.close_code is not None)
        assert self.close_code is not None
        return self.close_code

    @property
    def newest(self) -> list[str]:
        """What a failed wait shows."""
        return [text[:300] for text in self.texts[-10:]]

    def of_type(self, kind: str, since: int = 0) -> list[Json]:
        return [one for one in self.received[since:] if one["type"] == kind]

    def outputs(self, conversation_id: str, since: int = 0) -> list[Json]:
        """The `data` of all output of a conversation."""
        return [
            one["data"]
            for one in self.received[since:]
            if one["type"] in ("claude_output", "yeaft_output")
            and one["conversationId"] == conversation_id
        ]

    def text_of(self, conversation_id: str, since: int = 0) -> str:
        """What the agent said, put together as a page does."""
        return "".join(
            block["text"]
            for data in self.outputs(conversation_id, since)
            if data["type"] == "assistant"
            for block in data["message"]["content"]
            if block["type"] == "text"
        )

    # --- The socket -------------------------------------------------------------------------------

    async def leave(self) -> None:
        await self._socket.close()
        if self._reading is not None:
            await asyncio.gather(self._reading, return_exceptions=True)
        await self._http.close()

    async def _read(self) -> None:
        code = 1006
        while True:
            frame = await self._socket.receive()
            if frame.type is aiohttp.WSMsgType.TEXT:
                async with self._news:
                    self.texts.append(frame.data)
                    self.received.append(json.loads(frame.data))
                    self._news.notify_all()
            elif frame.type is aiohttp.WSMsgType.CLOSE:
                code = int(frame.data)
                break
            elif frame.type not in (aiohttp.WSMsgType.PING, aiohttp.WSMsgType.PONG):
                break
        async with self._news:
            self.close_code = code
            self._news.notify_all()


def heard(text: str) -> Fits:
    """A machine's `user_message` of that text."""
    return lambda one: bool(one["data"]["message"] == text)


def started(session_id: str) -> Fits:
    """A machine's `start_session` of that session."""
    return lambda one: bool(one["data"]["session_id"] == session_id)


def is_result(envelope: Json) -> bool:
    data = envelope.get("data")
    return isinstance(data, dict) and data.get("type") == "result"


def web_url(user: TestUser, path: str = "/ws/yeaft", token: str | None = None) -> str:
    secret = user.token if token is None else token
    base = user.control.url.replace("http", "ws", 1)
    return f"{base}{path}?type=web" + (f"&token={secret}" if secret else "")


def web_of(user: TestUser) -> ScriptedWeb:
    """A client of that person that shows its token in the address."""
    return ScriptedWeb(web_url(user))

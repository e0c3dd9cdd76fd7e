"""A scripted AGP device, written from source document 003: raw JSON on a real WebSocket."""

import asyncio
import json
from collections.abc import Callable
from types import TracebackType
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import aiohttp

from tests.support.control import TestUser

WAIT_S = 15.0
Json = dict[str, Any]


class ScriptedDevice:
    """One connection, with every received message kept in order."""

    def __init__(
        self,
        url: str,
        *,
        guid: str | None = None,
        user_id: str | None = None,
        token: str | None = None,
        path: str = "/",
    ) -> None:
        self.guid = guid
        self.user_id = user_id
        self.token = token
        self._base = url
        self._path = path
        asked = {"guid": guid, "user_id": user_id, "token": token}
        query = urlencode({name: value for name, value in asked.items() if value is not None})
        self.url = f"{url.replace('http', 'ws', 1)}{path}?{query}"
        self.received: list[Json] = []
        self.close_code: int | None = None
        self._http: aiohttp.ClientSession
        self._socket: aiohttp.ClientWebSocketResponse
        self._reading: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()

    async def connect(self) -> "ScriptedDevice":
        self._http = aiohttp.ClientSession()
        try:
            self._socket = await self._http.ws_connect(self.url, max_msg_size=0)
        except aiohttp.WSServerHandshakeError:
            await self._http.close()
            raise
        self._reading = asyncio.create_task(self._read())
        return self

    def again(self) -> "ScriptedDevice":
        """The same device for a reconnect."""
        return ScriptedDevice(
            self._base, guid=self.guid, user_id=self.user_id, token=self.token, path=self._path
        )

    async def __aenter__(self) -> "ScriptedDevice":
        return self if self._reading is not None else await self.connect()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.leave()

    # --- Up ---------------------------------------------------------------------------------------

    async def send_text(self, text: str) -> None:
        await self._socket.send_str(text)

    async def send(self, method: str, payload: Json, **envelope: Any) -> str:
        """003 §3: an envelope; returns its `msg_id`."""
        message = {
            "msg_id": str(uuid4()),
            "guid": self.guid,
            "user_id": self.user_id,
            "method": method,
            "payload": payload,
            **envelope,
        }
        # As apps write it: no spaces, no escapes that are not needed.
        await self.send_text(json.dumps(message, ensure_ascii=False, separators=(",", ":")))
        return str(message["msg_id"])

    async def update(self, prompt: Json, update_type: str, /, **fields: Any) -> str:
        """003 §5: `session.update` for a prompt that came."""
        asked = prompt["payload"]
        payload = {
            "session_id": asked["session_id"],
            "prompt_id": asked["prompt_id"],
            "update_type": update_type,
            **fields,
        }
        return await self.send("session.update", payload, **_echo(prompt))

    async def text(self, prompt: Json, *pieces: str) -> None:
        for piece in pieces:
            await self.update(prompt, "message_chunk", content={"type": "text", "text": piece})

    async def tool(self, prompt: Json, call_id: str, status: str, /, **fields: Any) -> None:
        """A `tool_call`, or with any further status a `tool_call_update`."""
        update_type = fields.pop("update_type", "tool_call")
        call = {"tool_call_id": call_id, "status": status, **fields}
        await self.update(prompt, update_type, tool_call=call)

    async def respond(
        self, prompt: Json, text: str | None = None, stop_reason: str = "end_turn", **fields: Any
    ) -> str:
        """003 §5: `session.promptResponse`."""
        asked = prompt["payload"]
        payload = {
            "session_id": asked["session_id"],
            "prompt_id": asked["prompt_id"],
            "stop_reason": stop_reason,
            **fields,
        }
        if text is not None:
            payload["content"] = [{"type": "text", "text": text}]
        return await self.send("session.promptResponse", payload, **_echo(prompt))

    async def ping(self) -> None:
        """A WebSocket ping."""
        await self._socket.ping()

    # --- Down -------------------------------------------------------------------------------------

    async def expect(
        self, method: str, fits: Callable[[Json], bool] = lambda _message: True
    ) -> Json:
        """The first message received of that method that fits; waits for it."""

        def found() -> list[Json]:
            return [one for one in self.of(method) if fits(one)]

        await self._until(
            lambda: bool(found()) or self.close_code is not None, f"message {method!r}"
        )
        if not found():
            raise AssertionError(f"closed with {self.close_code} before a {method!r} came")
        return found()[0]

    async def prompt(self, text: str) -> Json:
        """The prompt whose first block says this."""
        return await self.expect(
            "session.prompt", lambda one: one["payload"]["content"][0]["text"] == text
        )

    async def cancel_of(self, prompt: Json) -> Json:
        wanted = prompt["payload"]["prompt_id"]
        return await self.expect(
            "session.cancel", lambda one: one["payload"]["prompt_id"] == wanted
        )

    async def round_trip(self) -> None:
        """Everything sent before has been taken: a `ping` behind it is answered."""
        mark = str(uuid4())
        await self.send("ping", {}, msg_id=mark)
        await self.expect("pong", lambda one: one["payload"].get("msg_id") == mark)

    def of(self, method: str) -> list[Json]:
        return [message for message in self.received if message["method"] == method]

    def said(self) -> list[str]:
        """The texts of the prompts that came, in order."""
        return [one["payload"]["content"][0]["text"] for one in self.of("session.prompt")]

    # --- The end ----------------------------------------------------------------------------------

    async def closed(self) -> int:
        await self._until(lambda: self.close_code is not None, "end of the connection")
        assert self.close_code is not None
        return self.close_code

    async def leave(self) -> None:
        await self._socket.close()
        await self._end()

    async def drop(self) -> None:
        """The line breaks: no close frame, the socket is gone."""
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
                got = [(one["method"], one["payload"]) for one in self.received]
                raise AssertionError(f"no {what} within {WAIT_S:.0f} s; got {got}") from None


def _echo(prompt: Json) -> Json:
    """Uplink messages carry the `guid` and `user_id` of the prompt."""
    return {"guid": prompt["guid"], "user_id": prompt["user_id"]}


async def register(user: TestUser, **fields: Any) -> Json:
    """A new device's credentials: `guid`, `token`, `machine_id`."""
    made: Json = await user.ok("POST", f"/users/{user.id}/devices", fields)
    return made


async def new_device(user: TestUser, **fields: Any) -> ScriptedDevice:
    """A new device, connected with all that the document asks for."""
    made = await register(user, **fields)
    device = device_of(user, made)
    return await device.connect()


def device_of(user: TestUser, made: Json, **options: Any) -> ScriptedDevice:
    return ScriptedDevice(
        user.control.url, guid=made["guid"], user_id=user.id, token=made["token"], **options
    )


async def events_of(user: TestUser, session_id: str) -> list[Json]:
    """What the session's log holds."""
    page = await user.ok("GET", f"/sessions/{session_id}/events?limit=1000")
    return [item["event"] for item in page["items"]]

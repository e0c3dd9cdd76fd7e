"""A scripted Yeaft agent, written from source document 002 and the field notes: raw JSON on a real
WebSocket, in the documented dialect or the deployed one."""

import asyncio
import json
from collections.abc import Callable
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

import aiohttp

from tests.support.control import TestUser

WAIT_S = 15.0
DOCUMENTED, DEPLOYED = "documented", "deployed"

Json = dict[str, Any]


class ScriptedAgent:
    """One line of one agent, with every received message kept in order.

    `answers`: it creates and resumes conversations when told to, as a real one does.
    """

    def __init__(
        self,
        url: str,
        agent_id: str,
        secret: str,
        dialect: str = DOCUMENTED,
        *,
        answers: bool = True,
        path: str = "/ws/yeaft",
        **query: str,
    ) -> None:
        self.id = agent_id
        self.secret = secret
        self.dialect = dialect
        self.answers = answers
        self.base = url
        self.path = path
        fields = {
            "type": "agent",
            "id": agent_id,
            "name": "builder",
            "instanceId": "i-1",
            "workDir": "/srv/project",
            "platform": "linux",
            "capabilities": "terminal,file_editor",
            **query,
        }
        self.url = f"{url.replace('http', 'ws', 1)}{path}?{urlencode(fields)}"
        self.received: list[Json] = []
        self.texts: list[str] = []
        self.pongs = 0
        self.close_code: int | None = None
        self._http: aiohttp.ClientSession
        self._socket: aiohttp.ClientWebSocketResponse
        self._reading: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()

    # --- The line -----------------------------------------------------------------------------

    async def connect(self) -> "ScriptedAgent":
        """Opens the socket; nothing is said yet."""
        self._http = aiohttp.ClientSession()
        self._socket = await self._http.ws_connect(self.url, max_msg_size=0, autoping=False)
        self._reading = asyncio.create_task(self._read())
        return self

    async def register(self, *, sync: bool = True, **fields: Any) -> Json:
        """The handshake of the field notes; returns `registered`."""
        asked = await self.expect("auth_required")
        await self.send(
            {
                "type": "auth",
                "tempId": asked["tempId"],
                "secret": self.secret,
                "capabilities": ["terminal", "file_editor"],
                "version": "1.0.0",
                "platform": "linux",
                **fields,
            }
        )
        registered = await self.expect("registered")
        if sync:
            await self.sync()
        return registered

    async def sync(self, *conversations: Json) -> None:
        """What an agent sends first: what it has, if it says so, then that it is done."""
        if conversations:
            await self.send({"type": "conversation_list", "conversations": list(conversations)})
        await self.send({"type": "agent_sync_complete"})

    def again(self, **changes: Any) -> "ScriptedAgent":
        """The same agent, for a line of its own."""
        same: dict[str, Any] = {"answers": self.answers, "path": self.path, **changes}
        return ScriptedAgent(self.base, self.id, self.secret, self.dialect, **same)

    async def __aenter__(self) -> "ScriptedAgent":
        if self._reading is None:
            await self.connect()
            await self.register()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.leave()

    async def leave(self) -> None:
        await self._socket.close()
        await self._end()

    async def drop(self) -> None:
        """The line breaks: no close frame, the socket is gone."""
        connection = self._socket._response.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        await self._end()

    async def closed(self) -> int:
        """Waits for the end of the line and returns the close code."""
        await self._until(lambda: self.close_code is not None, "end of the line")
        assert self.close_code is not None
        return self.close_code

    async def ping(self) -> None:
        """A WebSocket ping, as agents send every 25 s; returns with its answer."""
        pongs = self.pongs
        await self._socket.ping()
        await self._until(lambda: self.pongs > pongs, "pong")

    # --- Saying -------------------------------------------------------------------------------

    async def send(self, *messages: Json) -> None:
        for message in messages:
            await self._socket.send_str(json.dumps(message, separators=(",", ":")))

    async def send_text(self, text: str) -> None:
        await self._socket.send_str(text)

    async def send_bytes(self, data: bytes) -> None:
        await self._socket.send_bytes(data)

    async def output(self, conversation_id: str, **data: Any) -> None:
        """002: `claude_output`, whose data is Claude's stream-json."""
        await self.send({"type": "claude_output", "conversationId": conversation_id, "data": data})

    async def blocks(self, conversation_id: str, *blocks: Json) -> None:
        """An assistant's message of these blocks."""
        message = {"role": "assistant", "content": list(blocks)}
        await self.output(conversation_id, type="assistant", message=message)

    async def text(self, conversation_id: str, *pieces: str) -> None:
        for piece in pieces:
            await self.blocks(conversation_id, {"type": "text", "text": piece})

    async def tool(self, conversation_id: str, call_id: str, name: str, given: Json) -> None:
        block = {"type": "tool_use", "id": call_id, "name": name, "input": given}
        await self.blocks(conversation_id, block)

    async def tool_result(self, conversation_id: str, call_id: str, content: Any) -> None:
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        message = {"role": "user", "content": [block]}
        await self.output(conversation_id, type="user", message=message)

    async def result(self, conversation_id: str, subtype: str = "success", **fields: Any) -> None:
        """A turn's end, with what a deployed agent says behind it."""
        await self.output(
            conversation_id,
            **{
                "type": "result",
                "subtype": subtype,
                "session_id": f"own-{conversation_id}",
                "is_error": subtype != "success",
                "duration_ms": 1234,
                "total_cost_usd": 0.012,
                "usage": {"input_tokens": 10, "output_tokens": 5},
                **fields,
            },
        )
        if self.dialect == DEPLOYED:
            await self.send({"type": "turn_completed", "conversationId": conversation_id})

    async def ask(self, conversation_id: str, request_id: str, prompt: str, **fields: Any) -> None:
        """002: a tool asks the user."""
        await self.send(
            {
                "type": "ask_user_question",
                "conversationId": conversation_id,
                "requestId": request_id,
                "prompt": prompt,
                **fields,
            }
        )

    async def cancelled(self, conversation_id: str) -> None:
        """How an agent ends a turn that was cancelled."""
        if self.dialect == DEPLOYED:
            await self.send({"type": "execution_cancelled", "conversationId": conversation_id})
        else:
            await self.result(conversation_id, "error_during_execution")

    async def ready(self, conversation_id: str, *, resumed: bool = False) -> None:
        """The answer to `create_conversation` or `resume_conversation`."""
        own = f"own-{conversation_id}"
        message: Json = {"conversationId": conversation_id, "workDir": "/srv/project"}
        if self.dialect == DOCUMENTED:
            message |= {"type": "session_ready", "sessionId": own, "capabilities": ["text"]}
            message |= {"modelInfo": {"name": "scripted"}}
        elif resumed:
            message |= {"type": "conversation_resumed", "claudeSessionId": own}
        else:
            message |= {"type": "conversation_created", "provider": "claude-code"}
        await self.send(message)

    # --- Hearing ------------------------------------------------------------------------------

    def of_type(self, kind: str) -> list[Json]:
        return [message for message in self.received if message["type"] == kind]

    async def expect(self, kind: str, fits: Callable[[Json], bool] = lambda _message: True) -> Json:
        """The first message received of that type that fits; waits for it."""

        def found() -> list[Json]:
            return [one for one in self.of_type(kind) if fits(one)]

        await self._until(lambda: bool(found()) or self.close_code is not None, f"{kind!r}")
        assert found(), f"the line ended with {self.close_code} before a {kind!r} came"
        return found()[0]

    async def prompt(self, text: str) -> Json:
        """A user's message of that text, in the words of this agent's dialect."""
        if self.dialect == DOCUMENTED:
            return await self.expect("send_message", lambda one: one["text"] == text)
        kinds = ("execute", "transfer_files")

        def found() -> list[Json]:
            return [one for kind in kinds for one in self.of_type(kind) if one["prompt"] == text]

        await self._until(lambda: bool(found()), f"the prompt {text!r}")
        return found()[0]

    async def _read(self) -> None:
        async for frame in self._socket:
            if frame.type is not aiohttp.WSMsgType.TEXT:
                await self._control_frame(frame)
                continue
            message = json.loads(frame.data)
            async with self._news:
                self.received.append(message)
                self.texts.append(frame.data)
                self._news.notify_all()
            if self.answers and message["type"] == "create_conversation":
                await self.ready(message["conversationId"])
            elif self.answers and message["type"] == "resume_conversation":
                await self.ready(message["conversationId"], resumed=True)
        async with self._news:
            self.close_code = self._socket.close_code or 1006
            self._news.notify_all()

    async def _control_frame(self, frame: aiohttp.WSMessage) -> None:
        if frame.type is aiohttp.WSMsgType.PING:
            await self._socket.pong(frame.data)
        elif frame.type is aiohttp.WSMsgType.PONG:
            async with self._news:
                self.pongs += 1
                self._news.notify_all()

    async def _end(self) -> None:
        if self._reading is not None:
            await asyncio.gather(self._reading, return_exceptions=True)
        await self._http.close()

    async def _until(self, ready: Callable[[], bool], what: str) -> None:
        async with self._news:
            try:
                async with asyncio.timeout(WAIT_S):
                    await self._news.wait_for(ready)
            except TimeoutError:
                kinds = [message["type"] for message in self.received]
                raise AssertionError(f"no {what} within {WAIT_S:.0f} s; got {kinds}") from None


async def new_agent(user: TestUser, dialect: str = DOCUMENTED, **more: Any) -> ScriptedAgent:
    """A new agent of that user; it is not connected yet."""
    issued = await user.ok("POST", f"/users/{user.id}/yeaft-agents", {"name": "builder"})
    return ScriptedAgent(user.control.url, issued["id"], issued["secret"], dialect, **more)

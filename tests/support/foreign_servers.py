"""Foreign servers for machines of ours, written from documents 002 and 003 and the field notes.

They speak raw JSON and know nothing of our codecs. The test plays the person behind them.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any, Self
from uuid import uuid4

from aiohttp import WSMsgType, web

from tests.support.news import News

Json = dict[str, Any]

WAIT_S = 60.0
"""A daemon that has just been started loads its runtime before the first answer."""


class ForeignServer:
    """One WebSocket server on loopback. `received` holds what came, over all connections."""

    def __init__(self) -> None:
        self.received: list[Json] = []
        self.queries: list[dict[str, str]] = []
        self.port = 0
        self._line: web.WebSocketResponse | None = None
        self._transport: asyncio.Transport | None = None
        self._newest: asyncio.Transport | None = None
        self._news = News(WAIT_S)
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/"

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/", self._accept)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _accept(self, request: web.Request) -> web.StreamResponse:
        self.queries.append(dict(request.query))
        refusal = self.refuses(dict(request.query))
        if refusal is not None:
            return web.Response(status=refusal)
        line = web.WebSocketResponse(max_msg_size=0)
        await line.prepare(request)
        self._newest = request.transport
        if await self.let_in(line):
            self._line, self._transport = line, request.transport
            self._news.tell()
            async for frame in line:
                if frame.type is WSMsgType.TEXT:
                    self.took(json.loads(frame.data))
                    self._news.tell()
        if self._line is line:
            self._line = None
            self._news.tell()
        return line

    def took(self, message: Json) -> None:
        self.received.append(message)

    def refuses(self, query: dict[str, str]) -> int | None:
        """An HTTP status instead of a WebSocket."""
        return None

    async def let_in(self, line: web.WebSocketResponse) -> bool:
        """The handshake."""
        return True

    async def until(self, good: Callable[[], Any], what: str) -> Any:
        """What `good` gives as soon as it is something."""
        await self._news.until(
            good, what, lambda: json.dumps(self.received[-20:], ensure_ascii=False)[-3000:]
        )
        return good()

    async def connected(self) -> None:
        await self.until(lambda: self._line is not None, "connection")

    async def send(self, message: Json | str) -> None:
        assert self._line is not None
        await self._line.send_str(message if isinstance(message, str) else json.dumps(message))

    def stop_reading(self) -> None:
        """From the newest connection nothing is taken any more."""
        assert self._newest is not None
        self._newest.pause_reading()

    def cut(self) -> None:
        """The connection is gone, without a word."""
        line, self._line = self._line, None
        if line is not None and self._transport is not None:
            self._transport.abort()

    async def close(self, code: int, reason: str = "") -> None:
        assert self._line is not None
        await self._line.close(code=code, message=reason.encode())


class AgpServer(ForeignServer):
    """Document 003. Keeps the first message of each `msg_id`, and the first answer of a prompt."""

    def __init__(self, token: str = "right") -> None:
        super().__init__()
        self._token = token

    def refuses(self, query: dict[str, str]) -> int | None:
        if not (query.get("guid") and query.get("user_id")):
            return 400
        return None if query.get("token") == self._token else 401

    async def prompt(self, session_id: str, text: str, prompt_id: str | None = None) -> str:
        prompt_id = prompt_id or str(uuid4())
        content = [{"type": "text", "text": text}]
        await self._say("session.prompt", session_id, prompt_id, content=content)
        return prompt_id

    async def cancel(self, session_id: str, prompt_id: str) -> None:
        await self._say("session.cancel", session_id, prompt_id)

    async def _say(self, method: str, session_id: str, prompt_id: str, **more: Any) -> None:
        turn = {"session_id": session_id, "prompt_id": prompt_id, "agent_app": "trunkline"}
        envelope = {"msg_id": str(uuid4()), "guid": "device_001", "user_id": "user_123"}
        await self.send({**envelope, "method": method, "payload": {**turn, **more}})

    def of(self, prompt_id: str) -> list[Json]:
        """What came of a prompt, each message once."""
        known: dict[str, Json] = {}
        for one in self.received:
            if one.get("payload", {}).get("prompt_id") == prompt_id:
                known.setdefault(one["msg_id"], one)
        return list(known.values())

    def updates(self, prompt_id: str, kind: str) -> list[Json]:
        payloads = [one["payload"] for one in self.of(prompt_id)]
        return [one for one in payloads if one.get("update_type") == kind]

    def text(self, prompt_id: str) -> str:
        chunks = self.updates(prompt_id, "message_chunk")
        return "".join(one["content"]["text"] for one in chunks)

    def answers(self, prompt_id: str) -> list[Json]:
        found = [one for one in self.of(prompt_id) if one["method"] == "session.promptResponse"]
        return [one["payload"] for one in found]

    async def answer(self, prompt_id: str) -> Json:
        [answer] = await self.until(lambda: self.answers(prompt_id), "promptResponse")
        found: Json = answer
        return found


class YeaftServer(ForeignServer):
    """Document 002 and the agent's handshake of the field notes."""

    def __init__(self, secret: str = "right") -> None:
        super().__init__()
        self._secret = secret
        self.capabilities: list[str] = []
        """What the agent said that it can do."""

    async def let_in(self, line: web.WebSocketResponse) -> bool:
        await line.send_str(json.dumps({"type": "auth_required", "tempId": "temp-1"}))
        auth = await line.receive_json()
        self.capabilities = auth.get("capabilities", [])
        is_right = auth["type"] == "auth" and auth["tempId"] == "temp-1"
        if not is_right or auth["secret"] != self._secret:
            await line.close(code=1008, message=b"wrong secret")
            return False
        registered = {"agentId": "a-1", "sessionKey": None, "acceptPlaintext": True}
        await line.send_str(json.dumps({"type": "registered", **registered}))
        return True

    async def say(self, kind: str, **fields: Any) -> None:
        await self.send({"type": kind, **fields})

    def of(self, kind: str, conversation_id: str | None = None) -> list[Json]:
        return [
            one
            for one in self.received
            if one["type"] == kind
            and (conversation_id is None or one.get("conversationId") == conversation_id)
        ]

    async def first(self, kind: str, conversation_id: str | None = None, count: int = 1) -> Json:
        """The nth message of that type."""
        found = await self.until(
            lambda: self.of(kind, conversation_id)[count - 1 :], f"{kind} number {count}"
        )
        message: Json = found[0]
        return message

    def data(self, conversation_id: str, kind: str) -> list[Json]:
        """What was said in a conversation: `data` of its output."""
        output = [one["data"] for one in self.of("claude_output", conversation_id)]
        return [one for one in output if one["type"] == kind]

    def blocks(self, conversation_id: str, kind: str) -> list[Json]:
        said = self.data(conversation_id, "assistant") + self.data(conversation_id, "user")
        content = [block for one in said for block in one["message"]["content"]]
        return [block for block in content if block["type"] == kind]

    def text(self, conversation_id: str) -> str:
        return "".join(block["text"] for block in self.blocks(conversation_id, "text"))

    async def result(self, conversation_id: str, count: int = 1) -> Json:
        found = await self.until(
            lambda: self.data(conversation_id, "result")[count - 1 :], f"result number {count}"
        )
        result: Json = found[0]
        return result

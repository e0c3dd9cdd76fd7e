"""A scripted Yeaft web client, written from document 002 and WIRE-NOTES: raw JSON, real socket."""

import json
from collections.abc import Callable
from typing import Any

from tests.support.control import TestUser
from tests.support.eventually import WAIT_S as WAIT_S
from tests.support.peer import Fits, Json, Peer, anything


class ScriptedWeb(Peer):
    """One connection. Deployed clients say hello before they have heard anything."""

    async def _greet(self) -> None:
        await self.hello()

    async def hello(self, **fields: Any) -> Json:
        """The handshake; returns `auth_result`."""
        await self.send("client_hello", plaintextOk=True, **fields)
        await self.expect("client_hello_ack")
        return await self.expect("auth_result")

    async def send(self, kind: str, /, **fields: Any) -> None:
        await self.send_text(json.dumps({"type": kind, **fields}, ensure_ascii=False))

    async def ask(self, kind: str, answer: str, /, **fields: Any) -> Json:
        """The first answer of that type that comes after the question, or the error."""
        seen = len(self.received)
        await self.send(kind, **fields)
        return await self.first(lambda one: one["type"] in (answer, "error"), repr(answer), seen)

    async def create(self, **fields: Any) -> str:
        """002, "Conversation lifecycle" 1 and 2: returns the conversation's id."""
        seen = len(self.received)
        await self.send("create_conversation", **{"provider": "claude-code", **fields})
        ready = await self.expect("session_ready", since=seen)
        return str(ready["conversationId"])

    async def expect(self, kind: str, fits: Fits = anything, since: int = 0) -> Json:
        """The first message of that type that fits, since then."""
        return await self._first_of(kind, fits, since)

    async def result(self, since: int = 0) -> Json:
        """The `data` of a turn's end."""
        ended = await self.expect("claude_output", is_result, since)
        data: Json = ended["data"]
        return data

    async def until(
        self, ready: Callable[[list[Json]], bool], since: int = 0, what: str = "such messages"
    ) -> None:
        await self._until(lambda: ready(self.received[since:]), what)

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

"""A scripted MyAgent client, written from source document 001: raw JSON on a real WebSocket.

`TestUser` gives the token; how it is carried is the caller's choice.
"""

import json
from typing import Any

from tests.support.control import TestUser
from tests.support.peer import Fits, Peer, anything
from tests.support.peer import Json as Json


class MyAgentClient(Peer):
    """One connection."""

    named_by = "event"

    def __init__(self, url: str, token: str | None = None) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        super().__init__(url.replace("http", "ws", 1), headers)
        self.token = token

    @property
    def subprotocol(self) -> str | None:
        return self._socket.protocol

    async def send(self, event: str, **fields: Any) -> None:
        await self.send_text(json.dumps({"event": event, **fields}))

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

    async def expect(self, kind: str, fits: Fits = anything, *, after: int = 0) -> Json:
        """The first message of that event that fits, beginning at that place; waits for it."""
        return await self._first_of(kind, fits, after)

    async def fault(self, code: str, *, after: int = 0) -> Json:
        """The error with that code, whoever's it is."""
        return await self.first(
            lambda one: one.get("metadata", {}).get("error_code") == code, f"error {code!r}", after
        )

    async def answered(self) -> None:
        """Waits until everything sent before has been dealt with."""
        seen = len(self.received)
        await self.send("user.cancel")
        await self.fault("MISSING_FIELD", after=seen)

    def of_event(self, event: str, session_id: str | None = None) -> list[Json]:
        found = self.of_type(event)
        return [one for one in found if session_id in (None, one.get("session_id"))]

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


def client_of(user: TestUser, path: str = "/ws/myagent") -> MyAgentClient:
    """A client of that user, not connected yet."""
    return MyAgentClient(user.control.url + path, user.token)

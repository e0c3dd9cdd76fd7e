"""A scripted execution plane, written from source document 000: raw JSON on a real WebSocket."""

import json
from typing import Any

from tests.support.peer import Json, Peer


class ScriptedVm(Peer):
    """One line to the control plane."""

    def __init__(self, url: str, user_id: str, token: str, ticket: str | None = None) -> None:
        named = "" if ticket is None else f"&ticket={ticket}"
        super().__init__(f"{url}?user_id={user_id}{named}")
        self.user_id = user_id
        self.token = token

    async def _greet(self) -> None:
        await self.authenticate()

    async def authenticate(self, *capabilities: str) -> Json:
        """The first frame; returns `init`."""
        first: Json = {"type": "auth", "token": self.token}
        if capabilities:
            first["capabilities"] = list(capabilities)
        await self.send(first)
        return await self.expect("init")

    async def send(self, *messages: Json) -> None:
        for message in messages:
            await self.send_text(json.dumps(message))

    async def event(self, session_id: str, seq: int | None = None, **event: Any) -> None:
        """000 §4.2: an event whose `data` is JSON text."""
        message: Json = {
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

    async def request(self, session_id: str, method: str, /, **params: Any) -> Json:
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

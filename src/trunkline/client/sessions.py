"""Sessions: make them, talk to them, follow them, answer what they ask."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

from trunkline import limits
from trunkline.client.errors import ApiError, Unreachable
from trunkline.client.http import Http
from trunkline.client.log import logged
from trunkline.client.models import AcceptedMessage, Approval, Event, Json, Page, Session
from trunkline.client.stream import WAITS_S, Sleep, Stream


class Sessions:
    """The session routes of the API."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def create(self, **choices: Any) -> Session:
        """`agent_id`, `machine_id`, `runtime_type`, `title`, …; None leaves it to the server."""
        body = {name: value for name, value in choices.items() if value is not None}
        return await self._http.fetch(Session, "POST", "sessions", body=body)

    async def get(self, session_id: str) -> Session:
        return await self._http.fetch(Session, "GET", "sessions", session_id)

    async def page(
        self, *, limit: int | None = None, cursor: str | None = None, status: str | None = None
    ) -> Page[Session]:
        query = {"limit": limit, "cursor": cursor, "status": status}
        return await self._http.fetch(Page[Session], "GET", "sessions", query=query)

    async def close(self, session_id: str) -> None:
        await self._http.call("DELETE", "sessions", session_id)

    async def send(
        self,
        session_id: str,
        message: str,
        *,
        metadata: Json | None = None,
        client_message_id: str | None = None,
    ) -> str:
        """The id of the turn. A message whose answer was lost goes again for some seconds: with
        the same `client_message_id`, that has no effect."""
        body: Json = {"message": message, "client_message_id": client_message_id or str(uuid4())}
        if metadata is not None:
            body["metadata"] = metadata
        path = ("sessions", session_id, "messages")
        clock = asyncio.get_running_loop().time
        deadline = clock() + limits.CLIENT_TIMEOUT_S  # for all attempts together
        waits = iter(WAITS_S)
        while True:
            try:
                accepted = await self._http.fetch(
                    AcceptedMessage, "POST", *path, body=body, timeout_s=deadline - clock()
                )
                return accepted.turn_id
            except (Unreachable, ApiError) as error:
                is_open = isinstance(error, Unreachable) or error.is_of_gateway
                wait_s = next(waits, None)
                if not is_open or wait_s is None or clock() + wait_s >= deadline:
                    raise
            await asyncio.sleep(wait_s)

    async def cancel(self, session_id: str, reason: str | None = None) -> None:
        body = {} if reason is None else {"reason": reason}
        await self._http.call("POST", "sessions", session_id, "cancel", body=body)

    async def configure(self, session_id: str, **changes: Any) -> None:
        await self._http.call("PATCH", "sessions", session_id, "config", body=changes)

    def events(self, session_id: str, after: int = 0) -> AsyncGenerator[Event, None]:
        """The log up to now, page by page."""
        return logged(self._http, session_id, after)

    async def snapshot(self, session_id: str) -> Json:
        """The full state, as a reader needs it after `resync`."""
        return await self._http.fetch(Json, "GET", "sessions", session_id, "snapshot")

    def stream(self, session_id: str, after: int = 0, *, sleep: Sleep = asyncio.sleep) -> Stream:
        """The log from there on, live; goes on by itself when the connection breaks."""
        return Stream(self._http, session_id, after=after, sleep=sleep)

    async def approvals(self, session_id: str | None = None) -> list[Approval]:
        """What waits for an answer."""
        found: list[Approval] = []
        cursor: str | None = None
        while True:
            query = {"session_id": session_id, "cursor": cursor}
            page = await self._http.fetch(Page[Approval], "GET", "approvals", query=query)
            found += page.items
            cursor = page.next_cursor
            if cursor is None:
                return found

    async def answer(
        self, approval_id: str, confirmed: bool, answer: Any = None, session_id: str | None = None
    ) -> Approval:
        """By the approval's id, or, with its session, by the id that the machine gave it."""
        body = {"confirmed": confirmed, "answer": answer, "session_id": session_id}
        return await self._http.fetch(Approval, "POST", "approvals", approval_id, body=body)

"""Sessions: make them, talk to them, follow them, answer what they ask."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar
from uuid import uuid4

from trunkline.client.errors import ClientError, Unreachable
from trunkline.client.http import Http
from trunkline.client.log import logged
from trunkline.client.models import Approval, Event, Json, Page, Session, turn_id
from trunkline.client.stream import Sleep, Stream

T = TypeVar("T")

_WAITS_S = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0)


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
        """The id of the turn. A message whose answer was lost goes again: with the same
        `client_message_id`, that has no effect."""
        body: Json = {"message": message, "client_message_id": client_message_id or str(uuid4())}
        if metadata is not None:
            body["metadata"] = metadata

        async def call() -> bytes:
            return await self._http.call("POST", "sessions", session_id, "messages", body=body)

        return turn_id(await _patiently(call, lambda error: isinstance(error, Unreachable)))

    async def cancel(self, session_id: str, reason: str | None = None) -> None:
        body = {} if reason is None else {"reason": reason}
        await self._http.call("POST", "sessions", session_id, "cancel", body=body)

    async def configure(self, session_id: str, **changes: Any) -> None:
        await self._http.call("PATCH", "sessions", session_id, "config", body=changes)

    async def events(self, session_id: str, after: int = 0) -> AsyncIterator[Event]:
        """The log up to now, page by page."""
        async for event in logged(self._http, session_id, after):
            yield event

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
        """By the approval's id, or, with its session, by the id that the machine gave it: the
        event that has it may be here a moment before its record."""
        body = {"confirmed": confirmed, "answer": answer, "session_id": session_id}

        async def call() -> Approval:
            return await self._http.fetch(Approval, "POST", "approvals", approval_id, body=body)

        return await _patiently(
            call, lambda error: session_id is not None and getattr(error, "status", 0) == 404
        )


async def _patiently(call: Callable[[], Awaitable[T]], passes: Callable[[ClientError], bool]) -> T:
    """Again after what passes by itself, for some seconds."""
    for wait_s in _WAITS_S:
        try:
            return await call()
        except ClientError as error:
            if not passes(error):
                raise
        await asyncio.sleep(wait_s)
    return await call()

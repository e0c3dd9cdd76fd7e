"""The client: one server seen with one token. Records, and sessions to talk to and follow."""

import asyncio
import mimetypes
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from trunkline.client.errors import ApiError, Unreachable
from trunkline.client.http import TIMEOUT_S, Http
from trunkline.client.models import AcceptedMessage, Approval, Event, Json, Page, Session
from trunkline.client.stream import WAITS_S, Sleep, Stream, logged


class Sessions:
    """The session routes of the API."""

    def __init__(self, http: Http, sleep: Sleep) -> None:
        self._http = http
        self._sleep = sleep

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
        attachment_ids: Sequence[str] = (),
        when_busy: str | None = None,
    ) -> str:
        """The id of the turn. `when_busy`: what becomes of it while another turn runs, `queue`,
        `steer` (then it is that turn's id, where that can be done) or `replace`. A message whose
        response was lost is sent again for some seconds, which has no effect with the same
        `client_message_id`."""
        body: Json = {"message": message, "client_message_id": client_message_id or str(uuid4())}
        if metadata is not None:
            body["metadata"] = metadata
        if attachment_ids:
            body["attachment_ids"] = list(attachment_ids)
        if when_busy is not None:
            body["when_busy"] = when_busy
        path = ("sessions", session_id, "messages")
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._http.timeout_s  # for all attempts together
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
            await self._sleep(wait_s)

    async def upload(self, files: Iterable[Path]) -> list[str]:
        """Ids by which the next message can name these files."""
        form = [
            (one.name, _media_type(one), await asyncio.to_thread(one.read_bytes)) for one in files
        ]
        found = await self._http.fetch(Json, "POST", "uploads", files=form) if form else {}
        return [one["id"] for one in found.get("items", [])]

    async def cancel(self, session_id: str, reason: str | None = None) -> None:
        body = {} if reason is None else {"reason": reason}
        await self._http.call("POST", "sessions", session_id, "cancel", body=body)

    async def compact(self, session_id: str) -> None:
        """The event `context_compacted` tells how it ended."""
        await self._http.call("POST", "sessions", session_id, "compact")

    async def configure(self, session_id: str, **changes: Any) -> None:
        await self._http.call("PATCH", "sessions", session_id, "config", body=changes)

    def events(self, session_id: str, after: int = 0) -> AsyncGenerator[Event, None]:
        """The log up to now, page by page."""
        return logged(self._http, session_id, after)

    async def snapshot(self, session_id: str) -> Json:
        """The full state, as a reader needs it after `resync`."""
        return await self._http.fetch(Json, "GET", "sessions", session_id, "snapshot")

    def stream(self, session_id: str, after: int = 0) -> Stream:
        """The log from there on, live; goes on by itself when the connection breaks."""
        return Stream(self._http, session_id, after=after, sleep=self._sleep)

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
        self,
        approval_id: str,
        confirmed: bool,
        answer: Any = None,
        session_id: str | None = None,
        *,
        scope: str = "once",
        reason: str | None = None,
    ) -> Approval:
        """By the approval's id, or, with its session, by the id that the machine gave it. `scope`:
        for how long it is meant, `once`, for the `session` or `always`."""
        body = {
            "confirmed": confirmed,
            "answer": answer,
            "session_id": session_id,
            "scope": scope,
            "reason": reason,
        }
        return await self._http.fetch(Approval, "POST", "approvals", approval_id, body=body)


def _media_type(file: Path) -> str:
    return mimetypes.guess_type(file.name)[0] or "application/octet-stream"


class Client:
    """`async with Client(url, token) as client:`. Records are plain JSON objects.

    `timeout_s` bounds a call with all its attempts; `sleep` waits between them.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.http = Http(url, token, timeout_s)
        self.sessions = Sessions(self.http, sleep)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.close()

    async def get(self, *path: str, **query: Any) -> Json:
        """`get("agents", id)`: one record, or whatever object is there."""
        return await self.http.fetch(Json, "GET", *path, query=query)

    async def each(self, *path: str, **query: Any) -> AsyncIterator[Json]:
        """Every item of a list, page by page."""
        cursor: str | None = None
        while True:
            page = await self.http.fetch(
                Page[Json], "GET", *path, query={**query, "cursor": cursor}
            )
            for item in page.items:
                yield item
            cursor = page.next_cursor
            if cursor is None:
                return

    async def post(self, *path: str, body: Json | None = None) -> Json:
        return await self.http.fetch(Json, "POST", *path, body=body or {})

    async def put(self, *path: str, body: Json) -> Json:
        return await self.http.fetch(Json, "PUT", *path, body=body)

    async def patch(self, *path: str, body: Json) -> Json:
        return await self.http.fetch(Json, "PATCH", *path, body=body)

    async def delete(self, *path: str) -> None:
        await self.http.call("DELETE", *path)

    async def upload(self, *path: str, content: bytes) -> Json:
        return await self.http.fetch(Json, "POST", *path, upload=content)

    async def me(self) -> Json:
        """Who this token is: `user`, `org`, `token_id`."""
        return await self.get("me")

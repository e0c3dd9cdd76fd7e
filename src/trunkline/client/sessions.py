"""The session routes of the API: talk to a session, follow it, answer its questions."""

import asyncio
import mimetypes
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar
from uuid import uuid4

from trunkline.client.errors import ApiError, TimedOut, Unreachable
from trunkline.client.http import Http
from trunkline.client.live import WAITS_S, Sleep
from trunkline.client.models import AcceptedMessage, Answer, Approval, Event, Json, Page, Session
from trunkline.client.questions import Questions
from trunkline.client.stream import Stream, logged
from trunkline.client.turns import OnQuestion, Turn, reaction_to

T = TypeVar("T")
Attachment = Path | str | tuple[str, bytes]
"""A file by its path, or a name and what is in it."""
_OPEN = ("queued", "sent")
_LOOK_BACK = 20
"""Events before the last one: a session that was idle a moment ago may have begun another turn."""


class Sessions:
    """`client.sessions`."""

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

    async def ask(
        self,
        session_id: str,
        message: str,
        *,
        files: Iterable[Attachment] = (),
        metadata: Json | None = None,
        when_busy: Literal["queue", "replace"] | None = None,
        on_question: OnQuestion | None = None,
        timeout_s: float | None = None,
    ) -> Answer:
        """Says something and waits for the answer. `on_question` is called with each
        `approval_request` and says what to reply; without it somebody else has to. Raises
        TurnFailed, and TimedOut after `timeout_s`: the turn then goes on without a listener."""
        try:
            async with asyncio.timeout(timeout_s):
                turn: Turn | None = None
                said = self._said(session_id, message, files, metadata, when_busy)
                async with aclosing(said) as found:
                    async for current, event in found:
                        turn = current
                        if event.type == "approval_request" and on_question is not None:
                            await self._react(session_id, event, on_question)
        except TimeoutError as error:
            raise TimedOut(f"session {session_id} has no answer after {timeout_s} s") from error
        if turn is None:
            raise AssertionError("a turn has at least its end")
        return turn.answer()

    async def turn(
        self,
        session_id: str,
        message: str,
        *,
        files: Iterable[Attachment] = (),
        metadata: Json | None = None,
        when_busy: Literal["queue", "replace"] | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Says something and gives the events of that turn as they come, to its end."""
        said = self._said(session_id, message, files, metadata, when_busy)
        async with aclosing(said) as found:
            async for _, event in found:
                yield event

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
        accepted = await self._surely(
            AcceptedMessage, "POST", "sessions", session_id, "messages", body=body
        )
        return accepted.turn_id

    async def upload(self, files: Iterable[Attachment]) -> list[str]:
        """Ids by which the next message can name these files."""
        form = [await _read(one) for one in files]
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

    async def watch_approvals(
        self, session_id: str | None = None
    ) -> AsyncGenerator[Approval, None]:
        """Every question that waits or comes to wait, once, in this session or in any; goes on by
        itself when the connection breaks."""
        pending = partial(self.approvals, session_id)
        questions = Questions(self._http, pending, session_id, sleep=self._sleep)
        async with aclosing(aiter(questions)) as found:
            async for one in found:
                yield one

    async def wait_for_approval(
        self, session_id: str | None = None, *, timeout_s: float | None = None
    ) -> Approval:
        """The next question that waits, in this session or in any; raises TimedOut."""
        try:
            async with (
                asyncio.timeout(timeout_s),
                aclosing(self.watch_approvals(session_id)) as found,
            ):
                return await anext(found)
        except TimeoutError as error:
            raise TimedOut(f"nobody asked anything for {timeout_s} s") from error

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
        body = _answer(confirmed, answer, session_id, scope, reason)
        return await self._http.fetch(Approval, "POST", "approvals", approval_id, body=body)

    async def _said(
        self,
        session_id: str,
        message: str,
        files: Iterable[Attachment],
        metadata: Json | None,
        when_busy: str | None,
    ) -> AsyncGenerator[tuple[Turn, Event], None]:
        attached = await self.upload(files)
        session, ahead = await self.get(session_id), list[str]()
        position = max(0, session.last_event_id - _LOOK_BACK)
        if session.state != "idle":
            ahead, position = await self._open_turns(session_id)
        turn_id = await self.send(
            session_id, message, metadata=metadata, attachment_ids=attached, when_busy=when_busy
        )
        turn = Turn(turn_id, ahead)
        stream = Stream(
            self._http, session_id, after=position, starts_over=False, sleep=self._sleep
        )
        async with aclosing(aiter(stream)) as events:
            async for event in events:
                if turn.take(event):
                    yield turn, event
                if turn.is_over:
                    return

    async def _open_turns(self, session_id: str) -> tuple[list[str], int]:
        """The turns that are open, the oldest first, at a position. A snapshot's turns may be newer
        than its position: two that agree are not."""
        before: list[str] | None = None
        while True:
            now = await self.snapshot(session_id)
            found = [one["id"] for one in now["turns"] if one["state"] in _OPEN]
            if found == before:
                return found, now["last_event_id"]
            before = found

    async def _react(self, session_id: str, event: Event, on_question: OnQuestion) -> None:
        reply = await reaction_to(event, on_question)
        name = event.request_id
        if reply is None or name is None:
            return
        body = _answer(reply.confirmed, reply.answer, session_id, reply.scope, reply.reason)
        try:
            # What was answered before a response was lost is said to be so.
            await self._surely(Approval, "POST", "approvals", name, body=body)
        except ApiError as error:
            if error.code != "ALREADY_ANSWERED":
                raise

    async def _surely(self, kind: type[T], method: str, *path: str, body: Json) -> T:
        """Calls again while it is unknown what became of it, for as long as a call may take."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._http.timeout_s  # for all attempts together
        waits = iter(WAITS_S)
        while True:
            try:
                return await self._http.fetch(
                    kind, method, *path, body=body, timeout_s=deadline - clock()
                )
            except (Unreachable, ApiError) as error:
                is_open = isinstance(error, Unreachable) or error.is_of_gateway
                wait_s = next(waits, None)
                if not is_open or wait_s is None or clock() + wait_s >= deadline:
                    raise
            await self._sleep(wait_s)


def _answer(
    confirmed: bool, answer: Any, session_id: str | None, scope: str, reason: str | None
) -> Json:
    return {
        "confirmed": confirmed,
        "answer": answer,
        "session_id": session_id,
        "scope": scope,
        "reason": reason,
    }


async def _read(file: Attachment) -> tuple[str, str, bytes]:
    """Name, media type and content."""
    if isinstance(file, tuple):
        name, content = file
    else:
        path = Path(file)
        name, content = path.name, await asyncio.to_thread(path.read_bytes)
    return name, mimetypes.guess_type(name)[0] or "application/octet-stream", content

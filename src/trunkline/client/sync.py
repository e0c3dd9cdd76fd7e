"""The client for programs that do not wait in coroutines: scripts, notebooks, threads.

`SyncClient` has what `Client` has, under the same names and with the same types; streams are plain
iterators. One background loop does the work; it may be used from several threads at once.
"""

import weakref
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, Literal

from trunkline.client.client import Client
from trunkline.client.http import TIMEOUT_S
from trunkline.client.locate import ServerAccess
from trunkline.client.loop import LoopThread
from trunkline.client.models import Answer, Approval, Event, Json, Page, Session
from trunkline.client.sessions import Attachment, Sessions
from trunkline.client.stream import Stream
from trunkline.client.turns import SyncOnQuestion, asked_in


class SyncStream:
    """`for event in stream:`; ends only with an error, or when it is left."""

    def __init__(self, loop: LoopThread, stream: Stream) -> None:
        self._loop = loop
        self._stream = stream

    @property
    def position(self) -> int:
        """The last id that was given out."""
        return self._stream.position

    def __iter__(self) -> Generator[Event, None, None]:
        return self._loop.each(aiter(self._stream))


class SyncSessions:
    """`client.sessions`; see `Sessions` for what each does."""

    def __init__(self, loop: LoopThread, sessions: Sessions) -> None:
        self._loop = loop
        self._all = sessions

    def create(self, **choices: Any) -> Session:
        return self._loop.run(self._all.create(**choices))

    def get(self, session_id: str) -> Session:
        return self._loop.run(self._all.get(session_id))

    def page(
        self, *, limit: int | None = None, cursor: str | None = None, status: str | None = None
    ) -> Page[Session]:
        return self._loop.run(self._all.page(limit=limit, cursor=cursor, status=status))

    def close(self, session_id: str) -> None:
        self._loop.run(self._all.close(session_id))

    def ask(
        self,
        session_id: str,
        message: str,
        *,
        files: Iterable[Attachment] = (),
        metadata: Json | None = None,
        when_busy: Literal["queue", "replace"] | None = None,
        on_question: SyncOnQuestion | None = None,
        timeout_s: float | None = None,
    ) -> Answer:
        """`on_question` is called in this thread, and may use this client."""
        return self._loop.run_with_calls(
            lambda here: self._all.ask(
                session_id,
                message,
                files=files,
                metadata=metadata,
                when_busy=when_busy,
                on_question=None if on_question is None else asked_in(here, on_question),
                timeout_s=timeout_s,
            )
        )

    def turn(
        self,
        session_id: str,
        message: str,
        *,
        files: Iterable[Attachment] = (),
        metadata: Json | None = None,
        when_busy: Literal["queue", "replace"] | None = None,
    ) -> Generator[Event, None, None]:
        return self._loop.each(
            self._all.turn(session_id, message, files=files, metadata=metadata, when_busy=when_busy)
        )

    def send(
        self,
        session_id: str,
        message: str,
        *,
        metadata: Json | None = None,
        client_message_id: str | None = None,
        attachment_ids: Sequence[str] = (),
        when_busy: str | None = None,
    ) -> str:
        return self._loop.run(
            self._all.send(
                session_id,
                message,
                metadata=metadata,
                client_message_id=client_message_id,
                attachment_ids=attachment_ids,
                when_busy=when_busy,
            )
        )

    def upload(self, files: Iterable[Attachment]) -> list[str]:
        return self._loop.run(self._all.upload(files))

    def cancel(self, session_id: str, reason: str | None = None) -> None:
        self._loop.run(self._all.cancel(session_id, reason))

    def compact(self, session_id: str) -> None:
        self._loop.run(self._all.compact(session_id))

    def configure(self, session_id: str, **changes: Any) -> None:
        self._loop.run(self._all.configure(session_id, **changes))

    def events(self, session_id: str, after: int = 0) -> Generator[Event, None, None]:
        return self._loop.each(self._all.events(session_id, after))

    def snapshot(self, session_id: str) -> Json:
        return self._loop.run(self._all.snapshot(session_id))

    def stream(self, session_id: str, after: int = 0) -> SyncStream:
        return SyncStream(self._loop, self._all.stream(session_id, after))

    def approvals(self, session_id: str | None = None) -> list[Approval]:
        return self._loop.run(self._all.approvals(session_id))

    def watch_approvals(self, session_id: str | None = None) -> Generator[Approval, None, None]:
        return self._loop.each(self._all.watch_approvals(session_id))

    def wait_for_approval(
        self, session_id: str | None = None, *, timeout_s: float | None = None
    ) -> Approval:
        return self._loop.run(self._all.wait_for_approval(session_id, timeout_s=timeout_s))

    def answer(
        self,
        approval_id: str,
        confirmed: bool,
        answer: Any = None,
        session_id: str | None = None,
        *,
        scope: str = "once",
        reason: str | None = None,
    ) -> Approval:
        return self._loop.run(
            self._all.answer(approval_id, confirmed, answer, session_id, scope=scope, reason=reason)
        )


class SyncClient:
    """`with SyncClient() as client:`; see `Client`."""

    def __init__(
        self,
        url: str | ServerAccess | None = None,
        token: str | None = None,
        *,
        data: str | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._client = Client(url, token, data=data, timeout_s=timeout_s)
        self._loop = LoopThread()
        self.sessions = SyncSessions(self._loop, self._client.sessions)
        # In a notebook nobody says goodbye.
        self._finish = weakref.finalize(self, _close, self._loop, self._client)

    def __enter__(self) -> "SyncClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends its connections and its thread; it can be used again."""
        _close(self._loop, self._client)

    def get(self, *path: str, **query: Any) -> Json:
        return self._loop.run(self._client.get(*path, **query))

    def each(self, *path: str, **query: Any) -> Iterator[Json]:
        return self._loop.each(self._client.each(*path, **query))

    def post(self, *path: str, body: Json | None = None) -> Json:
        return self._loop.run(self._client.post(*path, body=body))

    def put(self, *path: str, body: Json) -> Json:
        return self._loop.run(self._client.put(*path, body=body))

    def patch(self, *path: str, body: Json) -> Json:
        return self._loop.run(self._client.patch(*path, body=body))

    def delete(self, *path: str) -> None:
        self._loop.run(self._client.delete(*path))

    def upload(self, *path: str, content: bytes) -> Json:
        return self._loop.run(self._client.upload(*path, content=content))

    def me(self) -> Json:
        return self._loop.run(self._client.me())


def _close(loop: LoopThread, client: Client) -> None:
    loop.close(client.close)

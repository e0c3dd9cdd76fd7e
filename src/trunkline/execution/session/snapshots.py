"""Sessions' states, sent to the control plane so that a session can go on elsewhere.

Skipped while the line is down: the files here are the truth, and the next snapshot catches up.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.execution.line import SessionLine
from trunkline.execution.session.session import Session

_log = structlog.get_logger(__name__)


class Snapshots:
    """Takes one of each session that has changed, every minute and whenever it is asked to."""

    def __init__(
        self, line: SessionLine, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._line = line
        self._sleep = sleep
        self._sent: dict[str, bytes] = {}
        """By session, the digest of what was sent last: the same state is sent once."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._lock = asyncio.Lock()
        """One at a time: of two of the same session, the later one is sent last."""

    async def run(self, sessions: Callable[[], Iterable[Session]]) -> None:
        while True:
            await self._sleep(limits.SNAPSHOT_INTERVAL_S)
            for session in list(sessions()):
                if session.is_changed:
                    await self.take(session)

    def soon(self, session: Session) -> None:
        """At the end of a turn. The session stays marked as changed: its process may write its
        last checkpoint a moment after its last event."""

        async def take() -> None:
            await self.take(session)
            session.is_changed = True

        task = asyncio.create_task(take(), name=_name(session.id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def take(self, session: Session) -> None:
        async with self._lock:
            await self._take(session)

    async def _take(self, session: Session) -> None:
        if not self._line.online:
            return
        session.is_changed = False
        try:
            snapshot = await session.adapter.get_snapshot()
        except Exception:
            _log.exception("a session's state cannot be read", session=session.id)
            return
        size, digest = await asyncio.to_thread(_measure, snapshot)
        if not snapshot or self._sent.get(session.id) == digest:
            return
        if size > limits.SNAPSHOT_BYTES_MAX:
            _log.warning("a session's state is too large to send", session=session.id)
            return
        self._sent[session.id] = digest
        self._line.fire_and_forget(session.id, "snapshot_sync", **snapshot)

    def forget(self, session_id: str) -> None:
        """It is over: whoever still waits to read its files would find, or make, them anew."""
        self._sent.pop(session_id, None)
        for task in self._tasks:
            if task.get_name() == _name(session_id):
                task.cancel()

    async def close(self) -> None:
        """Lets those that are being taken be sent."""
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _name(session_id: str) -> str:
    return f"snapshot {session_id}"


def _measure(snapshot: Json) -> tuple[int, bytes]:
    data = msgspec.json.encode(snapshot)
    return len(data), hashlib.sha256(data).digest()

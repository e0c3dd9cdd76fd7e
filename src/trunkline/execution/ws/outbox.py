"""Everything this machine owes the control plane, on disk until it is safe there.

Events per session, numbered; reports in one queue. The line takes from here, acknowledgements
come back here. Bounded: the oldest events that nobody waits for go first, and their missing
numbers show it. Knows nothing of sockets.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import structlog

from trunkline import limits
from trunkline.execution.ws.event import Event
from trunkline.execution.ws.journal import Journal
from trunkline.execution.ws.reports import Reports
from trunkline.execution.ws.session_queue import SessionQueue

_log = structlog.get_logger(__name__)

_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")
_SUFFIX = ".jsonl"
_SHRINK_TO = 0.75
"""Of a bound: room is made for a while, not for one event."""


class Outgoing(NamedTuple):
    """One event to send."""

    session_id: str
    seq: int
    data: str
    size: int


class Outbox:
    """Files below `folder`; what an earlier process left there is owed still."""

    def __init__(
        self,
        folder: Path,
        *,
        session_bytes_max: int = limits.OUTBOX_SESSION_BYTES_MAX,
        bytes_max: int = limits.OUTBOX_BYTES_MAX,
    ) -> None:
        self._folder = folder / "events"
        self._session_bytes_max = session_bytes_max
        self._bytes_max = bytes_max
        self._queues: dict[str, SessionQueue] = {}
        self._waiting: dict[str, SessionQueue] = {}
        """The sessions with something to send, the next one first."""
        self._done: dict[str, None] = {}
        """The sessions that ended and owe nothing, the oldest first."""
        self._early: list[tuple[str, Event]] | None = []
        """Until the first `init`, nobody knows which number a session's next event has."""
        self.bytes = 0
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.reports = Reports(Journal(folder / f"reports{_SUFFIX}"))
        for path in sorted(self._folder.glob(f"*{_SUFFIX}")):
            session_id = path.name.removesuffix(_SUFFIX)
            if _SESSION_ID.match(session_id):
                self._queue(session_id)
            else:
                _log.warning("a file in the outbox that is not ours", file=path.name[:100])

    def _queue(self, session_id: str) -> SessionQueue:
        self._done.pop(session_id, None)
        queue = self._queues.get(session_id)
        if queue is None:
            if not _SESSION_ID.match(session_id):  # it becomes a file's name
                raise ValueError(f"not a session id: {session_id[:100]!r}")
            journal = Journal(self._folder / f"{session_id}{_SUFFIX}")
            queue = self._queues[session_id] = SessionQueue(session_id, journal)
            self._grown(queue, queue.bytes)
        return queue

    # --- Sessions -----------------------------------------------------------------------------

    def open_session(self, session_id: str, acked: int = 0) -> None:
        """`start_session`: the control plane has seen numbers up to `acked`; ours go on there."""
        queue = self._queue(session_id)
        queue.is_closed = False
        queue.last = max(queue.last, acked)

    def close_session(self, session_id: str) -> None:
        """No more events will come. The file goes when everything is acknowledged."""
        queue = self._queues.get(session_id)
        if queue is not None:
            queue.is_closed = True
            self._shrunk(queue, 0)

    def forget_session(self, session_id: str) -> None:
        """The control plane does not know this session: nothing is owed for it any more."""
        queue = self._queues.pop(session_id, None)
        if queue is not None:
            self._waiting.pop(session_id, None)
            self._done.pop(session_id, None)
            self.bytes -= queue.bytes
            queue.remove()

    def turns(self) -> set[str]:
        """Turns whose end or question is not safe yet: the control plane may think them lost."""
        owed = (one for queue in self._queues.values() for one in queue.all())
        return {one.event.turn_id for one in owed if one.event.turn_id is not None}

    # --- Events -------------------------------------------------------------------------------

    def append(self, session_id: str, event: Event) -> None:
        """Numbers an event and writes it down."""
        if self._early is not None:
            if len(self._early) >= limits.OUTBOX_EARLY_EVENTS_MAX:
                _log.warning("too many events before the first line", session=session_id)
            else:
                self._early.append((session_id, event))
            return
        try:
            queue = self._queue(session_id)
        except ValueError as error:
            _log.error("an event that belongs nowhere is dropped", problem=str(error))
            return
        try:
            self._grown(queue, queue.append(event))
        except Exception:  # whatever is wrong with it is not wrong with those behind it
            _log.exception("an event cannot be kept; it is dropped", session=session_id)

    def _grown(self, queue: SessionQueue, by: int) -> None:
        self.bytes += by
        if queue.waiting:
            self._waiting[queue.session_id] = queue
        if queue.bytes > self._session_bytes_max:
            self._shrunk(queue, queue.shrink(int(self._session_bytes_max * _SHRINK_TO)))
        if self.bytes > self._bytes_max:
            self._make_room()

    def _make_room(self) -> None:
        """The sessions that owe most lose most."""
        for queue in sorted(self._queues.values(), key=lambda one: one.bytes, reverse=True):
            over = self.bytes - int(self._bytes_max * _SHRINK_TO)
            if over <= 0:
                return
            self._shrunk(queue, queue.shrink(max(0, queue.bytes - over)))

    def _shrunk(self, queue: SessionQueue, by: int) -> None:
        self.bytes -= by
        if not queue.waiting:
            self._waiting.pop(queue.session_id, None)
        if queue.is_closed and queue.is_empty:
            queue.remove()  # its numbers stay: should the session go on here, they do
            self._done.pop(queue.session_id, None)
            self._done[queue.session_id] = None
            if len(self._done) > limits.OUTBOX_CLOSED_SESSIONS_MAX:
                # `start_session` says where its numbers go on.
                oldest = next(iter(self._done))
                del self._done[oldest], self._queues[oldest]

    # --- The line -----------------------------------------------------------------------------

    def line_up(self, acked: Mapping[str, int]) -> None:
        """A new line: what is not in `acked` is owed, from the oldest on."""
        for session_id in acked:
            if _SESSION_ID.match(session_id):
                self._queue(session_id)
        self.acked(acked)
        for queue in self._queues.values():
            queue.rewind()
            if queue.waiting:
                self._waiting[queue.session_id] = queue
        early, self._early = self._early or [], None
        for session_id, event in early:
            self.append(session_id, event)

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def take(self, events_max: int, bytes_max: int) -> list[Outgoing]:
        """The next events to send, of any sessions, at least one. Each session's are in order;
        the session that was served goes to the end."""
        taken: list[Outgoing] = []
        size = 0
        while self._waiting and len(taken) < events_max:
            session_id, queue = next(iter(self._waiting.items()))
            while queue.waiting and len(taken) < events_max:
                if taken and size + queue.waiting[0].size > bytes_max:
                    return taken
                owed = queue.take()
                taken.append(Outgoing(session_id, owed.seq, owed.event.text, owed.size))
                size += owed.size
            del self._waiting[session_id]
            if queue.waiting:
                self._waiting[session_id] = queue
        return taken

    def acked(self, acked: Mapping[str, int]) -> None:
        """The control plane has these for good."""
        for session_id, seq in acked.items():
            queue = self._queues.get(session_id)
            if queue is not None:
                self._shrunk(queue, queue.acked(seq))

    def delivered(self, events: Iterable[Outgoing]) -> None:
        """Sent to a control plane that acknowledges nothing."""
        for session_id, seq in {event.session_id: event.seq for event in events}.items():
            queue = self._queues.get(session_id)
            if queue is not None:
                self._shrunk(queue, queue.delivered(seq))

    def close(self) -> None:
        for queue in self._queues.values():
            queue.close()
        self.reports.close()

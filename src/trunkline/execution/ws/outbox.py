"""Everything that the control plane has not acknowledged, on disk until it is safe there.

Events per session, numbered; reports in one queue. The line takes from here, acknowledgements
come back here. Bounded: the oldest events that nobody waits for go first, and their missing
numbers show it. Knows nothing of sockets.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

import structlog

from trunkline import limits
from trunkline.execution.files import sweep
from trunkline.execution.home import is_session_id
from trunkline.execution.ws.disk_queue import SHRINK_TO, Journal
from trunkline.execution.ws.events import Event
from trunkline.execution.ws.reports import Reports
from trunkline.execution.ws.session_queue import Outgoing, SessionQueue

_log = structlog.get_logger(__name__)

OUTBOX_SESSION_BYTES_MAX = 8 * limits.MIB
OUTBOX_BYTES_MAX = 64 * limits.MIB  # events of all sessions
OUTBOX_EARLY_EVENTS_MAX = 1_000  # before the first `init` says where numbers go on
OUTBOX_CLOSED_SESSIONS_MAX = 1_000  # whose numbers are kept, should they go on here

_SUFFIX = ".jsonl"


class Outbox:
    """Files below `folder`; what an earlier process left there is still to be sent."""

    def __init__(
        self,
        folder: Path,
        *,
        session_bytes_max: int = OUTBOX_SESSION_BYTES_MAX,
        bytes_max: int = OUTBOX_BYTES_MAX,
    ) -> None:
        self._folder = folder / "events"
        self._session_bytes_max = session_bytes_max
        self._bytes_max = bytes_max
        self._sessions: dict[str, SessionQueue] = {}
        self._waiting: dict[str, SessionQueue] = {}
        """The sessions with something to send, the next one first."""
        self._done: dict[str, None] = {}
        """The sessions that ended and have nothing to send, the oldest first."""
        self._early: list[tuple[str, Event]] | None = []
        """Until the first `init`, nobody knows which number a session's next event has."""
        self.bytes = 0
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for one in (folder, self._folder):
            sweep(one)
        self.reports = Reports(Journal(folder / f"reports{_SUFFIX}"))
        for path in sorted(self._folder.glob(f"*{_SUFFIX}")):
            session_id = path.name.removesuffix(_SUFFIX)
            if is_session_id(session_id):
                self._session(session_id)
            else:
                _log.warning("a file in the outbox that is not ours", file=path.name[:100])

    def _session(self, session_id: str) -> SessionQueue:
        self._done.pop(session_id, None)
        session = self._sessions.get(session_id)
        if session is None:
            if not is_session_id(session_id):  # it becomes a file's name
                raise ValueError(f"not a session id: {session_id[:100]!r}")
            journal = Journal(self._folder / f"{session_id}{_SUFFIX}")
            session = self._sessions[session_id] = SessionQueue(session_id, journal)
            self._grown(session, session.queue.bytes)
        return session

    def open_session(self, session_id: str, acked: int = 0) -> None:
        """`start_session`: the control plane has seen numbers up to `acked`; ours go on there."""
        session = self._session(session_id)
        session.is_closed = False
        session.queue.last = max(session.queue.last, acked)

    def close_session(self, session_id: str) -> None:
        """No more events will come. The file goes when everything is acknowledged."""
        session = self._sessions.get(session_id)
        if session is not None:
            session.is_closed = True
            self._shrunk(session, 0)

    def forget_session(self, session_id: str) -> None:
        """The control plane does not know this session: nothing of it is sent any more."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._waiting.pop(session_id, None)
            self._done.pop(session_id, None)
            self.bytes -= session.queue.bytes
            session.remove()

    def turns(self) -> set[str]:
        """Turns whose end or question is unacknowledged: the control plane may think them lost."""
        return {turn for session in self._sessions.values() for turn in session.turns()}

    def append(self, session_id: str, event: Event) -> None:
        """Numbers an event and writes it down."""
        if self._early is not None:
            if len(self._early) >= OUTBOX_EARLY_EVENTS_MAX:
                _log.warning("too many events before the first line", session=session_id)
            else:
                self._early.append((session_id, event))
            return
        try:
            session = self._session(session_id)
        except ValueError as error:
            _log.error("an event that belongs nowhere is dropped", problem=str(error))
            return
        before = session.queue.bytes
        try:
            session.append(event)
        except Exception:  # whatever is wrong with it is not wrong with those behind it
            _log.exception("an event cannot be kept; it is dropped", session=session_id)
        self._grown(session, session.queue.bytes - before)

    def _grown(self, session: SessionQueue, by: int) -> None:
        self.bytes += by
        if session.queue.waiting:
            self._waiting[session.session_id] = session
        if session.queue.bytes > self._session_bytes_max:
            self._shrink(session, int(self._session_bytes_max * SHRINK_TO))
        if self.bytes > self._bytes_max:
            self._make_room()

    def _make_room(self) -> None:
        """The sessions with most to send lose most."""
        by_size = sorted(self._sessions.values(), key=lambda one: one.queue.bytes, reverse=True)
        for session in by_size:
            over = self.bytes - int(self._bytes_max * SHRINK_TO)
            if over <= 0:
                return
            self._shrink(session, max(0, session.queue.bytes - over))

    def _shrink(self, session: SessionQueue, bytes_max: int) -> None:
        before = session.queue.bytes
        session.shrink(bytes_max)
        self._shrunk(session, before - session.queue.bytes)

    def _shrunk(self, session: SessionQueue, by: int) -> None:
        self.bytes -= by
        if not session.queue.waiting:
            self._waiting.pop(session.session_id, None)
        if session.is_closed and session.queue.is_empty:
            session.remove()  # its numbers stay: should the session go on here, they do
            self._done.pop(session.session_id, None)
            self._done[session.session_id] = None
            if len(self._done) > OUTBOX_CLOSED_SESSIONS_MAX:
                # `start_session` says where its numbers go on.
                oldest = next(iter(self._done))
                del self._done[oldest], self._sessions[oldest]

    def line_up(self, acked: Mapping[str, int]) -> None:
        """A new line: what is not in `acked` is sent again, from the oldest on."""
        for session_id in acked:
            if is_session_id(session_id):
                self._session(session_id)
        self.acked(acked)
        for session in self._sessions.values():
            session.queue.rewind()
            if session.queue.waiting:
                self._waiting[session.session_id] = session
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
            session_id, session = next(iter(self._waiting.items()))
            waiting = session.queue.waiting
            while waiting and len(taken) < events_max:
                if taken and size + waiting[0].size > bytes_max:
                    return taken
                taken.append(session.take())
                size += taken[-1].size
            del self._waiting[session_id]
            if waiting:
                self._waiting[session_id] = session
        return taken

    def acked(self, acked: Mapping[str, int]) -> None:
        """The control plane has these for good."""
        for session_id, seq in acked.items():
            self._settle(session_id, partial(SessionQueue.acked, seq=seq))

    def delivered(self, events: Iterable[Outgoing]) -> None:
        """Sent to a control plane that acknowledges nothing."""
        for session_id, seq in {event.session_id: event.seq for event in events}.items():
            self._settle(session_id, partial(SessionQueue.delivered, seq=seq))

    def _settle(self, session_id: str, settle: Callable[[SessionQueue], None]) -> None:
        session = self._sessions.get(session_id)
        if session is not None:
            before = session.queue.bytes
            settle(session)
            self._shrunk(session, before - session.queue.bytes)

    def settle(self) -> None:
        """Writes down what a full disk has kept out."""
        for session in self._sessions.values():
            session.queue.settle()
        self.reports.settle()

    def close(self) -> None:
        for session in self._sessions.values():
            session.queue.close()
        self.reports.close()

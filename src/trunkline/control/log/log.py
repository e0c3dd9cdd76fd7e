"""The session log: the one truth of what happened. Commit, then deliver.

Machine edges append, client edges read; neither knows the other. All events that arrive while the
disk is busy become one transaction; readers and machines hear of an event after its commit.
"""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from weakref import WeakValueDictionary

import structlog

from trunkline import limits
from trunkline.control.clock import Clock
from trunkline.control.gathering import Gathering
from trunkline.control.log.commits import Commits
from trunkline.control.log.reading import LogReading, trim
from trunkline.control.log.session_log import Batch, Committed, SessionLog
from trunkline.control.log.store import Head, NoteRow, Segment, SegmentStore
from trunkline.control.tuning import DEFAULT, Tuning
from trunkline.control.watchers import Watchers

_log = structlog.get_logger(__name__)


class Log(LogReading):
    """All session logs of this control plane, and the one writer behind them."""

    def __init__(
        self,
        store: SegmentStore,
        clock: Clock,
        tuning: Tuning = DEFAULT,
        folder: Path | None = None,
        commits: Watchers[float] | None = None,
        stalls: Watchers[str | None] | None = None,
    ) -> None:
        """`folder`: where the store's files are, if they are here. `commits`: told how long each
        took; `stalls`: why nothing is committed any more, and None when it goes on."""
        super().__init__(store, tuning)
        told = commits or Watchers(), stalls or Watchers()
        self._commits = Commits(store, tuning, folder, *told)
        self._clock = clock
        self._large_bytes = tuning.ring_bytes_max // limits.RING_EVENTS
        # Weak: a log is in memory while a machine, a reader or a running task holds it, and
        # there are never two of one session.
        self._sessions: WeakValueDictionary[str, SessionLog] = WeakValueDictionary()
        self._opened = Gathering(self._open_missing)
        self._heads = Gathering(store.heads)
        self._dirty: list[SessionLog] = []
        self._writing = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._task: asyncio.Task[None] | None = None
        self._behind: list[asyncio.Future[None]] = []
        """Who waits for what was appended before."""
        self.events_total = 0

    @property
    def stalled(self) -> str | None:
        """Why nothing is committed now (`store/causes.py`)."""
        return self._commits.stalled

    async def open(self, session_id: str) -> SessionLog:
        """The log of that session, from disk if it is not in memory yet."""
        found = self._sessions.get(session_id)
        return found if found is not None else (await self.open_all([session_id]))[session_id]

    async def open_all(self, session_ids: Iterable[str]) -> dict[str, SessionLog]:
        # What is in memory is held from here on: it must not go while the others are read.
        opened = {one: self._sessions.get(one) for one in session_ids}
        missing = await self._opened.some([one for one, log in opened.items() if log is None])
        return {one: missing[one] if log is None else log for one, log in opened.items()}

    async def _open_missing(self, session_ids: list[str]) -> dict[str, SessionLog]:
        heads = await self._store.heads(session_ids)
        opened: dict[str, SessionLog] = {}
        for one in session_ids:
            log = self._sessions.get(one)
            if log is None:  # nobody was faster
                log = self._sessions[one] = SessionLog(one, heads.get(one, Head(0, None)))
            opened[one] = log
        return opened

    def is_followed(self, session_id: str) -> bool:
        """Whether somebody reads it live."""
        return bool((log := self._sessions.get(session_id)) and log.readers)

    async def heads(self, session_ids: list[str]) -> dict[str, Head]:
        """Where the logs of these sessions end on disk."""
        return await self._heads.some(session_ids)

    async def delete(self, session_id: str) -> None:
        """Removes a session's events for good, those that are still on their way too."""
        await self._written()
        self._sessions.pop(session_id, None)
        await self._store.delete(session_id)

    async def cut(self, session_id: str, upto: int) -> int:
        """Lets go of a session's events up to that id at most. Returns the id that its log begins
        with then: none are cut while somebody reads them page by page."""
        session = await self.open(session_id)
        first_id = session.first_id
        if session.reads or upto < first_id:
            return first_id
        # Who begins to read meanwhile begins behind what goes.
        upto = min(upto, session.last_id)
        session.begins_with(upto + 1)
        try:
            first_id = await self._store.cut(session_id, upto)
        finally:
            session.first_id = first_id
        return first_id

    def tidy(self) -> None:
        """Empties the rings that nobody has filled or read since the last time."""
        for session in list(self._sessions.values()):
            if session.idle_at == session.last_id and not session.readers:
                session.ring.clear()
            session.idle_at = session.last_id

    def append(self, session: SessionLog, line: str) -> None:
        """Adds an event. The hot path runs through here."""
        if not session.pending:
            self._has_news(session)
        session.pending.append(line)

    def taken(self, session: SessionLog) -> None:
        """An event was taken and is not to be written: its number is, and acknowledged then."""
        if not session.pending and session.machine_seq != session.safe_seq:
            self._has_news(session)

    def note(self, session: SessionLog, body: str) -> None:
        """Adds a fact that readers are not shown, behind the events appended so far."""
        session.last_note += 1
        after_id = session.tail_id + len(session.pending)
        session.notes.append(NoteRow(session.last_note, after_id, body))
        self._has_news(session)

    def after_commit(self, session: SessionLog, call: Committed) -> None:
        """Calls when everything of this session up to now is committed and delivered: at once, if
        it is. Calls are made in the order in which they were asked for."""
        if session.pending or session.notes:
            session.waiting.append(call)
        elif session.committing is not None:
            session.committing.append(call)
        else:
            call(self._clock())

    def _has_news(self, session: SessionLog) -> None:
        self._dirty.append(session)
        if not self._writing:
            self._writing = True
            self._idle.clear()
            asyncio.get_running_loop().call_soon(self._start_writing)

    async def committed(self, session: SessionLog) -> None:
        """Waits until everything of this session up to now is committed and delivered."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.after_commit(session, lambda _at: None if done.done() else done.set_result(None))
        await done

    async def flushed(self) -> None:
        """Waits until everything appended so far is on disk."""
        await self._idle.wait()

    async def _written(self) -> None:
        """The same, but whatever is appended meanwhile: others may never stop."""
        if self._writing:
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._behind.append(done)
            await done

    def _start_writing(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._write(), name="log writer")

    async def _write(self) -> None:
        """One transaction after the other until nothing is left; the next gathers meanwhile."""
        while self._dirty:
            dirty, self._dirty = list(dict.fromkeys(self._dirty)), []
            behind, self._behind = self._behind, []
            at = self._clock()
            segments = [session.segment(at) for session in dirty]
            await self._commits.write(segments)
            for session, segment in zip(dirty, segments, strict=True):
                self._deliver(session, segment)
            for session in dirty:
                for call in session.committing or ():  # which may ask for more
                    _guarded(call, at)
                session.committing = None
            _wake(behind)
        self._writing = False
        self._idle.set()
        _wake(self._behind)
        self._behind = []

    def _deliver(self, session: SessionLog, segment: Segment) -> None:
        lines, seq = segment.lines, segment.machine_seq
        if lines:
            session.ring.extend(lines)
            if len(segment.body) > self._large_bytes:
                trim(session.ring, self._ring_bytes_max)  # only large events make a large ring
            session.last_id += len(lines)
            self.events_total += len(lines)
            if session.readers:
                batch = Batch(segment.first_id, lines)
                for reader in session.readers:
                    try:
                        reader.deliver(batch)
                    except Exception:  # one reader's fault must not keep it from everybody else
                        _log.exception("a reader that was told of events failed")
        session.safe_seq = seq
        if seq is not None and session.on_safe is not None:
            session.on_safe(session.session_id, seq)


def _wake(waiting: list[asyncio.Future[None]]) -> None:
    for one in waiting:
        if not one.done():
            one.set_result(None)


def _guarded(call: Callable[..., object], *arguments: object) -> None:
    """One reader's fault must not keep the log from everybody else."""
    try:
        call(*arguments)
    except Exception:
        _log.exception("somebody who was told of an event failed")

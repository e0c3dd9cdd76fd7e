"""The session log: the one truth of what happened. Commit, then deliver.

Machine edges append, client edges read; neither knows the other. All events that arrive while the
disk is busy become one transaction; readers and machines hear of an event after its commit.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Protocol
from weakref import WeakValueDictionary

import structlog

from trunkline import limits
from trunkline.control.clock import Clock
from trunkline.control.log.segments import Head, Logged, NoteRow, Segment, SegmentStore
from trunkline.control.tuning import DEFAULT, Tuning
from trunkline.wire import sse

_log = structlog.get_logger(__name__)

Committed = Callable[[int], None]
"""Called behind a commit, with its time (Unix ms)."""


class Batch:
    """Consecutive events of one session, just committed. Encoded once for all its readers."""

    __slots__ = ("_sse", "first_id", "lines")

    def __init__(self, first_id: int, lines: list[str]) -> None:
        self.first_id = first_id
        self.lines = lines
        self._sse: bytes | None = None

    @property
    def sse(self) -> bytes:
        if self._sse is None:
            self._sse = sse.frames(self.first_id, self.lines)
        return self._sse


class Reader(Protocol):
    """Something that follows a session live. Neither method may raise or wait."""

    def deliver(self, batch: Batch) -> None: ...

    def resync(self) -> None: ...


class SessionLog:
    """One session's log in memory: its tail, what waits for the disk, and who follows it."""

    __slots__ = (
        "__weakref__",
        "committing",
        "idle_at",
        "is_awaited",
        "last_id",
        "last_note",
        "machine_seq",
        "notes",
        "on_safe",
        "pending",
        "readers",
        "ring",
        "safe_seq",
        "session_id",
        "tail_id",
        "waiting",
    )

    def __init__(self, session_id: str, head: Head) -> None:
        self.session_id = session_id
        self.last_id = head.last_id  # the newest event that is committed and delivered
        self.tail_id = head.last_id  # the newest event that was handed to the disk
        self.machine_seq = head.machine_seq  # the machine's number of its newest event we took
        self.safe_seq = head.machine_seq  # the same, of what is committed
        self.pending: list[str] = []  # events that are not handed to the disk yet
        self.last_note = head.note  # the number of the newest note
        self.notes: list[NoteRow] = []  # notes that are not handed to the disk yet
        self.waiting: list[Committed] = []  # called when what is pending now is committed
        self.committing: list[Committed] | None = None  # the same, of what the disk is at
        self.is_awaited = False  # a turn's first event is to be looked at
        self.ring: deque[str] = deque(maxlen=limits.RING_EVENTS)
        self.readers: tuple[Reader, ...] = ()
        self.idle_at = -1  # the last id when `tidy` last came by
        self.on_safe: Callable[[str, int], None] | None = None  # acknowledges to the machine

    def after(self, position: int) -> list[str] | None:
        """The committed events after that position, if memory holds them all."""
        missing = self.last_id - position
        if missing == 0:
            return []
        if missing > len(self.ring):
            return None
        return list(self.ring)[-missing:]

    def attach(self, reader: Reader) -> None:
        self.readers = (*self.readers, reader)

    def detach(self, reader: Reader) -> None:
        self.readers = tuple(one for one in self.readers if one is not reader)


class Log:
    """All session logs of this control plane, and the one writer behind them."""

    def __init__(self, store: SegmentStore, clock: Clock, tuning: Tuning = DEFAULT) -> None:
        self._store = store
        self._clock = clock
        self._stall_s, self._retry_s = tuning.stall_s, tuning.retry_s
        self._page_bytes_max = tuning.events_page_bytes_max
        self._ring_bytes_max = tuning.ring_bytes_max
        self._large_bytes = tuning.ring_bytes_max // limits.RING_EVENTS
        # Weak: a log is in memory while a machine, a reader or a task at work holds it, and
        # there are never two of one session.
        self._sessions: WeakValueDictionary[str, SessionLog] = WeakValueDictionary()
        self._dirty: list[SessionLog] = []
        self._writing = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._task: asyncio.Task[None] | None = None
        self.events_total = 0
        self.is_stalled = False
        self._commit_watchers: list[Callable[[float], None]] = []
        self._stall_watchers: list[Callable[[bool], None]] = []

    def watch_commits(self, watcher: Callable[[float], None]) -> None:
        """Is told of each commit, how long it took."""
        self._commit_watchers.append(watcher)

    def watch_stalls(self, watcher: Callable[[bool], None]) -> None:
        """Is told when the disk does not keep up, and when it does again."""
        self._stall_watchers.append(watcher)

    async def open(self, session_id: str) -> SessionLog:
        """The log of that session, from disk if it is not in memory yet."""
        found = self._sessions.get(session_id)
        return found if found is not None else (await self.open_all([session_id]))[session_id]

    async def open_all(self, session_ids: Iterable[str]) -> dict[str, SessionLog]:
        # What is in memory is held from here on: it must not go while the others are read.
        opened = {one: self._sessions.get(one) for one in session_ids}
        heads = await self._store.heads([one for one, log in opened.items() if log is None])
        for one, log in opened.items():
            if log is None and (log := self._sessions.get(one)) is None:
                # Nobody was faster.
                log = self._sessions[one] = SessionLog(one, heads.get(one, Head(0, None)))
            opened[one] = log
        return {one: log for one, log in opened.items() if log is not None}

    async def heads(self, session_ids: list[str]) -> dict[str, Head]:
        """Where the logs of these sessions end on disk."""
        return await self._store.heads(session_ids)

    async def delete(self, session_id: str) -> None:
        """Removes a session's events for good, those that are still on their way too."""
        await self.flushed()
        self._sessions.pop(session_id, None)
        await self._store.delete(session_id)

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

    def _start_writing(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._write(), name="log writer")

    async def _write(self) -> None:
        """One transaction after the other until nothing is left; the next gathers meanwhile."""
        while self._dirty:
            dirty, self._dirty = list(dict.fromkeys(self._dirty)), []
            segments = [self._segment(session) for session in dirty]
            await self._commit(segments)
            for session, segment in zip(dirty, segments, strict=True):
                self._deliver(session, segment)
            for session, segment in zip(dirty, segments, strict=True):
                for call in session.committing or ():  # which may ask for more
                    _guarded(call, segment.at)
                session.committing = None
        self._writing = False
        self._idle.set()

    def _segment(self, session: SessionLog) -> Segment:
        lines, session.pending = session.pending, []
        body = "\n".join(lines)
        if "\r" in body or body.count("\n") != len(lines) - 1:
            # An event is one line. In JSON a raw line break can only be space between tokens.
            lines = [line.replace("\r", " ").replace("\n", " ") for line in lines]
            body = "\n".join(lines)
        first_id = session.tail_id + 1
        session.tail_id += len(lines)
        notes, session.notes = session.notes, []
        session.committing, session.waiting = session.waiting, []
        return Segment(
            session.session_id, first_id, lines, body, self._clock(), session.machine_seq, notes
        )

    async def _commit(self, segments: list[Segment]) -> None:
        """Commits, however long it takes: what is not on disk is not delivered."""
        loop = asyncio.get_running_loop()
        started = time.perf_counter()
        stall = loop.call_later(self._stall_s, self._stall, True)
        again = False
        while True:
            try:
                await self._store.append(segments, again=again)
                break
            except Exception:
                # A full disk or a lost database heals or is healed; events wait in memory, and
                # machines are not read meanwhile.
                _log.exception("the log cannot be written; trying again")
                again = True
                self._stall(True)
                await asyncio.sleep(self._retry_s)
        stall.cancel()
        if self.is_stalled:
            self._stall(False)
        took_s = time.perf_counter() - started
        for watcher in self._commit_watchers:
            watcher(took_s)

    def _stall(self, is_stalled: bool) -> None:
        self.is_stalled = is_stalled
        for watcher in self._stall_watchers:
            watcher(is_stalled)

    def _deliver(self, session: SessionLog, segment: Segment) -> None:
        lines = segment.lines
        session.ring.extend(lines)
        if len(segment.body) > self._large_bytes:
            _trim(session.ring, self._ring_bytes_max)  # only large events can make a large ring
        session.last_id += len(lines)
        self.events_total += len(lines)
        if lines and session.readers:
            batch = Batch(segment.first_id, lines)
            for reader in session.readers:
                _guarded(reader.deliver, batch)
        session.safe_seq = segment.machine_seq
        if session.on_safe is not None and segment.machine_seq is not None:
            session.on_safe(session.session_id, segment.machine_seq)

    async def follow(self, session: SessionLog, reader: Reader, position: int | None) -> None:
        """Replays after `position`, then goes on live: no gap, no repeat between the two.

        A position that the ring no longer holds, or that was never given out, is a `resync`,
        and the reader goes on from now.
        """
        is_filled = False
        while True:
            if position is None or not self.in_ring(session, position):
                reader.resync()
                break
            lines = session.after(position)
            if lines is None:
                # Not all in memory (after a restart): take the older part from disk, and look
                # again, because the log went on meanwhile.
                if not is_filled:
                    await self._fill_ring(session, position)
                    is_filled = True
                    continue
                reader.resync()  # not there, or too large for the ring
                break
            if lines:
                reader.deliver(Batch(position + 1, lines))
            break
        session.attach(reader)

    def in_ring(self, session: SessionLog, position: int) -> bool:
        return session.last_id - limits.RING_EVENTS <= position <= session.last_id

    async def _fill_ring(self, session: SessionLog, position: int) -> None:
        """Takes in what came after that position, if all of it has room."""
        upto = session.last_id - len(session.ring)
        older: list[str] = []
        async for page in self.pages(session, position, upto):
            older += [line for _, line in page]
            if sum(map(len, older)) > self._ring_bytes_max:
                return
        if len(older) != upto - position or session.last_id - len(session.ring) != upto:
            return  # the session was deleted, another reader filled it, or it has moved on
        session.ring = deque([*older, *session.ring], maxlen=limits.RING_EVENTS)
        _trim(session.ring, self._ring_bytes_max)

    async def read(self, session: SessionLog, after: int, limit: int) -> list[tuple[int, str]]:
        """Committed events after that id, from memory or disk, however old. Up to `limit`; fewer
        where they are large, so a short page is not the last one."""
        after = max(0, after)
        lines = session.after(after) if after <= session.last_id else []
        if lines is not None:
            return list(enumerate(lines[:limit], after + 1))
        return await self._store.read(session.session_id, after, limit)

    async def entries(
        self, session_id: str, after_id: int, after_note: int
    ) -> AsyncIterator[list[Logged]]:
        """All committed events and notes behind these positions, in their order, page by page."""
        while page := await self._store.entries(session_id, after_id, after_note):
            after_id = max(after_id, page[-1].event_id)
            after_note = max([after_note, *(one.note for one in page)])
            yield page

    async def pages(
        self, session: SessionLog, after: int, upto: int
    ) -> AsyncIterator[list[tuple[int, str]]]:
        """All events after one id up to another, however large."""
        while after < upto:
            page = await self.read(session, after, min(upto - after, limits.EVENTS_PAGE_MAX))
            if not page:
                break  # the session was deleted meanwhile
            after = page[-1][0]
            yield page

    async def newest(self, session: SessionLog, upto: int, count: int) -> list[tuple[int, str]]:
        """The last events up to an id: that many, or those that fit into a page."""
        events: deque[tuple[int, str]] = deque()
        size = 0
        async for page in self.pages(session, max(0, upto - count), upto):
            events.extend(page)
            size += sum(len(line) for _, line in page)
            while size > self._page_bytes_max and len(events) > 1:
                size -= len(events.popleft()[1])
        return list(events)


def _trim(ring: deque[str], bytes_max: int) -> None:
    """Lets go of the oldest events of a ring that holds too many bytes."""
    size = sum(map(len, ring))
    while size > bytes_max and len(ring) > 1:
        size -= len(ring.popleft())


def _guarded(call: Callable[..., object], *arguments: object) -> None:
    """One reader's fault must not keep the log from everybody else."""
    try:
        call(*arguments)
    except Exception:
        _log.exception("somebody who was told of an event failed")

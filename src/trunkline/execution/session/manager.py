"""Every session of this machine: started, stopped, refused, told, and found again.

The line calls the handlers here and those of each session; runtimes are behind RuntimeAdapter.
"""

import asyncio
import shutil
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any

import msgspec
import structlog

from trunkline.execution.errors import StartFailed
from trunkline.execution.health import degradation
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.line import Handler, SessionLine
from trunkline.execution.process.child import Failure
from trunkline.execution.roots import Roots
from trunkline.execution.session import beginnings, ipc
from trunkline.execution.session.fencing import MakeProfile, no_fence
from trunkline.execution.session.folders import Folders
from trunkline.execution.session.process_requests import Local
from trunkline.execution.session.saved import SavedTurns, load_start
from trunkline.execution.session.session import MakeAdapter, Session
from trunkline.execution.session.snapshots import Snapshots
from trunkline.execution.session.stand_ins import Refusals, Retired
from trunkline.execution.skills import store
from trunkline.execution.worktrees import Worktrees
from trunkline.wire import events

_log = structlog.get_logger(__name__)

SESSION_IDLE_S = 900.0  # without a turn: its process ends; the next message starts another
SESSION_ROOM_S = 60.0  # without a turn: it makes room for one that wants to start
SESSIONS_RESTING_MAX = 1_000  # without a process; those that rested longest are let go
SESSIONS_RETIRED_MAX = 1_000  # of those, the newest: a message brings one back

_CLEANED = ("user_closed", "admin")
"""Its files are removed; after a timeout a session may come back."""

_RESTARTED = Failure(
    code="MACHINE_RESTARTED", message="the machine was restarted in the middle of this turn"
)
_SHUT_DOWN = Failure(
    code="MACHINE_RESTARTED", message="the machine was shut down in the middle of this turn"
)
_CLOSED = Failure(code="SESSION_CLOSED", message="the session was closed")


class SessionManager:
    """Holds the sessions. One that failed to start is answered for, and not held."""

    def __init__(
        self,
        line: SessionLine,
        home: Home,
        runtimes: Mapping[str, MakeAdapter],
        *,
        roots: Roots | None = None,
        worktrees: Worktrees | None = None,
        sessions_max: int,
        clock: Callable[[], float],
        monotonic: Callable[[], float] = time.monotonic,
        local: dict[str, Local] | None = None,
        fence: MakeProfile = no_fence,
        resting_max: int = SESSIONS_RESTING_MAX,
        retired_max: int = SESSIONS_RETIRED_MAX,
    ) -> None:
        self._line = line
        self._home = home
        self._runtimes = runtimes
        roots = roots or Roots(home.workspace)
        worktrees = worktrees or Worktrees(home.worktrees, roots.contains)
        self._folders = Folders(roots, worktrees)
        self._sessions_max = sessions_max
        self._clock = clock
        self._monotonic = monotonic
        self._local = local or {}
        self._fence = fence
        self._resting_max = resting_max
        self._refusals = Refusals(line, self._emit)
        self._retired = Retired(line, self._bring_back, retired_max)
        self._left: dict[str, SavedTurns] = {}
        """The turns of sessions that ran before this daemon's start."""
        self._init: Json = {}
        self.active_sessions: dict[str, Session] = {}
        self._changing: dict[str, asyncio.Task[None]] = {}
        """By session, its newest start or stop that is under way."""
        self._is_closed = False
        self.snapshots = Snapshots(line)

    def handlers(self) -> dict[str, Handler]:
        """The messages that are the machine's, not a session's."""
        return {
            "start_session": self.start_session,
            "stop_session": self.stop_session,
            "config_update": self.config_update,
        }

    def initialized(self, data: Json) -> None:
        """`init`: keys and addresses for every session. Memory only."""
        self._init = data
        for session in self.active_sessions.values():
            session.rekey(*self._access())

    def _access(self) -> tuple[dict[str, str], Json]:
        return self._init.get("api_keys") or {}, self._init.get("llm_config") or {}

    def names(self) -> list[str]:
        return list(self.active_sessions)

    def counts(self) -> dict[str, int]:
        """How many have a process, and how many are without one until they are spoken to."""
        awake = sum(session.is_awake for session in self.active_sessions.values())
        return {"running": awake, "resting": len(self.active_sessions) - awake}

    def turns(self) -> list[str]:
        """The turns that came to this machine and have not ended, for `resume`."""
        kept = {session.id: session.turns for session in self.active_sessions.values()}
        return [turn.turn_id for turns in (self._left | kept).values() for turn in turns.open]

    def start_session(self, data: Json) -> asyncio.Future[None]:
        """The session takes messages at once; done when its process is up, or failed to start."""
        try:
            start = ipc.Start.of_start_session(data, str(self._home.root))
            self._home.session(start.session_id)
        except (msgspec.ValidationError, ValueError) as error:
            _log.warning("unusable start_session", problem=str(error))
            return _done()
        return self._in_turn(start.session_id, lambda: self._start(start, data.get("snapshot")))

    def _in_turn(
        self, session_id: str, begin: Callable[[], Coroutine[Any, Any, None] | None]
    ) -> asyncio.Future[None]:
        """Starts and stops of one session follow each other. What `begin` returns is the part that
        takes time; the rest of it happens at once, unless another change is under way."""
        before = self._changing.get(session_id)
        if before is None:
            rest = begin()
            if rest is None:
                return _done()
        else:
            rest = _after(before, begin)
        change = asyncio.create_task(rest, name=f"change of {session_id}")
        self._changing[session_id] = change
        change.add_done_callback(lambda done: self._changed(session_id, done))
        return change

    def _changed(self, session_id: str, change: asyncio.Task[None]) -> None:
        if self._changing.get(session_id) is change:
            del self._changing[session_id]
        if not change.cancelled() and (error := change.exception()) is not None:
            _log.error("a session was not started or stopped", session=session_id, exc_info=error)

    def _start(self, start: ipc.Start, snapshot: Any = None) -> Coroutine[Any, Any, None] | None:
        session_id = start.session_id
        if session_id in self.active_sessions or self._is_closed:
            _log.info("a session runs already, or the daemon ends", session=session_id)
            return None
        self._end_left(session_id)
        try:
            session = self._new(start)
        except StartFailed as refused:
            self._refusals.add(session_id, Failure.of(refused))
            return None
        self.active_sessions[session_id] = session
        self._left.pop(session_id, None)
        self._refusals.remove(session_id)
        self._retired.remove(session_id)
        self._line.register_session(session_id, session.handlers())
        return self._bring_up(session, snapshot if isinstance(snapshot, dict) else None)

    async def _bring_up(self, session: Session, snapshot: Json | None) -> None:
        async with session.lock:
            try:
                if snapshot:
                    await beginnings.restore(session, snapshot)
                elif session.config.fork is not None:
                    await beginnings.fork(session, session.config.fork, self._home)
                await self._folders.prepare(session)
                await session.start()
            except StartFailed as error:
                self.active_sessions.pop(session.id, None)
                self._refusals.add(session.id, Failure.of(error), session.turns)
                return
        _log.info("session started", session=session.id, runtime=session.config.runtime_type)

    def _new(self, start: ipc.Start) -> Session:
        """Raises StartFailed."""
        session = self._make(start)
        if not self._has_room():
            raise StartFailed(self._limit_reached(), code="SESSION_LIMIT")
        return session

    def _make(self, start: ipc.Start) -> Session:
        make_adapter = self._runtimes.get(start.runtime_type)
        if make_adapter is None:
            raise StartFailed(
                f"this machine has no runtime {start.runtime_type[:100]!r};"
                f" it has: {', '.join(sorted(self._runtimes))}",
                code="RUNTIME_UNSUPPORTED",
            )
        api_keys, llm_config = self._access()
        config = msgspec.structs.replace(
            self._folders.placed(start),
            home=str(self._home.root),
            api_keys=api_keys,
            llm_config=llm_config,
        )
        skills = store.SessionSkills(self._home, self._line, config.session_id)
        return Session(
            config,
            self._home.session(config.session_id),
            make_adapter,
            self._line,
            {**self._local, store.METHOD: skills.answer},
            fence=self._fence,
            clock=self._clock,
            monotonic=self._monotonic,
            admit=self._admit,
            on_turn_end=self._turn_ended,
            before_turn=self._folders.settled,
        )

    def _turn_ended(self, session: Session) -> None:
        self.snapshots.soon(session)
        self._folders.turn_ended(session)

    def _admit(self, session: Session) -> None:
        """A session that rested wakes up."""
        if not self._has_room(session):
            raise StartFailed(self._limit_reached())

    def _has_room(self, newcomer: Session | None = None) -> bool:
        """Whether one more may have a process; one that was idle for a while makes room."""
        awake = [one for one in self.active_sessions.values() if one.is_awake]
        if len(awake) - (newcomer in awake) < self._sessions_max:
            return True
        idlest = max((one for one in awake if one is not newcomer), key=Session.idle_s)
        if idlest.idle_s() < SESSION_ROOM_S:
            return False
        idlest.rest()
        return True

    def _limit_reached(self) -> str:
        return f"this machine runs {self._sessions_max} sessions already; close one first"

    def rest_idle(self) -> None:
        """Sessions that nobody has used for a while give their memory back."""
        for session in self.active_sessions.values():
            if session.is_awake and session.idle_s() >= SESSION_IDLE_S:
                session.rest()
        self._retire_some()

    def settle(self) -> None:
        """Writes down what a full disk has kept out."""
        for session in self.active_sessions.values():
            session.turns.settle()

    def _retire_some(self) -> None:
        """Too many rest: those that have done so longest are let go. Their files stay, and the
        control plane has their state."""
        resting = [one for one in self.active_sessions.values() if one.is_resting]
        too_many = max(0, len(resting) - self._resting_max)
        safe = [one for one in resting if not one.is_changed]  # of others it has an older state
        for session in sorted(safe, key=Session.idle_s, reverse=True)[:too_many]:
            session.let_go()
            del self.active_sessions[session.id]
            self.snapshots.forget(session.id)
            self._retired.add(session.id, session.handlers())
            _log.info("a session that rested long is let go", session=session.id)

    def _bring_back(self, session_id: str) -> dict[str, Handler]:
        """One that was let go rests again, and takes its messages."""
        self._retired.remove(session_id)
        start = load_start(self._home.session(session_id))
        try:
            if start is None:
                raise StartFailed("the machine cannot read how it was started")
            session = self._make(start)
        except StartFailed as refused:
            self._refusals.add(session_id, Failure.of(refused))
            return {}
        session.start_resting()
        self.active_sessions[session_id] = session
        handlers = session.handlers()
        self._line.register_session(session_id, handlers)
        return handlers

    def stop_session(self, data: Json) -> asyncio.Future[None]:
        session_id, reason = str(data.get("session_id")), str(data.get("reason") or "")
        return self._in_turn(session_id, lambda: self._stop_session(session_id, reason))

    def _stop_session(self, session_id: str, reason: str) -> Coroutine[Any, Any, None]:
        # What comes from now on is for the next start of this session.
        self._line.unregister_session(session_id)
        self._refusals.remove(session_id)
        self._retired.remove(session_id)
        return self._stop_and_clean(session_id, reason)

    async def _stop_and_clean(self, session_id: str, reason: str) -> None:
        session = self.active_sessions.get(session_id)
        if session is not None:
            async with session.lock:
                if self.active_sessions.get(session_id) is session:
                    await self._stop(session, reason, _CLOSED)
        if reason in _CLEANED:
            self._left.pop(session_id, None)
            try:
                folder = self._home.session(session_id)
            except ValueError:
                return
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            await self._folders.closed(session_id)

    async def _stop(self, session: Session, reason: str, why: Failure) -> None:
        await session.stop(reason, why=why)
        await self.snapshots.take(session)
        self.snapshots.forget(session.id)
        self.active_sessions.pop(session.id, None)
        _log.info("session stopped", session=session.id, reason=reason)

    async def close(self) -> None:
        """The daemon ends: every session saves and stops, all at once."""
        self._is_closed = True
        sessions = list(self.active_sessions.values())
        await asyncio.gather(*(self._stop(one, "shutdown", _SHUT_DOWN) for one in sessions))
        for change in [*self._changing.values()]:
            change.cancel()
        await self.snapshots.close()

    def config_update(self, data: Json) -> None:
        """Without a session's id it is meant for all of them."""
        for session in self.active_sessions.values():
            session.config_update(data)

    def line_changed(self, is_up: bool) -> None:
        """Readers learn what their session can do; those that cannot be reached now, later."""
        machine = "online" if is_up else "degraded"
        works, degraded = degradation(is_up)
        for session in self.active_sessions.values():
            session.emit("session_status", machine=machine, works=works, degraded=degraded)

    def find_left(self) -> None:
        """Before the first line: what an earlier daemon left, so that `resume` can name it."""
        for folder in sorted(self._home.sessions.iterdir()):
            if not self._home.is_session(folder):
                _log.warning("not a session's folder; left alone", name=folder.name[:100])
            else:
                self._left[folder.name] = SavedTurns(folder)

    async def recover(self) -> None:
        """After the first `init`: turns that ran have ended, those that wait for a person go on."""
        starts: dict[str, ipc.Start] = {}
        for session_id, turns in self._left.items():
            start = load_start(self._home.session(session_id)) if turns.waiting else None
            self._end_left(session_id, with_waiting=start is None)
            if start is not None:
                starts[session_id] = start
        for session_id, start in starts.items():
            # While one starts, the control plane may have started or closed the next.
            if session_id in self._left:
                begin = partial(self._start, start)
                await asyncio.wait({self._in_turn(session_id, begin)})

    def _end_left(self, session_id: str, *, with_waiting: bool = False) -> None:
        """Ends what an earlier daemon ran in that session, if it was there."""
        turns = self._left.get(session_id)
        if turns is None:
            return
        for turn in turns.open:
            if with_waiting or not turn.waiting:
                self._emit(
                    session_id, "execution_error", turn_id=turn.turn_id, **_RESTARTED.fields()
                )
                turns.end(turn.turn_id)

    def _emit(self, session_id: str, kind: str, **fields: Any) -> None:
        event = events.line(kind, **fields, ts=int(self._clock() * 1000))
        self._line.send_sse_event(session_id, event)


def _done() -> asyncio.Future[None]:
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    done.set_result(None)
    return done


async def _after(
    before: asyncio.Task[None], begin: Callable[[], Coroutine[Any, Any, None] | None]
) -> None:
    await asyncio.wait({before})
    rest = begin()
    if rest is not None:
        await rest

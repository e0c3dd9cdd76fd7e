"""Every session of this machine: started, stopped, refused, told, and found again (004 §5).

The line calls the handlers here and those of each session; runtimes are behind RuntimeAdapter.
"""

import asyncio
import shutil
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.errors import StartFailed
from trunkline.execution.home import Home
from trunkline.execution.process.child import Failure
from trunkline.execution.session import ipc, saved
from trunkline.execution.session.line import Handlers, Line
from trunkline.execution.session.refusals import Refusals
from trunkline.execution.session.requests import Local
from trunkline.execution.session.retired import Retired
from trunkline.execution.session.runtime_adapter import Json
from trunkline.execution.session.saved import SavedStart
from trunkline.execution.session.session import MakeAdapter, Session
from trunkline.execution.session.snapshots import Snapshots
from trunkline.execution.session.turns import Turns

_log = structlog.get_logger(__name__)

DEFAULT_RUNTIME = "semigraph"
_CLEANED = ("user_closed", "admin")  # 004 §6; after a timeout a session may come back

_RESTARTED = Failure(
    code="MACHINE_RESTARTED", message="the machine was restarted in the middle of this turn"
)
_SHUT_DOWN = Failure(
    code="MACHINE_RESTARTED", message="the machine was shut down in the middle of this turn"
)
_CLOSED = Failure(code="SESSION_CLOSED", message="the session was closed")


class StartData(msgspec.Struct, kw_only=True):
    """`start_session.data`, leniently: what we do not know is ignored."""

    session_id: str
    runtime_type: str = DEFAULT_RUNTIME
    agent_config: Json = {}
    skill_index: list[Json] = []
    mcp_servers: list[Json] = []
    sub_agents: list[Json] = []
    session_config: Json = {}
    openclaw_config: Json = {}
    snapshot: Json | None = None


class SessionManager:
    """Holds the sessions. One that failed to start is answered for, and not held."""

    def __init__(
        self,
        line: Line,
        home: Home,
        runtimes: Mapping[str, MakeAdapter],
        *,
        sessions_max: int,
        clock: Callable[[], float],
        monotonic: Callable[[], float] = time.monotonic,
        local: dict[str, Local] | None = None,
        resting_max: int = limits.SESSIONS_RESTING_MAX,
    ) -> None:
        self._line = line
        self._home = home
        self._runtimes = runtimes
        self._sessions_max = sessions_max
        self._clock = clock
        self._monotonic = monotonic
        self._local = local or {}
        self._resting_max = resting_max
        self._refusals = Refusals(line, self._emit)
        self._retired = Retired(line, self._bring_back)
        self._left: dict[str, Turns] = {}
        """The turns of sessions that ran before this daemon's start."""
        self._init: Json = {}
        self.active_sessions: dict[str, Session] = {}
        self.snapshots = Snapshots(line)

    def handlers(self) -> dict[str, Callable[[Json], Any]]:
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

    # --- Start ----------------------------------------------------------------------------------

    async def start_session(self, data: Json) -> None:
        try:
            start = msgspec.convert(data, StartData)
            self._home.session(start.session_id)
        except (msgspec.ValidationError, ValueError) as error:
            _log.warning("unusable start_session", problem=str(error))
            return
        if start.session_id in self.active_sessions:
            _log.info("session runs already", session=start.session_id)
            return
        config = ipc.Start(
            session_id=start.session_id,
            home=str(self._home.root),
            agent_config=start.agent_config,
            skill_index=start.skill_index,
            mcp_servers=start.mcp_servers,
            sub_agents=start.sub_agents,
            session_config=start.session_config,
            openclaw_config=start.openclaw_config,
        )
        await self._start(
            SavedStart(runtime_type=start.runtime_type, config=config), start.snapshot
        )

    async def _start(self, start: SavedStart, snapshot: Json | None = None) -> None:
        session_id = start.config.session_id
        self._end_left(session_id)
        try:
            session = self._new(start)
        except StartFailed as refused:
            self._refusals.add(session_id, Failure.of(refused))
            return
        self.active_sessions[session_id] = session
        self._left.pop(session_id, None)
        self._refusals.remove(session_id)
        self._retired.remove(session_id)
        self._line.register_session(session_id, session.handlers())
        async with session.lock:
            try:
                if snapshot:
                    await self._restore(session, snapshot)
                await session.start()
            except StartFailed as error:
                del self.active_sessions[session_id]
                self._refusals.add(session_id, Failure.of(error), session.turns)
                return
        _log.info("session started", session=session_id, runtime=start.runtime_type)

    def _new(self, start: SavedStart) -> Session:
        """Raises StartFailed."""
        session = self._make(start)
        if not self._has_room():
            raise StartFailed(self._limit_reached(), code="SESSION_LIMIT")
        return session

    def _make(self, start: SavedStart) -> Session:
        make_adapter = self._runtimes.get(start.runtime_type)
        if make_adapter is None:
            raise StartFailed(
                f"this machine has no runtime {start.runtime_type[:100]!r};"
                f" it has: {', '.join(sorted(self._runtimes))}",
                code="RUNTIME_UNSUPPORTED",
            )
        api_keys, llm_config = self._access()
        config = msgspec.structs.replace(start.config, api_keys=api_keys, llm_config=llm_config)
        return Session(
            SavedStart(runtime_type=start.runtime_type, config=config),
            self._home.session(config.session_id),
            make_adapter,
            self._line,
            self._local,
            clock=self._clock,
            monotonic=self._monotonic,
            admit=self._admit,
            on_turn_end=self.snapshots.soon,
        )

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
        if idlest.idle_s() < limits.SESSION_ROOM_S:
            return False
        idlest.rest()
        return True

    def _limit_reached(self) -> str:
        return f"this machine runs {self._sessions_max} sessions already; close one first"

    def rest_idle(self) -> None:
        """Sessions that nobody has used for a while give their memory back."""
        for session in self.active_sessions.values():
            if session.is_awake and session.idle_s() >= limits.SESSION_IDLE_S:
                session.rest()
        self._retire_some()

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

    def _bring_back(self, session_id: str) -> Handlers:
        """One that was let go rests again, and takes its messages."""
        self._retired.remove(session_id)
        start = saved.load(self._home.session(session_id))
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

    async def _restore(self, session: Session, snapshot: Json) -> None:
        try:
            await session.adapter.restore(snapshot)
        except Exception as error:
            # A session without its past is better than none, and the control plane keeps it.
            _log.warning("snapshot not restored", session=session.id, problem=str(error))

    # --- Stop -----------------------------------------------------------------------------------

    async def stop_session(self, data: Json) -> None:
        session_id, reason = str(data.get("session_id")), str(data.get("reason") or "")
        session = self.active_sessions.get(session_id)
        if session is not None:
            async with session.lock:
                if self.active_sessions.get(session_id) is session:
                    await self._stop(session, reason, _CLOSED)
        self._line.unregister_session(session_id)
        self._refusals.remove(session_id)
        self._retired.remove(session_id)
        if reason in _CLEANED:
            self._left.pop(session_id, None)
            try:
                folder = self._home.session(session_id)
            except ValueError:
                return
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def _stop(self, session: Session, reason: str, why: Failure) -> None:
        await session.stop(reason, why=why)
        await self.snapshots.take(session)
        self.snapshots.forget(session.id)
        self.active_sessions.pop(session.id, None)
        _log.info("session stopped", session=session.id, reason=reason)

    async def close(self) -> None:
        """The daemon ends: every session saves and stops, all at once."""
        sessions = list(self.active_sessions.values())
        await asyncio.gather(*(self._stop(one, "shutdown", _SHUT_DOWN) for one in sessions))
        await self.snapshots.close()

    # --- Everybody ------------------------------------------------------------------------------

    def config_update(self, data: Json) -> None:
        """Without a session's id it is meant for all of them."""
        for session in self.active_sessions.values():
            session.config_update(data)

    def line_changed(self, is_up: bool, works: list[str], degraded: list[str]) -> None:
        """Readers learn what their session can do; those that cannot be reached now, later."""
        machine = "online" if is_up else "degraded"
        for session in self.active_sessions.values():
            session.emit("session_status", machine=machine, works=works, degraded=degraded)

    # --- After a restart ------------------------------------------------------------------------

    def find_left(self) -> None:
        """Before the first line: what an earlier daemon left, so that `resume` can name it."""
        for folder in sorted(self._home.sessions.iterdir()):
            if not self._home.is_session(folder):
                _log.warning("not a session's folder; left alone", name=folder.name[:100])
            else:
                self._left[folder.name] = Turns(folder)

    async def recover(self) -> None:
        """After the first `init`: turns that ran have ended, those that wait for a person go on."""
        starts: dict[str, SavedStart] = {}
        for session_id, turns in self._left.items():
            start = saved.load(self._home.session(session_id)) if turns.waiting else None
            self._end_left(session_id, with_waiting=start is None)
            if start is not None:
                starts[session_id] = start
        for session_id, start in starts.items():
            # While one starts, the control plane may have started or closed the next.
            if session_id in self._left:
                await self._start(start)

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
        event = {"type": kind, **fields, "ts": int(self._clock() * 1000)}
        self._line.send_sse_event(session_id, msgspec.json.encode(event).decode())

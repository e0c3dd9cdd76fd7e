"""Sessions as clients use them: create, say, cancel, configure, answer, move, read.

Client edges and the REST API call this; it knows records, log and router, never a socket. What
changes a session is one input of its machine's core, and counts when it is committed.
"""

from collections.abc import Callable, Iterable
from typing import Any

import structlog

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import Conflict, InvalidRequest, NotFound, TrunklineError
from trunkline.control.ids import new_id
from trunkline.control.log import events
from trunkline.control.log.log import Log
from trunkline.control.log.session_log import SessionLog
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.machines import Machines
from trunkline.control.records.fields import Json
from trunkline.control.records.session_config import check_choices
from trunkline.control.services import Services
from trunkline.control.sessions.approvals import Approval, Approvals
from trunkline.control.sessions.choosing import MachineChoice
from trunkline.control.sessions.others import is_weaker, modeless, under
from trunkline.control.sessions.owners import Owners
from trunkline.control.sessions.projection import Projection
from trunkline.control.sessions.records import (
    LoggedEvent,
    NewMessage,
    NewSession,
    Session,
    SessionRecords,
)
from trunkline.control.sessions.resuming import is_resumable, resume_of
from trunkline.control.sessions.ruling import add_always, always_rule
from trunkline.control.sessions.saying import REPLACED, said
from trunkline.control.sessions.starting import Starting, modes_confirm
from trunkline.control.sessions.titles import Titles
from trunkline.control.sessions.turns import Turns, history_of, messages_of
from trunkline.control.storage import Storage
from trunkline.control.store.engine import Store
from trunkline.wire.commands import Say, Start

_log = structlog.get_logger(__name__)

_AT_WORK = ("running", "needs_you")
_FIXED = frozenset(("workspace", "worktree", "acp"))
"""Of a session's configuration what its program is started with."""


class Sessions:
    """Every session, whichever machine runs it and whichever client watches."""

    def __init__(
        self,
        store: Store,
        log: Log,
        machines: Machines,
        services: Services,
        records: SessionRecords,
        projection: Projection,
        turns: Turns,
        approvals: Approvals,
        starting: Starting,
        titles: Titles,
        storage: Storage,
        clock: Clock,
        ids: Callable[[], str] = new_id,
    ) -> None:
        self._log = log
        self._owners = Owners(store)
        self._machines = machines
        self._services = services
        self._records = records
        self._projection = projection
        self._turns = turns
        self._approvals = approvals
        self._starting = starting
        self._titles = titles
        self._storage = storage
        self._clock = clock
        self._new_id = ids
        self.choice = MachineChoice(store, machines, records, services)

    async def create(self, who: Principal, new: NewSession, *, is_strict: bool = False) -> Session:
        """Pins it to a machine, which is told to start it. `is_strict`: no unknown setting."""
        who.require("talk")
        self._storage.check()
        machine, made_of, placement = await self.choice.of(who, new, is_strict=is_strict)
        with machine.input() as core:
            core.check_room()
        log = await self._log.open(self._new_id())
        session = await self._records.insert(who, machine, new, made_of, log.session_id)
        self._machines.add(machine, log, await self.start_of(session.id))
        _log.info("session created", session=session.id, machine=machine.id)
        if session.created_by is not None:
            await self.tell_owner(who, session, machine, log)
        session.placement = placement
        return session

    async def start_of(self, session_id: str) -> Start | None:
        """What its machine is told; None: not yet."""
        try:
            return await self._starting.build(session_id)
        except Exception:
            _log.exception("a session cannot be started yet", session=session_id)
            return None

    async def tell_owner(
        self, who: Principal, session: Session, machine: Machine, log: SessionLog
    ) -> None:
        """Somebody else has made a session on this machine: whoever reads along sees that."""
        shown = {
            "machine": "online" if machine.line is not None else "offline",
            "machine_id": machine.id,
            "created_by": who.user_id,
            "message": f"This session was made by somebody else: {who.role} {who.user_id}.",
        }
        self._log.append(log, events.make("session_status", self._clock(), **shown))
        await self._log.committed(log)
        await self._audit_other(who, session, "session.created", machine_id=machine.id)

    async def get(self, who: Principal, session_id: str) -> Session:
        return await self._records.get(who, session_id)

    async def shown(self, who: Principal, session_id: str) -> Session:
        """With how to go on with it by hand."""
        session = await self.get(who, session_id)
        if is_resumable(session.runtime_type):
            snapshot = await self._services.snapshots.latest(session_id)
            session.resume = resume_of(session.runtime_type, snapshot)
        return session

    async def rename(self, who: Principal, session_id: str, title: str | None) -> Session:
        who.require("talk")
        await self.get(who, session_id)
        await self._titles.give(session_id, title)
        return await self.get(who, session_id)

    # What changes a session

    async def close(self, who: Principal, session_id: str) -> None:
        """Ends the session on its machine; its log stays readable."""
        who.require("talk")
        self._storage.check(is_new=False)
        session = await self.get(who, session_id)
        if session.status == "closed":
            return
        machine = await self._machines.of(session)
        log = machine.logs.get(session_id)
        if log is None:
            return  # somebody else did in the same moment
        reason = "user_closed" if session.user_id == who.user_id else "admin"
        lasted_ms = max(0, self._clock() - session.created_at)
        with machine.input() as core:
            core.close(session_id, reason, duration_ms=lasted_ms)
        await self._safe(log)
        await self._audit(who, session, "session.closed", reason=reason)

    async def move(self, who: Principal, session_id: str, machine_id: str) -> None:
        """What runs there ends, what was said stays; it goes on from its last saved state.
        Nothing happens if it is there already."""
        who.require("talk")
        session = await self.get(who, session_id)
        source = await self._machine_of(session)
        target = await self._machines.get(machine_id)
        if not who.may_see(org_id=target.org_id, user_id=target.user_id):
            raise NotFound("machine", machine_id)
        if target.user_id != session.user_id:
            raise InvalidRequest("that machine is another user's than the session")
        if source is target:
            return
        await self.choice.check(target, session)
        with target.input() as core:
            core.check_room()
        log = source.logs.get(session_id)
        if log is None:
            raise Conflict("this session was moved or closed in the same moment")
        self._machines.move(source, target, log)
        await self._safe(log)
        _log.info("session moved", session=session_id, machine=target.id, left=session.machine_id)
        moved = {"from": session.machine_id, "to": target.id}
        await self._audit(who, session, "session.moved", **moved)

    async def send(
        self, who: Principal, session_id: str, new: NewMessage, *, is_part: bool = False
    ) -> str:
        """A user's message. Committed to the log first, then on its way to the machine. Returns the
        turn that it opens, or steers. `is_part`: of another turn, which nothing cuts short."""
        who.require("talk")
        session = await self.get(who, session_id)
        name = new.client_message_id
        if name is not None and (known := await self._turns.named(session_id, name)) is not None:
            return known.steers or known.id  # whatever became of the session since
        if not is_part and not (new.when_busy == "steer" and session.state in _AT_WORK):
            await self._records.check_turn(session.user_id)
        await self._running(session)
        history = history_of(await self._turns.recent(session_id))
        machine = await self._running(session)
        log = machine.logs[session_id]
        say = Say(session_id, self._new_id(), new.message, history, new.metadata or {})
        with machine.input() as core:
            turn_id, is_stopped = said(core, session, say, who, new)
        await self._log.committed(log)
        _log.debug("message accepted", session=session.id, machine=machine.id, turn=turn_id)
        if is_stopped:
            await self._audit(who, session, "session.cancel", reason=REPLACED)
        await self._audit_other(who, session, "session.message", turn_id=turn_id)
        return turn_id

    async def _running(self, session: Session) -> Machine:
        """The machine that has the session now; one that is closed is refused."""
        machine = await self._machine_of(session)
        if session.id not in machine.logs:
            raise Conflict("this session is closed", code="SESSION_CLOSED")
        with machine.input() as core:
            if core.state.sessions[session.id].session.is_closed:
                raise Conflict("this session is closed", code="SESSION_CLOSED")
            core.check_room()
        return machine

    async def _machine_of(self, session: Session) -> Machine:
        """The one that runs it; a session that nothing runs any more is refused."""
        if session.status != "active":
            raise Conflict("this session is closed", code="SESSION_CLOSED")
        self._storage.check()
        return await self._machines.of(session)

    async def cancel(self, who: Principal, session_id: str, reason: str) -> bool:
        """Stops the running turn. On a session that runs nothing, nothing happens, and this is
        False: no turn's end will follow."""
        who.require("talk")
        self._storage.check(is_new=False)
        session = await self.get(who, session_id)
        if session.status != "active":
            return False
        machine = await self._machines.of(session)
        log = machine.logs.get(session_id)
        if log is None:
            return False
        with machine.input() as core:
            is_running = core.cancel(session_id, reason)
        await self._log.committed(log)
        await self._audit(who, session, "session.cancel", reason=reason)
        return is_running

    async def configure(self, who: Principal, session_id: str, patch: Json) -> None:
        """New parameters, now and for every later start."""
        who.require("talk")
        session = await self.get(who, session_id)
        machine, model = await self._machine_of(session), patch.get("model")
        if not patch:
            raise InvalidRequest("nothing to change")
        check_choices(patch)
        await self.choice.check_model(machine, session.runtime_type, model)
        if fixed := _FIXED.intersection(patch):
            raise InvalidRequest(f"{sorted(fixed)[0]} is chosen when a session is made")
        if "confirm" in patch and session.agent_config.get("permission_mode"):
            patch = {"permission_mode": None, **patch}
        if "confirm" not in patch and session.agent_config.get("confirm") in (None, "never"):
            patch = modes_confirm(patch)
        if who.user_id != session.user_id:
            if "confirm" in patch:
                patch = under(await self._records.owners_rule(session.user_id), patch)
            patch = modeless(patch)
        if is_weaker({**session.agent_config, **patch}, session.agent_config):
            who.require("approve")
        with machine.input() as core:
            core.check_change(session.id, patch, {**session.agent_config, **patch})
        agent_config = await self._records.reconfigure(session.id, patch)
        await self._audit_other(who, session, "session.configured", names=sorted(patch)[:50])
        machine = await self._machine_of(session)
        if session_id in machine.logs:
            with machine.input() as core:
                core.configure(session_id, patch, agent_config)

    async def answer(
        self,
        who: Principal,
        name: str,
        confirmed: bool,
        answer: Any,
        session_id: str | None = None,
        *,
        scope: str = "once",
        reason: str = "",
    ) -> Approval:
        """A person's answer to a question; the first one wins. `scope`: for how long a yes is
        meant, `once`, for the `session` or `always`; what that means is its runtime's to know."""
        who.require("approve")
        approval = await self._approvals.find(who, name, session_id)
        if confirmed and approval.is_cut:
            raise Conflict(
                "what is asked was shortened on its way, or is too long to be shown whole: "
                "it can only be denied",
                code="QUESTION_CUT",
            )
        session = await self.get(who, approval.session_id)
        machine = await self._running(session)
        log = machine.logs[session.id]
        rule = always_rule(who, session, approval.request) if confirmed else None
        if scope == "always" and rule is None:
            scope = "session"  # nothing was shown that could hold for longer
        shown = {"answer": answer, "answered_by": who.user_id}
        if scope != "once":
            shown["scope"] = scope
        if reason:
            shown["reason"] = reason
        with machine.input() as core:
            is_first = core.answer(
                session.id,
                approval.request_id,
                confirmed,
                answer,
                who.user_id,
                shown,
                scope=scope,
                reason=reason,
            )
        if not is_first:
            raise Conflict("this question was answered already", code="ALREADY_ANSWERED")
        if scope == "always" and rule is not None:
            await add_always(self._services, who, session, rule)
        await self._safe(log)
        return await self._approvals.find(who, approval.id, session.id)

    async def _safe(self, log: SessionLog) -> None:
        """Everything of this session up to now is committed, and its records say so."""
        await self._log.committed(log)
        await self._projection.settled(log.session_id)

    async def _audit(self, who: Principal, session: Session, event: str, **details: Any) -> None:
        """What was done is done, also while the audit log is broken."""
        try:
            await self._services.audit.append(
                event, details, org_id=session.org_id, user_id=who.user_id, session_id=session.id
            )
        except TrunklineError as error:
            _log.error("not in the audit log", entry=event, code=error.code, session=session.id)

    async def _audit_other(
        self, who: Principal, session: Session, event: str, **details: Any
    ) -> None:
        """What people do in their own sessions stands in their log; what others do, here too."""
        if who.user_id != session.user_id:
            await self._audit(who, session, event, owner=session.user_id, **details)

    # Reading

    async def readable(self, who: Principal, session_id: str) -> SessionLog:
        """The log, if that person may see it."""
        await self._owners.check(who, session_id)
        return await self._log.open(session_id)

    async def readable_of(
        self, who: Principal, session_ids: Iterable[str]
    ) -> dict[str, SessionLog]:
        """The logs of those of them that the person may see."""
        return await self._log.open_all(await self._owners.seen(who, session_ids))

    async def events(
        self, who: Principal, session_id: str, after: int, limit: int
    ) -> list[LoggedEvent]:
        log = await self.readable(who, session_id)
        return [LoggedEvent(*event) for event in await self._log.read(log, after, limit)]

    async def events_before(
        self, who: Principal, session_id: str, before: int, limit: int
    ) -> list[LoggedEvent]:
        """The last ones before that id, oldest first; fewer where they are large."""
        log = await self.readable(who, session_id)
        found = await self._log.newest(log, min(before - 1, log.last_id), limit)
        return [LoggedEvent(*event) for event in found]

    async def snapshot(self, who: Principal, session_id: str) -> Json:
        """What a reader needs after `resync`: everything up to `last_event_id`."""
        session = await self.get(who, session_id)
        log = await self._log.open(session_id)
        position = log.last_id
        recent = await self._log.newest(log, position, limits.RING_EVENTS)
        turns = await self._turns.recent(session_id, limits.PAGE_MAX)
        pending = await self._approvals.page(who, session_id=session_id, limit=limits.PAGE_MAX)
        online = session.machine_id is not None and self._machines.is_online(session.machine_id)
        return {
            "session": session,
            "last_event_id": position,
            "messages": messages_of(turns),
            "turns": turns,
            "events": [LoggedEvent(*event) for event in recent],
            "approvals": pending,
            "machine": {"id": session.machine_id, "online": online},
        }

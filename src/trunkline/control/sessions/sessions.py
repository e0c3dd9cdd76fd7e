"""Sessions as clients use them: create, say, cancel, configure, answer, read.

Client edges and the REST API call this; it knows the log and the router, never a socket.
"""

from collections.abc import Iterable
from typing import Any

import structlog
from sqlalchemy import case, select

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import (
    Conflict,
    InvalidRequest,
    LimitReached,
    NotFound,
    Unavailable,
)
from trunkline.control.log import events
from trunkline.control.log.log import Log, SessionLog
from trunkline.control.machines.commands import Answer, Cancel, Configure, Stop
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.machines import Machines
from trunkline.control.machines.outbox import size_of
from trunkline.control.services import Services
from trunkline.control.sessions.approvals import Approval, Approvals
from trunkline.control.sessions.lifecycle import Lifecycle
from trunkline.control.sessions.records import (
    LoggedEvent,
    NewMessage,
    NewSession,
    Session,
    SessionRecords,
)
from trunkline.control.sessions.starting import build_start, check_choices
from trunkline.control.sessions.turns import Turns, history_of, messages_of, say
from trunkline.control.store import schema
from trunkline.control.store.engine import Store

__all__ = ["LoggedEvent", "NewMessage", "NewSession", "Session", "Sessions"]

_log = structlog.get_logger(__name__)

Json = dict[str, Any]


class Sessions:
    """Every session, whichever machine runs it and whichever client watches."""

    def __init__(
        self,
        store: Store,
        log: Log,
        machines: Machines,
        services: Services,
        records: SessionRecords,
        turns: Turns,
        approvals: Approvals,
        lifecycle: Lifecycle,
        clock: Clock,
    ) -> None:
        self._store = store
        self._log = log
        self._machines = machines
        self._services = services
        self._records = records
        self._turns = turns
        self._approvals = approvals
        self._lifecycle = lifecycle
        self._clock = clock
        machines.delivery.starter = lambda session_id: build_start(store, services, session_id)

    # --- Records ------------------------------------------------------------------------------

    async def create(self, who: Principal, new: NewSession) -> Session:
        """Picks and pins the machine, and tells it to start the session."""
        machine = await self._choose_machine(who, new.machine_id)
        self._machines.check_room(machine)
        session = await self._records.insert(who, machine, new)
        self._machines.adopt(machine, await self._log.open(session.id))
        start = await self._machines.delivery.starter(session.id)
        assert start is not None
        self._machines.delivery.send(machine, start)
        _log.info("session created", session=session.id, machine=machine.id)
        return session

    async def _choose_machine(self, who: Principal, machine_id: str | None) -> Machine:
        if machine_id is not None:
            machine = await self._machines.named(machine_id)
            if not who.may_see(org_id=machine.org_id, user_id=machine.user_id):
                raise NotFound("machine", machine_id)
            return machine
        table = schema.machines
        async with self._store.read() as connection:
            ids = await connection.scalars(
                select(table.c.id)
                .where(
                    table.c.user_id == who.user_id,
                    table.c.kind != "group",  # to talk to one is a choice
                    table.c.state.in_(("pending", "online", "offline")),
                )
                # An execution plane, if there is one: it can do the most.
                .order_by(case((table.c.kind == "vm", 0), else_=1), table.c.id.desc())
            )
            machine_ids = list(ids)
        candidates = [await self._machines.get(one) for one in machine_ids]
        for fits in (lambda one: one.line is not None, self._machines.is_expected):
            for machine in candidates:
                if fits(machine):
                    return machine
        raise Unavailable("no machine of yours is online", code="NO_MACHINE")

    async def get(self, who: Principal, session_id: str) -> Session:
        return await self._records.get(who, session_id)

    async def page(
        self,
        who: Principal,
        limit: int,
        cursor: str | None,
        status: str | None = None,
        *,
        machine_id: str | None = None,
        members: bool = True,
    ) -> list[Session]:
        return await self._records.page(
            who, limit, cursor, status, machine_id=machine_id, members=members
        )

    async def rename(self, who: Principal, session_id: str, title: str | None) -> Session:
        await self.get(who, session_id)
        await self._records.update(session_id, title=title)
        return await self.get(who, session_id)

    async def close(self, who: Principal, session_id: str) -> None:
        """Ends the session on its machine (000 §5.3); its log stays readable."""
        session = await self.get(who, session_id)
        if session.status == "closed":
            return
        reason = "user_closed" if session.user_id == who.user_id else "admin"
        if not await self._records.close(session_id):
            return  # somebody else did in the same moment
        if session.machine_id is not None:
            machine = await self._machines.get(session.machine_id)
            why = "the session was closed"
            await self._lifecycle.end_turns(machine, session_id, why, code="SESSION_CLOSED")
            try:
                self._machines.check_room(machine)
                self._machines.delivery.send(machine, Stop(session_id, reason))
            except (Unavailable, LimitReached):
                # When it returns it lists what it runs, and is told to stop this.
                self._machines.release(machine, session_id)
        lasted_ms = max(0, self._clock() - session.created_at)
        closed = events.make("session_closed", self._clock(), reason=reason, duration_ms=lasted_ms)
        await self._log.append_and_wait(await self._log.open(session_id), closed)
        await self._services.audit.append(
            "session.closed",
            {"reason": reason},
            org_id=session.org_id,
            user_id=who.user_id,
            session_id=session_id,
        )

    async def ids_of(self, **owner: str) -> list[str]:
        """Every session of a `user_id` or an `org_id`, closed ones too."""
        return await self._records.ids_of(**owner)

    async def erase(self, session_ids: Iterable[str]) -> None:
        """Removes the events of sessions whose records are gone."""
        for session_id in session_ids:
            await self._log.delete(session_id)

    # --- Down: messages to the machine --------------------------------------------------------

    async def send(self, who: Principal, session_id: str, new: NewMessage) -> str:
        """A user's message. Committed to the log first, then on its way to the machine."""
        session = await self.get(who, session_id)
        name = new.client_message_id
        if name is not None and (known := await self._turns.named(session_id, name)) is not None:
            return known.id  # whatever became of the session since
        machine = await self._machine_of(session)
        # All that may fail comes first: a turn that is recorded is a turn that is sent.
        history = history_of(await self._turns.recent(session_id))
        self._machines.check_room(machine, size_of([new, history]))
        log = await self._log.open(session_id)
        turn, is_new = await self._turns.open(session_id, new.message, new.metadata or {}, name)
        if not is_new:
            return turn.id
        said = events.make(
            "user_message",
            self._clock(),
            content=new.message,
            turn_id=turn.id,
            user_id=who.user_id,
            **shown_of(new),
        )
        if machine.line is None:
            # Whoever reads sees that the message waits, and for what.
            self._log.append(log, said)
            said = events.make(
                "session_status", self._clock(), machine="offline", machine_id=machine.id, held=True
            )
        await self._log.append_and_wait(log, said)
        if session_id not in machine.logs:
            _, machine = await self._running(who, session_id)  # it was moved meanwhile
        self._machines.delivery.send(machine, say(turn, history))
        _log.debug("message accepted", session=session.id, machine=machine.id, turn=turn.id)
        return turn.id

    async def _running(self, who: Principal, session_id: str) -> tuple[Session, Machine]:
        session = await self.get(who, session_id)
        return session, await self._machine_of(session)

    async def _machine_of(self, session: Session) -> Machine:
        """The one that runs it; a session that nothing runs any more is refused."""
        if session.status != "active":
            raise Conflict("this session is closed", code="SESSION_CLOSED")
        if session.machine_id is None:
            raise Unavailable("this session's machine was removed", code="MACHINE_OFFLINE")
        return await self._machines.get(session.machine_id)

    async def cancel(self, who: Principal, session_id: str, reason: str) -> bool:
        """Stops the running turn. On a session that runs nothing, nothing happens (000 §5.6), and
        this is False: no turn's end will follow."""
        if (await self.get(who, session_id)).status != "active":
            return False
        session, machine = await self._running(who, session_id)
        recorded = await self._turns.open_of([session_id])
        open_turns = [turn for turn in recorded if not machine.ends.has_ended(turn.id)]
        # One may have reached the machine since the records were read.
        is_running = bool(open_turns or machine.ends.given(session_id))
        # What has ended here it is told to cancel when it returns.
        ends_here = machine.kind == "agp" and machine.line is None
        for turn in open_turns:
            withdrawn = self._machines.delivery.withdraw(machine, turn.id)
            if withdrawn or ends_here:
                await self._lifecycle.finish(
                    machine, session_id, "cancelled", turn.id, owed=not withdrawn, cancelled=True
                )
        is_sent = any(turn.state == "sent" for turn in open_turns)
        if machine.line is not None or (is_sent and not ends_here):
            self._machines.delivery.send(machine, Cancel(session_id, reason))
        await self._services.audit.append(
            "session.cancel",
            {"reason": reason},
            org_id=session.org_id,
            user_id=who.user_id,
            session_id=session_id,
        )
        return is_running

    async def configure(self, who: Principal, session_id: str, patch: Json) -> None:
        """New parameters, now and for every later start (000 §5.7)."""
        session, machine = await self._running(who, session_id)
        if not patch:
            raise InvalidRequest("nothing to change")
        check_choices(patch)
        await self._records.reconfigure(session.id, patch)
        if self._machines.is_expected(machine):
            self._machines.delivery.send(machine, Configure(session_id, patch))

    async def answer(
        self,
        who: Principal,
        name: str,
        confirmed: bool,
        answer: Any,
        session_id: str | None = None,
    ) -> Approval:
        """A person's answer to a question; the first one wins."""
        approval = await self._approvals.find(who, name, session_id)
        _, machine = await self._running(who, approval.session_id)
        self._machines.check_room(machine)
        decided = await self._approvals.decide(approval, confirmed, answer, who.user_id)
        await self._lifecycle.questions.tell_answer(decided)
        self._machines.delivery.send(
            machine, Answer(approval.session_id, approval.request_id, confirmed, answer)
        )
        return decided

    # --- Reading ------------------------------------------------------------------------------

    async def readable(self, who: Principal, session_id: str) -> SessionLog:
        """The log, if that person may see it."""
        await self.get(who, session_id)
        return await self._log.open(session_id)

    async def events(
        self, who: Principal, session_id: str, after: int, limit: int
    ) -> list[LoggedEvent]:
        log = await self.readable(who, session_id)
        return [LoggedEvent(*event) for event in await self._log.read(log, after, limit)]

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


def shown_of(new: NewMessage) -> Json:
    """What readers see of a message besides its text."""
    shown: Json = {}
    if new.client_message_id is not None:
        shown["client_message_id"] = new.client_message_id
    attached = (new.metadata or {}).get("attachments")
    if isinstance(attached, list):
        shown["attachments"] = [
            {
                "name": str(one.get("name", ""))[: limits.NAME_CHARS_MAX],
                "mime": str(one.get("mime", ""))[: limits.NAME_CHARS_MAX],
            }
            for one in attached[: limits.ATTACHMENTS_MAX]
            if isinstance(one, dict)
        ]
    return shown

"""Moving a session to another machine of its user: it goes on there from its last saved state.

The REST API calls this; it knows records, log and router, never a socket.
"""

import structlog

from trunkline.control.access.auth import Principal
from trunkline.control.errors import Conflict, InvalidRequest, LimitReached, NotFound
from trunkline.control.log.log import Log
from trunkline.control.machines.commands import MOVED, Command, Stop
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.machines import Machines
from trunkline.control.services import Services
from trunkline.control.sessions.lifecycle import Lifecycle
from trunkline.control.sessions.records import Session, SessionRecords
from trunkline.control.sessions.recovery import Recovery
from trunkline.control.sessions.turns import OPEN, Turns

_log = structlog.get_logger(__name__)


class Moves:
    def __init__(
        self,
        records: SessionRecords,
        turns: Turns,
        log: Log,
        machines: Machines,
        lifecycle: Lifecycle,
        recovery: Recovery,
        services: Services,
    ) -> None:
        self._records = records
        self._turns = turns
        self._log = log
        self._machines = machines
        self._lifecycle = lifecycle
        self._recovery = recovery
        self._services = services

    async def move(self, who: Principal, session_id: str, machine_id: str) -> None:
        """What runs there ends, what was said stays. Nothing happens if it is there already."""
        session = await self._records.get(who, session_id)
        if session.status != "active":
            raise Conflict("this session is closed", code="SESSION_CLOSED")
        target = await self._target(who, session, machine_id)
        if session.machine_id == target.id:
            return
        self._machines.check_room(target)
        log = await self._log.open(session_id)
        source = await self._source(session)
        if source is not None:
            why = "the session was moved to another machine"
            await self._lifecycle.end_turns(source, session_id, why, code="SESSION_MOVED")
        ended = [one.id for one in await self._turns.recent(session_id) if one.state not in OPEN]
        if not await self._records.move(session, target.id):
            raise Conflict("this session was moved or closed in the same moment")
        # Nothing may come between these: the session is on one machine or on the other.
        if source is not None:
            self._leave(source, session_id)
        self._machines.adopt(target, log)
        for turn_id in ended:
            target.ends.close(session_id, turn_id)
        self._lifecycle.moved(target, log)
        await self._go_on(target, session_id)
        _log.info("session moved", session=session_id, machine=target.id, left=session.machine_id)
        await self._services.audit.append(
            "session.moved",
            {"from": session.machine_id, "to": target.id},
            org_id=session.org_id,
            user_id=who.user_id,
            session_id=session_id,
        )

    async def _target(self, who: Principal, session: Session, machine_id: str) -> Machine:
        machine = await self._machines.get(machine_id)
        if not who.may_see(org_id=machine.org_id, user_id=machine.user_id):
            raise NotFound("machine", machine_id)
        if machine.user_id != session.user_id:
            raise InvalidRequest("that machine is another user's than the session")
        return machine

    async def _source(self, session: Session) -> Machine | None:
        """None for a machine that was removed."""
        if session.machine_id is None:
            return None
        return await self._machines.get(session.machine_id)

    def _leave(self, machine: Machine, session_id: str) -> None:
        """From here on, what that machine says of the session is not taken any more; what it has
        used until now still counts."""
        self._machines.delivery.forget(machine, session_id)
        self._machines.release(machine, session_id)
        if self._machines.is_expected(machine):
            self._tell(machine, Stop(session_id, MOVED))
        # Else: if it ever returns, it lists what it runs, and is told to stop this.

    async def _go_on(self, machine: Machine, session_id: str) -> None:
        start = await self._machines.delivery.starter(session_id)
        if start is not None:
            self._tell(machine, start)
        for turn in await self._turns.open_of([session_id]):
            await self._recovery.say_again(machine, turn)  # said in the very moment of the move

    def _tell(self, machine: Machine, command: Command) -> None:
        try:
            self._machines.delivery.send(machine, command)
        except LimitReached:
            # A session is started by its next message too, and stopped when its machine lists it.
            _log.warning("no room for a command", session=command.session_id, machine=machine.id)

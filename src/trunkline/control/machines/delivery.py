"""How commands reach a machine: in order, once, and only where their session runs.

A machine's outbox empties while its line is up and holds what comes while it is not.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine

import structlog
from sqlalchemy import and_, select

from trunkline import limits
from trunkline.control.machines.commands import NEEDS_SESSION, Cancel, Command, Say, Start, Stop
from trunkline.control.machines.machine import Line, Machine
from trunkline.control.store import schema
from trunkline.control.store.engine import Store
from trunkline.control.tasks import Tasks

_log = structlog.get_logger(__name__)

_RETRY_S = 1.0
_LISTS_SOON_S = 1.0
# The first heartbeat of a machine that counts comes behind its backlog, the second one does not.
_LISTS_LATE_S = limits.HEARTBEAT_INTERVAL_S + _LISTS_SOON_S


class Delivery:
    """The outboxes of all machines."""

    def __init__(self, store: Store, tasks: Tasks) -> None:
        self._store = store
        self._tasks = tasks
        self.starter: Callable[[str], Awaitable[Start | None]]
        """Makes the `Start` of a session; None when there is nothing to start any more."""
        self.before_restart: Callable[[Machine, str], Coroutine[None, None, None]]
        """Told that a session is started again on a machine that does not run it any more."""
        self.on_sent: Callable[[Machine, Command], None] = lambda _machine, _command: None

    def send(self, machine: Machine, *commands: Command) -> None:
        """Delivers now, or as soon as the machine is back, in order. The same thing once."""
        for command in commands:
            if self._is_known(machine, command):
                continue
            if machine.line is None:
                machine.outbox.check(command)
            machine.outbox.append(command)
        self.wake(machine)

    async def ensure_started(self, machine: Machine, session_id: str) -> None:
        """Starts a session that the machine should run and does not."""
        if machine.running is not None and session_id not in machine.running:
            start = await self.starter(session_id)
            if start is not None:
                self.send(machine, start)

    def _is_known(self, machine: Machine, command: Command) -> bool:
        """A turn goes out once on a line; a cancel that waits already need not wait twice."""
        if isinstance(command, Say):
            return command.turn_id in machine.turns_sent or any(
                isinstance(one, Say) and one.turn_id == command.turn_id for one in machine.outbox
            )
        return isinstance(command, Cancel) and command in machine.outbox

    def resumed(self, machine: Machine, line: Line) -> None:
        """The machine has said what it had to say first."""
        if machine.line is line and machine.is_held:
            machine.is_held = False
            self.wake(machine)

    def wake(self, machine: Machine) -> None:
        if machine.is_held:
            return
        if machine.outbox and machine.line is not None and machine.pump is None:
            machine.pump = self._tasks.spawn(self._pump(machine), "machine outbox")

    def withdraw(self, machine: Machine, turn_id: str) -> bool:
        """Takes back a message that was not delivered yet."""
        if machine.outbox.drop(lambda one: isinstance(one, Say) and one.turn_id == turn_id):
            return True
        return machine.line is not None and machine.line.withdraw(turn_id)

    def forget(self, machine: Machine, session_id: str) -> None:
        """Takes back all that waits for a session, which is this machine's no more."""
        machine.outbox.drop(lambda one: one.session_id == session_id)

    async def _pump(self, machine: Machine) -> None:
        """Empties the outbox while the line is up."""
        try:
            while (line := machine.line) is not None:
                command = machine.outbox.first
                if command is None:
                    break
                try:
                    start = await self._start_first(machine, line, command)
                except Exception:
                    _log.exception("a command cannot be delivered yet", machine=machine.id)
                    await asyncio.sleep(_RETRY_S)
                    continue
                if machine.line is not line or machine.outbox.first is not command:
                    continue  # another line, or withdrawn meanwhile
                if start is not None:
                    self._deliver(machine, line, start)
                machine.outbox.popleft()
                if self._makes_sense(machine, command):
                    self._deliver(machine, line, command)
        finally:
            machine.pump = None
        self.wake(machine)

    async def _start_first(self, machine: Machine, line: Line, command: Command) -> Start | None:
        if not isinstance(command, NEEDS_SESSION) or _runs(machine, command.session_id):
            return None
        if machine.running is None:
            await self._learn_running(machine, line)
        if machine.line is not line or _runs(machine, command.session_id):
            return None
        if "seq" not in line.capabilities:
            await self.before_restart(machine, command.session_id)
        return await self.starter(command.session_id)

    def _makes_sense(self, machine: Machine, command: Command) -> bool:
        is_running = _runs(machine, command.session_id)
        if isinstance(command, Say) and machine.ends.has_ended(command.turn_id):
            return False
        if isinstance(command, NEEDS_SESSION):
            return is_running
        return not (is_running and isinstance(command, Start))

    async def _learn_running(self, machine: Machine, line: Line) -> None:
        """After a restart of either side: the first heartbeat says what runs there, or our
        records, which may be wrong: `Recovery` looks again at the heartbeat that comes late."""
        wait_s = _LISTS_LATE_S if "seq" in line.capabilities else _LISTS_SOON_S
        try:
            async with asyncio.timeout(wait_s):
                while machine.running is None and machine.line is line:
                    await machine.changed.wait()
        except TimeoutError:
            table = schema.sessions
            async with self._store.read() as connection:
                started = await connection.scalars(
                    select(table.c.id).where(
                        and_(table.c.machine_id == machine.id, table.c.started_at.is_not(None))
                    )
                )
                found = set(started)
            if machine.running is None and machine.line is line:
                machine.running = found | set(machine.starting)

    def _deliver(self, machine: Machine, line: Line, command: Command) -> None:
        if isinstance(command, Start):
            if machine.running is not None:
                machine.running.add(command.session_id)
            machine.carried.discard(command.session_id)
            machine.stopping.discard(command.session_id)
            loop = asyncio.get_running_loop()
            machine.starting[command.session_id] = loop.time() + limits.SESSION_START_TIMEOUT_S
        elif isinstance(command, Say):
            machine.turns_sent.add(command.turn_id)
            machine.turns_unrecorded.add(command.turn_id)
            if "seq" in line.capabilities:
                log = machine.logs.get(command.session_id)
                seq = log.machine_seq if log is not None else None
                machine.turns_unheard[command.turn_id] = command.session_id, seq
        elif isinstance(command, Stop):
            machine.stopping.add(command.session_id)
            if machine.running is not None:
                machine.running.discard(command.session_id)
        line.deliver(command)
        self.on_sent(machine, command)


def _runs(machine: Machine, session_id: str) -> bool:
    """As far as we know. Before the machine has listed its sessions: those that this line was
    told to start."""
    if machine.running is None:
        return session_id in machine.starting and session_id not in machine.carried
    return session_id in machine.running

"""The router: every machine's live side. Its line, its sessions, and what waits for it.

Sessions hand in commands, machine edges attach lines. A machine that is briefly away has its
commands held in order; one that is gone refuses them with a clear error.
"""

import asyncio
from collections.abc import Callable, Iterable

import structlog
from sqlalchemy import and_, select, update

from trunkline import limits
from trunkline.control.clock import Clock
from trunkline.control.errors import NotFound, Unavailable
from trunkline.control.log.log import Log, SessionLog
from trunkline.control.machines.commands import Say
from trunkline.control.machines.delivery import Delivery
from trunkline.control.machines.machine import Line, Machine
from trunkline.control.sessions.ends import load_ends
from trunkline.control.store import schema
from trunkline.control.store.engine import Store
from trunkline.control.tasks import Tasks

_log = structlog.get_logger(__name__)

_ENDED = ("failed", "terminated")
_COME_UNASKED = ("agp", "yeaft")
"""Kinds that nobody starts from here: nothing else says when one that never came will not."""

_AWAY = ("offline", "pending")

REPLACED = 1008
"""The close code, on every wire, for a line that a newer one of the same machine replaced."""


class Machines:
    """The machines that somebody has asked for since the start."""

    def __init__(
        self, store: Store, log: Log, clock: Clock, *, away_s: float, tasks: Tasks
    ) -> None:
        self._store = store
        self._log = log
        self._clock = clock
        self._away_ms = int(away_s * 1000)
        self._tasks = tasks
        self._machines: dict[str, Machine] = {}
        self.delivery = Delivery(store, tasks)
        self._started_ms = clock()
        self.on_line: Callable[[Machine, bool], None] = lambda _machine, _up: None
        self.on_gone: Callable[[Machine, str, str], None] = lambda _machine, _code, _why: None
        self.on_strays: Callable[[Machine, set[str]], None] = lambda _machine, _sessions: None
        self.on_listed: Callable[[Machine], None] = lambda _machine: None
        self.on_not_started: Callable[[Machine, str], None] = lambda _machine, _session: None
        self.watchers: list[Callable[[Machine], None]] = []
        """Told when a machine comes, goes or says something new of itself."""
        log.on_stall = self._pause_all

    # --- Finding machines ---------------------------------------------------------------------

    async def get(self, machine_id: str) -> Machine:
        """The machine with its open sessions loaded."""
        found = self._machines.get(machine_id)
        return found if found is not None else await self._load(machine_id)

    async def named(self, name: str) -> Machine:
        """The machine with that id, else the device with that `guid`, which its owner chose: it
        must not stand for another one's id."""
        try:
            return await self.get(name)
        except NotFound:
            secrets = schema.machine_secrets
            async with self._store.read() as connection:
                found = await connection.scalar(
                    select(secrets.c.machine_id).where(secrets.c.guid == name)
                )
            if found is None:
                raise
            return await self.get(found)

    async def _load(self, machine_id: str) -> Machine:
        machines, users, sessions = schema.machines, schema.users, schema.sessions
        async with self._store.read() as connection:
            row = (
                await connection.execute(
                    select(machines, users.c.org_id)
                    .join(users, users.c.id == machines.c.user_id)
                    .where(machines.c.id == machine_id)
                )
            ).first()
            if row is None:
                raise NotFound("machine", machine_id)
            open_sessions = await connection.scalars(
                select(sessions.c.id).where(
                    and_(sessions.c.machine_id == machine_id, sessions.c.status == "active")
                )
            )
            session_ids = list(open_sessions)
            ends = await load_ends(connection, session_ids)
        machine = Machine(row.id, row.user_id, row.org_id, row.kind)
        machine.ends = ends
        machine.state = row.state
        machine.last_seen_ms = row.last_seen_at or 0
        if row.state == "online":
            # It was, when this process's predecessor ended: it is expected back.
            machine.state = "offline"
            machine.last_seen_ms = self._started_ms
        machine.logs = await self._log.open_all(session_ids)
        return self._machines.setdefault(machine_id, machine)  # another task may be faster

    def adopt(self, machine: Machine, log: SessionLog) -> None:
        """Pins a session to this machine."""
        machine.logs[log.session_id] = log
        machine.stopping.discard(log.session_id)  # it may have been here before
        if machine.line is not None and "seq" in machine.line.capabilities:
            log.on_safe = self._acknowledger(machine)

    def release(self, machine: Machine, session_id: str) -> None:
        log = machine.logs.pop(session_id, None)
        if log is not None:
            log.on_safe = None
        if machine.running is not None:
            machine.running.discard(session_id)
        machine.starting.pop(session_id, None)
        machine.stopping.discard(session_id)

    def online(self) -> Iterable[Machine]:
        return (machine for machine in self._machines.values() if machine.line is not None)

    def find(self, machine_id: str) -> Machine | None:
        """The machine, if it is in memory."""
        return self._machines.get(machine_id)

    def is_online(self, machine_id: str) -> bool:
        machine = self._machines.get(machine_id)
        return machine is not None and machine.line is not None

    def is_expected(self, machine: Machine) -> bool:
        """Whether it is worth holding a message for it."""
        if machine.line is not None:
            return True
        if machine.state in _ENDED:
            return False
        if machine.state == "pending":
            since = machine.awaited_since_ms
            return not since or self._clock() - since < self._away_ms
        return self._clock() - machine.last_seen_ms < self._away_ms

    async def wait_online(self, machine_id: str) -> None:
        machine = await self.get(machine_id)
        while machine.line is None:
            await machine.changed.wait()

    async def wait_offline(self, machine_id: str) -> None:
        machine = await self.get(machine_id)
        while machine.line is not None:
            await machine.changed.wait()

    # --- Lines --------------------------------------------------------------------------------

    def attach(self, machine: Machine, line: Line, *, fresh: bool) -> None:
        """A line is up. A fresh machine has no sessions yet; a returning one kept its own, and
        is told nothing before it has said `resume`, or a moment has passed."""
        older, machine.line = machine.line, line
        if older is not None:
            # Out of the way before it ends: its end is not the machine's.
            older.close(REPLACED, "replaced by a newer line of the same machine")
        machine.state = "online"
        machine.last_seen_ms = self._clock()
        if fresh:
            machine.running = set()
            machine.starting.clear()
        elif "seq" in line.capabilities:
            machine.running = None  # it may be another process: its heartbeat says what runs
        deadline = asyncio.get_running_loop().time() + limits.SESSION_START_TIMEOUT_S
        for session_id in machine.starting:
            machine.starting[session_id] = deadline
        machine.carried = set(machine.starting)
        if self._log.is_stalled:
            line.pause(True)
        acknowledge = self._acknowledger(machine) if "seq" in line.capabilities else None
        for log in machine.logs.values():
            log.on_safe = acknowledge
        machine.turns_sent &= machine.turns_unrecorded
        machine.lists_sessions = False
        machine.turns_kept = frozenset()
        machine.turns_unheard.clear()
        machine.is_held = not fresh
        if machine.is_held:
            loop = asyncio.get_running_loop()
            loop.call_later(limits.RESUME_GRACE_S, self.delivery.resumed, machine, line)
        self._changed(machine)
        if older is None:
            self.on_line(machine, True)
        self._tasks.spawn(self._save_state(machine), "machine online")
        self.delivery.wake(machine)

    def detach(self, machine: Machine, line: Line) -> None:
        """A line is down. Does nothing if a newer one has taken over already."""
        if machine.line is not line:
            return
        machine.line = None
        machine.last_seen_ms = self._clock()
        if machine.state not in _ENDED:
            machine.state = "offline"
        for log in machine.logs.values():
            log.on_safe = None
        machine.acks.clear()
        for session_id in list(machine.stopping):
            self.release(machine, session_id)
        self._changed(machine)
        self.on_line(machine, False)
        self._tasks.spawn(self._save_state(machine), "machine offline")

    def _changed(self, machine: Machine) -> None:
        event, machine.changed = machine.changed, asyncio.Event()
        event.set()
        for watcher in self.watchers:
            try:
                watcher(machine)
            except Exception:
                _log.exception("somebody who was told of a machine failed", machine=machine.id)

    async def _save_state(self, machine: Machine) -> None:
        table = schema.machines
        values: dict[str, object] = {"state": machine.state, "last_seen_at": machine.last_seen_ms}
        if machine.line is not None:
            values["capabilities"] = sorted(machine.line.capabilities)
            values["detail"] = None
        async with self._store.write() as connection:
            await connection.execute(
                update(table)
                .where(table.c.id == machine.id, table.c.state.not_in(_ENDED))
                .values(values)
            )

    async def save_all(self) -> None:
        """Every minute and at shutdown: what is online now was last seen now."""
        for machine in list(self.online()):
            machine.last_seen_ms = self._clock()
            await self._save_state(machine)

    def close(self, machine_id: str, code: int, reason: str) -> None:
        machine = self._machines.get(machine_id)
        if machine is not None and machine.line is not None:
            machine.line.close(code, reason)

    def failed(self, machine_id: str, reason: str) -> None:
        """The machine will not come: whoever waits for it is told."""
        self._end(machine_id, "failed", "VM_FAILED", reason)

    def terminated(self, machine_id: str) -> None:
        self._end(machine_id, "terminated", "MACHINE_TERMINATED", "the machine was terminated")

    def _end(self, machine_id: str, state: str, code: str, reason: str) -> None:
        machine = self._machines.get(machine_id)
        if machine is not None:
            machine.state = state
            machine.outbox.clear()
            self.on_gone(machine, code, reason)

    def _pause_all(self, paused: bool) -> None:
        for machine in self.online():
            assert machine.line is not None
            machine.line.pause(paused)

    # --- Acknowledgements ---------------------------------------------------------------------

    def _acknowledger(self, machine: Machine) -> Callable[[str, int], None]:
        """Gathers what one commit made safe into one message."""

        def safe(session_id: str, seq: int) -> None:
            if not machine.acks:
                asyncio.get_running_loop().call_soon(self._send_acks, machine)
            machine.acks[session_id] = seq

        return safe

    def _send_acks(self, machine: Machine) -> None:
        acked, machine.acks = machine.acks, {}
        if machine.line is not None and acked:
            machine.line.acknowledge(acked)

    def check_room(self, machine: Machine, size: int = 0) -> None:
        """Raises unless one more message, of that size, can be delivered or held."""
        if not self.is_expected(machine):
            raise Unavailable("the machine of this session is offline", code="MACHINE_OFFLINE")
        machine.outbox.check_size(size)
        if machine.line is None:
            machine.outbox.check_count()

    # --- Signs of life ------------------------------------------------------------------------

    def heartbeat(
        self, machine: Machine, active: list[str] | None, health: dict[str, object] | None
    ) -> None:
        """What a machine says of itself (000 §4.1)."""
        machine.last_seen_ms = self._clock()
        if health is not None and machine.health != health:
            was, machine.health = machine.health.get("state"), health
            if was != health.get("state"):  # numbers change with each heartbeat
                self._changed(machine)
        if active is None:
            return
        machine.lists_sessions = True
        listed = set(active)
        for session_id in listed.intersection(machine.starting):
            del machine.starting[session_id]
        self._drop_carried(machine, machine.carried - listed)
        for session_id in machine.stopping - listed:
            self.release(machine, session_id)
        machine.running = listed.intersection(machine.logs) | set(machine.starting)
        self._changed(machine)
        strays = listed.difference(machine.logs)
        if strays:
            self.on_strays(machine, strays)
        self.on_listed(machine)

    def _drop_carried(self, machine: Machine, session_ids: set[str]) -> None:
        """Told to start on an earlier line, not there on this one: the machine lost them."""
        machine.carried.clear()
        for session_id in session_ids.intersection(machine.starting):
            del machine.starting[session_id]
            if machine.line is not None and "seq" not in machine.line.capabilities:
                self._tasks.spawn(self.delivery.before_restart(machine, session_id), "session lost")

    def _watch_pending(self, machine: Machine) -> None:
        """A machine that never came counts as away from when somebody first waits for it."""
        waits = machine.state == "pending" and (
            any(isinstance(one, Say) for one in machine.outbox)
            or any(machine.ends.given(session_id) for session_id in machine.logs)
        )
        if not waits:
            machine.awaited_since_ms = 0
        elif not machine.awaited_since_ms:
            machine.awaited_since_ms = self._clock()

    def sweep(self) -> None:
        """Once a second: sessions that did not start, machines that did not come back."""
        now = asyncio.get_running_loop().time()
        for machine in list(self._machines.values()):
            for session_id in [one for one, end in machine.starting.items() if end <= now]:
                del machine.starting[session_id]
                # Only a machine that lists its sessions can show that one is missing.
                if machine.lists_sessions and machine.line is not None:
                    if machine.running is not None:
                        machine.running.discard(session_id)
                    self.on_not_started(machine, session_id)
            if machine.kind in _COME_UNASKED:
                self._watch_pending(machine)
            if machine.state in _AWAY and not self.is_expected(machine):
                machine.state = "gone"
                machine.outbox.clear()
                self.on_gone(machine, "MACHINE_OFFLINE", "the machine did not come back")

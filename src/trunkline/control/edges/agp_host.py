"""What stands behind every AGP device's line: who it is, what it was at, and the watch over it.

`AgpLine` turns frames into messages and calls here for everything that has to wait.
"""

import asyncio
from collections import Counter

import structlog
from sqlalchemy import select

from trunkline import limits
from trunkline.control import events
from trunkline.control.auth import Principal
from trunkline.control.commands import Start
from trunkline.control.core import Core
from trunkline.control.door.dispatch import AGP
from trunkline.control.door.door import refuse
from trunkline.control.door.head import Head
from trunkline.control.door.websocket import adopt
from trunkline.control.edges.agp import AgpLine, RefusedLine
from trunkline.control.edges.agp_commands import agent_app_of
from trunkline.control.edges.agp_device import AgpDevice
from trunkline.control.edges.agp_handshake import Asked, read_query
from trunkline.control.errors import LimitReached, NotFound, TrunklineError, Unauthorized
from trunkline.control.machine import Machine
from trunkline.control.machine_secrets import Known
from trunkline.control.store.schema import machine_secrets, machines, sessions, turns, users
from trunkline.control.turns import say
from trunkline.wire.agp.close_codes import CloseCode
from trunkline.wire.agp.translate import read_logged

_log = structlog.get_logger(__name__)

_ENDED = ("failed", "terminated")


class AgpHost:
    path = AGP
    is_machines = True

    def __init__(self, core: Core) -> None:
        self._core = core
        self.rate_limit = core.settings.rate_limit_per_minute
        self.metrics = core.metrics
        self.clock = core.clock
        self.lines: set[AgpLine] = set()
        self._devices: dict[str, AgpDevice] = {}
        self._unknown = 0
        """Connections that are being looked up."""
        self._lookups: Counter[str] = Counter()
        """How many names of what is not a device's own are being looked up, by user."""

    # --- Coming in --------------------------------------------------------------------------------

    def accept(self, transport: asyncio.Transport, head: Head) -> None:
        asked = read_query(head.query, is_open=self._core.settings.open_agp)
        if self._unknown >= limits.UNKNOWN_SOCKETS_MAX:
            raise LimitReached("too many connections have not shown who they are yet")
        self._unknown += 1
        transport.pause_reading()
        transport.set_protocol(asyncio.Protocol())
        self._core.tasks.spawn(self._admit(transport, head, asked), "agp handshake")

    async def _admit(self, transport: asyncio.Transport, head: Head, asked: Asked) -> None:
        listener: AgpLine | RefusedLine
        try:
            listener = AgpLine(self, await self._device(asked))
        except Unauthorized as error:
            _log.warning("device refused", guid=asked.guid, reason=error.message)
            listener = RefusedLine("the token is not this device's")
        except TrunklineError as error:
            refuse(transport, error)
            return
        except Exception:
            _log.exception("a device could not be let in")
            refuse(transport, TrunklineError("something went wrong here; the log says what"))
            return
        finally:
            self._unknown -= 1
        if not transport.is_closing():
            transport.resume_reading()
            adopt(transport, head, listener, limits.FRAME_BYTES_MAX)

    async def _device(self, asked: Asked) -> AgpDevice:
        secrets, renewed = self._core.machine_secrets, -1
        while renewed != secrets.renewed:  # else its token may have ended while it was looked at
            renewed = secrets.renewed
            known = await self._known(asked)
            machine = await self._core.machines.get(known.machine_id)
            device = self._devices.get(machine.id) or await self._load(machine, known)
            device = self._devices.setdefault(machine.id, device)  # another may be faster
        if machine.state in _ENDED:
            raise Unauthorized("this device was given up")
        device.known = known
        device.apps = await self._apps(machine)  # they may have changed while it was away
        return device

    async def _known(self, asked: Asked) -> Known:
        """Whom the URL names and proves."""
        secrets = self._core.machine_secrets
        if not asked.token:
            known = await secrets.unproven(asked.user_id, asked.guid)
        else:
            known = await secrets.by_token(asked.token)
        if asked.guid and (known.guid, known.user_id) != (asked.guid, asked.user_id):
            # With a token: whose it is asks for what is another's. Without: so does who it says.
            who = known.user_id if asked.token else asked.user_id
            kind = "user" if known.guid == asked.guid and asked.token else "device"
            self._refused(who, kind, asked.user_id if kind == "user" else asked.guid)
            raise Unauthorized("the device is another user's, or the token another device's")
        return known

    # --- After a restart --------------------------------------------------------------------------

    async def _load(self, machine: Machine, known: Known) -> AgpDevice:
        """A device that is seen for the first time since the start: what it was at."""
        core = self._core
        device = AgpDevice(
            core, machine, known, lambda kind, name: self._foreign(machine, kind, name)
        )
        open_turns = await core.turns.open_of(list(machine.logs))
        for turn in open_turns:
            device.restore(say(turn, []))
        # Only there a repeat could do harm: what is said of a turn that has ended is not taken.
        busy = list(dict.fromkeys(turn.session_id for turn in open_turns))
        for session_id in busy[: limits.AGP_LOADED_SESSIONS_MAX]:
            log, newest = machine.logs[session_id], limits.AGP_LOADED_EVENTS_MAX
            after = max(0, log.last_id - newest)
            if after == 0:
                device.recall_whole(session_id)
            for _, line in await core.log.read(log, after, newest):
                if (event := read_logged(line)) is not None:
                    device.recall(session_id, event)
                elif (said := events.look(line)) is not None and said.type == "user_message":
                    device.recall_whole(session_id, said.turn)
        return device

    async def _apps(self, machine: Machine) -> dict[str, str]:
        query = select(
            sessions.c.id,
            sessions.c.runtime_type,
            sessions.c.openclaw_config,
            sessions.c.agent_config["agent_app"].label("agent_app"),
        ).where(sessions.c.machine_id == machine.id, sessions.c.status == "active")
        async with self._core.store.read() as connection:
            rows = (await connection.execute(query)).all()
        apps = {
            row.id: agent_app_of(
                {"agent_app": row.agent_app},
                row.runtime_type,
                is_openclaw=row.openclaw_config is not None,
            )
            for row in rows
        }
        return {session_id: app for session_id, app in apps.items() if app is not None}

    # --- Lines ------------------------------------------------------------------------------------

    def attach(self, line: AgpLine) -> None:
        """A device is here. An older line of the same one is closed."""
        device, machines = line.device, self._core.machines
        machine = device.machine
        is_back = machine.state != "pending"
        self.lines.add(line)
        device.line = line
        # A session starts with its first prompt: none has to be started. But what a `Start` that
        # waits says of its session is still to be heard.
        unheard = {one.session_id for one in machine.outbox if isinstance(one, Start)}
        machine.running = set(machine.logs) - unheard
        machines.attach(machine, line, fresh=False)
        # What went out on an earlier line may go out again: it has the same id then.
        machine.turns_sent.clear()
        device.resumed()
        machines.delivery.resumed(machine, line)
        self._core.tasks.spawn(
            self._core.recovery.redeliver(machine, device.known_turns()), "agp prompts"
        )
        self.metrics.reconnections += is_back
        _log.info("device is here", machine=machine.id, guid=device.known.guid)

    def detach(self, line: AgpLine) -> None:
        self.lines.discard(line)
        if line.device.line is line:
            line.device.line = None
        self._core.machines.detach(line.device.machine, line)

    def sweep(self) -> None:
        now = asyncio.get_running_loop().time()
        for line in list(self.lines):
            if now - max(line.last_seen, line.last_told) > limits.AGP_IDLE_S:
                line.close(CloseCode.IDLE, "nothing was said for too long")
        for device in self._devices.values():
            try:
                device.sweep()
            except Exception:  # the others are not to suffer from it
                _log.exception("a device could not be looked after", machine=device.machine.id)

    def say_goodbye(self) -> None:
        for line in list(self.lines):
            line.close(CloseCode.GOING_AWAY, "the control plane is going down")

    # --- What is not a device's to name -----------------------------------------------------------

    def _foreign(self, machine: Machine, kind: str, name: str) -> None:
        """A device named what is not its own: not taken, and audited if it is somebody else's."""
        self.metrics.malformed += 1
        _log.warning("not this device's", machine=machine.id, kind=kind, name=name[:64])
        if name and self._lookups[machine.user_id] < limits.AGP_LOOKUPS_MAX:
            self._refused(machine.user_id, kind, name)
        elif name:
            # Too many to look at each: it is counted, so that none hides behind the others.
            who = Principal(machine.user_id, machine.org_id, "member")
            self._core.refusals.note(who, "agp", NotFound(kind, name))

    def _refused(self, user_id: str, kind: str, name: str) -> None:
        self._lookups[user_id] += 1
        self._core.tasks.spawn(self._note(user_id, kind, name), "agp refusal")

    async def _note(self, user_id: str, kind: str, name: str) -> None:
        try:
            owner = await self._owner(kind, name)
        finally:
            self._lookups[user_id] -= 1
            if not self._lookups[user_id]:
                del self._lookups[user_id]
        if owner in (None, user_id):
            return
        async with self._core.store.read() as connection:
            org_id = await connection.scalar(select(users.c.org_id).where(users.c.id == user_id))
        if org_id is not None:
            who = Principal(user_id, org_id, "member")
            self._core.refusals.note(who, "agp", NotFound(kind, name))

    async def _owner(self, kind: str, name: str) -> str | None:
        match kind:
            case "device":
                query = (
                    select(machines.c.user_id)
                    .join(machine_secrets, machine_secrets.c.machine_id == machines.c.id)
                    .where(machine_secrets.c.guid == name)
                )
            case "session":
                query = select(sessions.c.user_id).where(sessions.c.id == name)
            case "turn":
                query = (
                    select(sessions.c.user_id)
                    .join(turns, turns.c.session_id == sessions.c.id)
                    .where(turns.c.id == name)
                )
            case _:
                return name
        async with self._core.store.read() as connection:
            return await connection.scalar(query)

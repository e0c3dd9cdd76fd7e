"""What stands behind every AGP device's line: who it is, the device in memory, and the watch.

`AgpLine` turns frames into messages and calls here for everything that has to wait.
"""

import asyncio
from functools import partial

import structlog

from trunkline import limits
from trunkline.control.core import Core
from trunkline.control.door.door import refuse
from trunkline.control.door.head import AGP, Head
from trunkline.control.door.websocket import adopt
from trunkline.control.edges.agp.connection import WIRE, AgpLine
from trunkline.control.edges.agp.device import AgpDevice
from trunkline.control.edges.agp.handshake import FIELDS, Asked, check_url, read_query
from trunkline.control.edges.agp.records import AgpRecords
from trunkline.control.edges.agp.refusals import AgpRefusals
from trunkline.control.errors import TrunklineError, Unauthorized
from trunkline.control.machines.machine import LineEnd, Machine
from trunkline.control.machines.secrets import Known
from trunkline.control.machines.telling import ENDED
from trunkline.wire.agp.close_codes import CloseCode

_log = structlog.get_logger(__name__)

_RIVALS = (
    "two programs connect as this device (one guid) and replace each other: stop one of them, or"
    " make it known as a device of its own"
)


class AgpHost:
    path = AGP
    is_machines = True

    def __init__(self, core: Core) -> None:
        self._core = core
        self.rate_limit = core.settings.rate_limit_per_minute
        self.metrics = core.metrics
        self.clock = core.clock
        self.now = core.now
        self.line_unsent_max = core.tuning.line_unsent_bytes_max
        self.surprises = core.surprises
        self._lines: dict[str, AgpLine] = {}
        """Of the machines that are here."""
        self._waiting: dict[str, AgpLine] = {}
        """Newer ones, which take over when the older one's time is up."""
        self._devices: dict[str, AgpDevice] = {}
        """Those that are here, or were lately."""
        self._records = AgpRecords(core)
        self._refusals = AgpRefusals(core)

    def accept(self, transport: asyncio.Transport, head: Head) -> None:
        try:
            check_url(head.raw)
            asked = read_query(head.query, is_open=self._core.settings.open_agp)
        except TrunklineError as error:
            _log_refusal(head.query.get("guid", ""), error)
            refuse(transport, error)
            return
        transport.pause_reading()
        transport.set_protocol(asyncio.Protocol())
        self._core.tasks.spawn(self._admit(transport, head, asked), "agp handshake")

    async def _admit(self, transport: asyncio.Transport, head: Head, asked: Asked) -> None:
        """A refusal is the answer to the handshake: a WebSocket that is accepted and closed would
        make an app begin its waits anew."""
        try:
            line = AgpLine(self, await self._device(asked), self._core.machine_secrets.renewed)
            self._core.connections.known(transport)
        except Exception as error:
            if isinstance(error, TrunklineError):
                _log_refusal(asked.guid, error)
            refuse(transport, error)
            return
        self.surprises.saw_query(WIRE, head.query, FIELDS)
        if not transport.is_closing():
            transport.resume_reading()
            adopt(transport, head, line, limits.FRAME_BYTES_MAX)

    async def _device(self, asked: Asked) -> AgpDevice:
        secrets, renewed = self._core.machine_secrets, -1
        while renewed != secrets.renewed:  # else its token may have ended while it was looked at
            renewed = secrets.renewed
            known = await self._known(asked)
            machine = await self._core.machines.get(known.machine_id)
            device = self._devices.get(machine.id) or await self._load(machine, known)
            apps = await self._records.apps(machine)  # they may have changed while it was away
        if machine.core.state.status in ENDED:
            raise Unauthorized("this device was given up")
        # Nothing waits from here until the line is attached. Meanwhile another connection may have
        # loaded the device too, or the sweep may have let go of it.
        device = self._devices.setdefault(machine.id, device)
        device.known_as(known, apps)
        return device

    async def _known(self, asked: Asked) -> Known:
        """Whom the URL names and proves."""
        secrets = self._core.machine_secrets
        if not asked.token:
            known = await secrets.unproven(asked.user_id, asked.guid)
        else:
            known = await secrets.by_token(asked.token)
        named = asked.guid or known.guid, asked.user_id or known.user_id
        if named != (known.guid, known.user_id):
            # With a token: whose it is asks for what is another's. Without: so does who it says.
            who = known.user_id if asked.token else asked.user_id
            kind = "user" if known.guid == asked.guid and asked.token else "device"
            self._refusals.named(who, kind, asked.user_id if kind == "user" else asked.guid)
            raise Unauthorized("the device is another user's, or the token another device's")
        return known

    async def _load(self, machine: Machine, known: Known) -> AgpDevice:
        """A device that is seen for the first time since the start, or after a long while."""
        device = AgpDevice(self._core, machine, known, partial(self._refusals.foreign, machine))
        await self._records.fill(machine, device.talk)
        return device

    def attach(self, line: AgpLine) -> None:
        """A line is open. An older one of the same device is closed, though not always at once."""
        machine_id = line.device.machine.id
        older = self._lines.get(machine_id)
        if older is None or line.device.handover.comes(self.now()):
            self._take_over(line)
            return
        replaced = self._waiting.get(machine_id)
        self._waiting[machine_id] = line
        if replaced is not None:
            replaced.end(LineEnd.REPLACED)
        older.probe()
        self._tell_owner(line.device)

    def _tell_owner(self, device: AgpDevice) -> None:
        machine = device.machine
        if machine.detail is None:
            _log.warning(
                "two programs use one guid", machine=machine.id, guid=device.talk.state.guid
            )
            self._core.machines.look_at(machine, _RIVALS)

    def _hand_over(self, line: AgpLine) -> None:
        """To one that waited. What it had shown may not be good any more."""
        is_proven = line.proven_at == self._core.machine_secrets.renewed
        if is_proven and line.device.machine.core.state.status not in ENDED:
            self._take_over(line)
        else:
            line.close(CloseCode.REFUSED, "show your token again")

    def _take_over(self, line: AgpLine) -> None:
        """A device is here, and this is its line."""
        device, machines = line.device, self._core.machines
        machine = device.machine
        is_back = machine.core.state.status != "pending"
        waiting = self._waiting.pop(machine.id, line)
        if waiting is not line:
            waiting.end(LineEnd.REPLACED)
        self._lines[machine.id] = device.line = line
        device.handover.took_over(self.now())
        machines.attach(machine, line, fresh=False)
        device.line_up()
        self.metrics.reconnections += is_back
        _log.info("device is here", machine=machine.id, guid=device.talk.state.guid)

    def detach(self, line: AgpLine) -> None:
        machine = line.device.machine
        if self._waiting.get(machine.id) is line:
            del self._waiting[machine.id]
        if self._lines.get(machine.id) is line:
            del self._lines[machine.id]
        line.device.line_down(line)
        self._core.machines.detach(machine, line)
        newer = self._waiting.get(machine.id)
        if newer is not None and machine.id not in self._lines:
            self._hand_over(newer)

    def say_goodbye(self) -> None:
        for line in [*self._waiting.values(), *self._lines.values()]:
            line.close(CloseCode.GOING_AWAY, "the control plane is going down")

    def sweep(self) -> None:
        now = self._core.now()
        for line in list(self._lines.values()):
            if self._core.log.stalled is not None:
                line.last_seen = now  # it is we who do not listen
            if now - max(line.last_seen, line.last_told) > limits.AGP_IDLE_S:
                line.close(CloseCode.IDLE, "nothing was said for too long")
        for newer in list(self._waiting.values()):
            newer.pause(self._core.log.stalled is not None)
            older = self._lines[newer.device.machine.id]
            if newer.device.handover.is_due(now, older.last_seen):
                self._hand_over(newer)
        for device in list(self._devices.values()):
            if device.handover.calms(now):
                self._core.machines.look_at(device.machine, None)
            try:
                device.sweep()
            except Exception:  # the others are not to suffer from it
                _log.exception("a device could not be looked after", machine=device.machine.id)
            if self._is_long_gone(device):
                del self._devices[device.machine.id]

    def _is_long_gone(self, device: AgpDevice) -> bool:
        """It would be loaded again from the records as it is."""
        away_ms = self.clock() - device.machine.core.state.last_seen_ms
        is_away = device.line is None and away_ms > limits.AGP_FORGOTTEN_S * 1000
        return is_away and device.talk.is_idle


def _log_refusal(guid: str, error: TrunklineError) -> None:
    _log.warning(
        "device refused", guid=guid[: limits.GUID_CHARS_MAX], code=error.code, reason=error.message
    )

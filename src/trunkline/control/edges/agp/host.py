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
from trunkline.control.edges.agp.connection import AgpLine, RefusedLine
from trunkline.control.edges.agp.device import AgpDevice
from trunkline.control.edges.agp.handshake import Asked, check_url, read_query
from trunkline.control.edges.agp.records import AgpRecords
from trunkline.control.edges.agp.refusals import AgpRefusals
from trunkline.control.errors import Unauthorized
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.secrets import Known
from trunkline.control.machines.telling import ENDED
from trunkline.wire.agp.close_codes import CloseCode

_log = structlog.get_logger(__name__)


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
        self.lines: set[AgpLine] = set()
        self._devices: dict[str, AgpDevice] = {}
        """Those that are here, or were lately."""
        self._records = AgpRecords(core)
        self._refusals = AgpRefusals(core)

    def accept(self, transport: asyncio.Transport, head: Head) -> None:
        check_url(head.raw)
        asked = read_query(head.query, is_open=self._core.settings.open_agp)
        transport.pause_reading()
        transport.set_protocol(asyncio.Protocol())
        self._core.tasks.spawn(self._admit(transport, head, asked), "agp handshake")

    async def _admit(self, transport: asyncio.Transport, head: Head, asked: Asked) -> None:
        listener: AgpLine | RefusedLine
        try:
            listener = AgpLine(self, await self._device(asked))
            self._core.connections.known(transport)
        except Unauthorized as error:
            _log.warning("device refused", guid=asked.guid, reason=error.message)
            listener = RefusedLine("the token is not this device's")
        except Exception as error:
            refuse(transport, error)
            return
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
            apps = await self._records.apps(machine)  # they may have changed while it was away
        if machine.core.state in ENDED:
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
        if asked.guid and (known.guid, known.user_id) != (asked.guid, asked.user_id):
            # With a token: whose it is asks for what is another's. Without: so does who it says.
            who = known.user_id if asked.token else asked.user_id
            kind = "user" if known.guid == asked.guid and asked.token else "device"
            self._refusals.named(who, kind, asked.user_id if kind == "user" else asked.guid)
            raise Unauthorized("the device is another user's, or the token another device's")
        return known

    async def _load(self, machine: Machine, known: Known) -> AgpDevice:
        """A device that is seen for the first time since the start, or after a long while."""
        device = AgpDevice(self._core, machine, known, partial(self._refusals.foreign, machine))
        await self._records.fill(machine, device.state)
        return device

    def attach(self, line: AgpLine) -> None:
        """A device is here. An older line of the same one is closed."""
        device, machines = line.device, self._core.machines
        machine = device.machine
        is_back = machine.core.state != "pending"
        self.lines.add(line)
        device.line = line
        machines.attach(machine, line, fresh=False)
        device.line_up()
        self.metrics.reconnections += is_back
        _log.info("device is here", machine=machine.id, guid=device.state.guid)

    def detach(self, line: AgpLine) -> None:
        self.lines.discard(line)
        line.device.line_down(line)
        self._core.machines.detach(line.device.machine, line)

    def say_goodbye(self) -> None:
        for line in list(self.lines):
            line.close(CloseCode.GOING_AWAY, "the control plane is going down")

    def sweep(self) -> None:
        now = self._core.now()
        for line in list(self.lines):
            if self._core.log.is_stalled:
                line.last_seen = now  # it is we who do not listen
            if now - max(line.last_seen, line.last_told) > limits.AGP_IDLE_S:
                line.close(CloseCode.IDLE, "nothing was said for too long")
        for device in list(self._devices.values()):
            try:
                device.sweep()
            except Exception:  # the others are not to suffer from it
                _log.exception("a device could not be looked after", machine=device.machine.id)
            if self._is_long_gone(device):
                del self._devices[device.machine.id]

    def _is_long_gone(self, device: AgpDevice) -> bool:
        """It would be loaded again from the records as it is."""
        away_ms = self.clock() - device.machine.core.last_seen_ms
        is_away = device.line is None and away_ms > limits.AGP_FORGOTTEN_S * 1000
        return is_away and device.state.is_idle

"""What records and log say of an AGP device that is not in memory: what it was at, and its apps.

`AgpHost` asks when a device connects; nothing here is written.
"""

from typing import Any

from sqlalchemy import or_, select

from trunkline import limits
from trunkline.control.core import Core
from trunkline.control.log import events
from trunkline.control.machines.machine import Machine
from trunkline.control.store.schema import sessions
from trunkline.wire.agp.commands import agent_app_of
from trunkline.wire.agp.device import Device
from trunkline.wire.agp.inward import read_logged

_LOADED_SESSIONS_MAX = 100  # whose newest events are read for ids when a device first connects
_LOADED_EVENTS_MAX = 500  # of each of them
_APP = (
    sessions.c.runtime_type,
    sessions.c.openclaw_config,
    sessions.c.agent_config["agent_app"].label("agent_app"),
)


class AgpRecords:
    def __init__(self, core: Core) -> None:
        self._core = core

    async def fill(self, machine: Machine, device: Device) -> None:
        """Tells a device that is new in memory which turns it had."""
        states = {one: hosted.session for one, hosted in machine.core.state.sessions.items()}
        apps = await self.apps(machine)
        busy = []
        for session_id, state in states.items():
            if session_id not in machine.logs:
                continue  # it was closed or moved meanwhile
            for turn in list(state.turns.values())[:1]:
                if turn.is_told or turn.was_told:
                    device.restore(session_id, turn.id)
                    busy.append(session_id)
            for turn_id in state.late:
                device.restore_late(session_id, turn_id, apps.get(session_id))
        # Only there a repeat could do harm: what is said of a turn that has ended is not taken.
        for session_id in busy[:_LOADED_SESSIONS_MAX]:
            await self._recall(machine, device, session_id)

    async def apps(self, machine: Machine) -> dict[str, str]:
        """The apps that its sessions' agents ask for, where they ask for one."""
        query = select(sessions.c.id, *_APP).where(
            sessions.c.machine_id == machine.id,
            or_(sessions.c.status == "active", sessions.c.unsettled),
        )
        async with self._core.store.read() as connection:
            rows = (await connection.execute(query)).all()
        return {row.id: app for row in rows if (app := _app_of(row)) is not None}

    async def _recall(self, machine: Machine, device: Device, session_id: str) -> None:
        """The newest of what the device said in a session."""
        log = machine.logs.get(session_id)
        if log is None:
            return
        after = await self._core.log.place_before(log, _LOADED_EVENTS_MAX)
        if after == 0:
            device.at_work.recall_whole(session_id)
        async for page in self._core.log.pages(log, after, log.last_id):
            for _, line in page:
                if (event := read_logged(line)) is not None:
                    device.recall(session_id, event)
                elif (said := events.look(line)) is not None and said.type == "user_message":
                    device.at_work.recall_whole(session_id, said.turn)


def _app_of(row: Any) -> str | None:
    return agent_app_of(
        {"agent_app": row.agent_app},
        row.runtime_type,
        is_openclaw=row.openclaw_config is not None,
        chars_max=limits.AGENT_APP_CHARS_MAX,
    )

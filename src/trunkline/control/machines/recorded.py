"""What is recorded of machines, and how that follows what they are."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec
import structlog

from trunkline.control.machines.machine import Machine
from trunkline.control.machines.runtimes import Runtimes
from trunkline.control.tasks import Tasks

_log = structlog.get_logger(__name__)


class MachineRow(msgspec.Struct, frozen=True):
    """What is recorded of a machine that is not in memory."""

    id: str
    user_id: str
    org_id: str
    kind: str
    state: str
    last_seen_at: int | None
    runtimes: Runtimes = None
    is_draining: bool = False


class MachineNow(msgspec.Struct, frozen=True):
    """How a machine is; if it is online, what it can do and run, and what its owner should look
    at."""

    id: str
    state: str
    last_seen_ms: int
    capabilities: list[str] | None
    detail: str | None
    runtimes: Runtimes


class Rows(Protocol):
    """Where the records of machines are (`records/machines.py`)."""

    async def get(self, machine_id: str) -> MachineRow:
        """NotFound: there is no such machine."""

    async def by_guid(self, guid: str) -> str | None: ...

    async def save(self, states: Sequence[MachineNow]) -> None:
        """In one transaction."""


class KeptStates:
    """Saves how machines are: soon after each change, with all others that are different by then.
    After a restart they all come back at once."""

    def __init__(self, rows: Rows, tasks: Tasks) -> None:
        self._rows = rows
        self._tasks = tasks
        self._changed: dict[str, Machine] = {}
        self._is_saving = False

    def changed(self, machine: Machine) -> None:
        self._changed[machine.id] = machine
        if not self._is_saving:
            self._is_saving = True
            self._tasks.spawn(self._save_changed(), "states of machines")

    async def _save_changed(self) -> None:
        try:
            while self._changed:
                changed, self._changed = list(self._changed.values()), {}
                try:
                    await self.save(changed)
                except Exception:  # all that are online are saved again within a minute
                    _log.exception("the states of machines cannot be saved")
        finally:
            self._is_saving = False

    async def save(self, machines: Iterable[Machine]) -> None:
        if states := [_now(machine) for machine in machines]:
            await self._rows.save(states)


def _now(machine: Machine) -> MachineNow:
    line, core = machine.line, machine.core
    capabilities = None if line is None else sorted(line.capabilities)
    says = capabilities, machine.detail, machine.runtimes
    return MachineNow(machine.id, core.state.status, core.state.last_seen_ms, *says)

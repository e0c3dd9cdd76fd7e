"""One machine's live side: its line, the logs of its sessions, and the core that decides for it."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Protocol

from trunkline.control.clock import Clock
from trunkline.control.log.session_log import SessionLog
from trunkline.control.machines.core import MachineCore
from trunkline.control.machines.runtimes import Runtimes
from trunkline.control.machines.tap import Tap
from trunkline.control.machines.traits import Traits
from trunkline.wire.commands import Command


class LineEnd(Enum):
    """Why the control plane takes a machine's line away; each wire has a close code for it."""

    REVOKED = "the token was revoked"
    RENEWED = "there is a new token"
    TERMINATED = "this machine was given up"
    REPLACED = "replaced by a newer line of the same machine"
    STOPPED = "the machine's process has ended"


class Line(Protocol):
    """A machine's connection, as its edge offers it. No method waits."""

    capabilities: frozenset[str]
    """For people: what the machine says that it can do."""

    @property
    def traits(self) -> Traits: ...

    def deliver(self, command: Command) -> None: ...

    def acknowledge(self, acked: dict[str, int]) -> None: ...

    def pause(self, paused: bool) -> None: ...

    def end(self, why: LineEnd) -> None: ...


class Runs(Protocol):
    """The shell around the core (`machines/shell.py`)."""

    def tell_time(self) -> None: ...

    def run(self, machine: "Machine") -> None: ...


class Machine:
    """One machine, whether its line is up or not. Written by `Machines` and its shell only."""

    def __init__(
        self,
        machine_id: str,
        user_id: str,
        org_id: str,
        kind: str,
        core: MachineCore,
        shell: "Runs",
    ) -> None:
        self.id = machine_id
        self.user_id = user_id
        self.org_id = org_id
        self.kind = kind
        """For people: what it can do is said by its traits."""
        self.core = core
        self.line: Line | None = None
        self.logs: dict[str, SessionLog] = {}
        """Its sessions: an event for any other session is refused."""
        self.health: dict[str, object] = {}
        self.runtimes: Runtimes = None
        """What it has said that it can run, also before this process's start."""
        self.is_draining = False
        """It is given no new sessions; those that it has stay."""
        self.detail: str | None = None
        """What its owner should look at."""
        self.acks: dict[str, int] = {}
        """What was committed and is not acknowledged yet."""
        self.tap: Tap | None = None
        """There while somebody wants to see every message of its line."""
        self._changed: asyncio.Event | None = None
        """There while somebody waits for a change of the line."""
        self._shell = shell

    def open_tap(self, clock: Clock) -> Tap:
        """The one that is there, or a new one."""
        if self.tap is None:
            self.tap = Tap(clock)
        return self.tap

    def close_tap(self) -> None:
        self.tap = None

    # Its line and the logs of its sessions: nobody else says to these whom they report to

    def connect(self, line: Line | None) -> None:
        """None: it has no line any more."""
        self.line = line
        self.acks.clear()
        for log in self.logs.values():
            log.on_safe = self._on_safe

    def take(self, log: SessionLog) -> None:
        """The session is its own from now on."""
        self.logs[log.session_id] = log
        log.on_safe = self._on_safe

    def let_go(self, session_id: str) -> None:
        log = self.logs.pop(session_id)
        log.on_safe, log.is_awaited = None, False

    def look(self, session_id: str) -> None:
        """Whether the session's next event is to be reported as `spoke` may have changed."""
        self.logs[session_id].is_awaited = self.core.awaits(session_id)

    def spoke(self, session_id: str) -> None:
        """An event of a session that `is_awaited`."""
        with self.input() as core:
            core.spoke(session_id)
        self.look(session_id)

    @property
    def _on_safe(self) -> Callable[[str, int], None] | None:
        """Told what is committed, for a machine that numbers."""
        numbers = self.line is not None and self.line.traits.numbers
        return self._safe if numbers else None

    def _safe(self, session_id: str, seq: int) -> None:
        """Gathers what one commit made safe into one message."""
        if not self.acks:
            asyncio.get_running_loop().call_soon(self._send_acks)
        self.acks[session_id] = seq

    def _send_acks(self) -> None:
        acked, self.acks = self.acks, {}
        if self.line is not None and acked:
            self.line.acknowledge(acked)

    async def change(self) -> None:
        """Returns at the next change of its line, or of what it says of itself."""
        if self._changed is None:
            self._changed = asyncio.Event()
        await self._changed.wait()

    def has_changed(self) -> None:
        changed, self._changed = self._changed, None
        if changed is not None:
            changed.set()

    @contextmanager
    def input(self) -> Iterator[MachineCore]:
        """The core, to be told a fact; what it wants done is done on the way out."""
        self._shell.tell_time()
        try:
            yield self.core
        finally:
            self._shell.run(self)

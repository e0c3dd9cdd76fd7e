"""One machine's live side: its line, its sessions, what waits for it. Kept by `Machines`."""

import asyncio
from typing import Protocol

from trunkline.control.log.log import SessionLog
from trunkline.control.machines.commands import Command
from trunkline.control.machines.outbox import Outbox
from trunkline.control.sessions.ends import Ends


class Line(Protocol):
    """A machine's connection, as its edge offers it. No method waits."""

    capabilities: frozenset[str]

    def deliver(self, command: Command) -> None: ...

    def withdraw(self, turn_id: str) -> bool:
        """Takes back a message that was delivered and not yet sent."""

    def acknowledge(self, acked: dict[str, int]) -> None: ...

    def pause(self, paused: bool) -> None: ...

    def close(self, code: int, reason: str) -> None: ...


class Machine:
    """One machine, whether its line is up or not."""

    def __init__(self, machine_id: str, user_id: str, org_id: str, kind: str) -> None:
        self.id = machine_id
        self.user_id = user_id
        self.org_id = org_id
        self.kind = kind
        self.state = "pending"
        self.last_seen_ms = 0
        self.awaited_since_ms = 0
        """Since when somebody waits for it that never came; 0: nobody does."""
        self.line: Line | None = None
        self.logs: dict[str, SessionLog] = {}
        """Its sessions: an event for any other session is refused."""
        self.running: set[str] | None = None
        """The sessions that run there; None until that is known."""
        self.starting: dict[str, float] = {}
        """Sessions that were told to start, with the loop time by which they must show."""
        self.carried: set[str] = set()
        """Those of them that an earlier line was told of: perhaps the machine never heard it."""
        self.stopping: set[str] = set()
        """Sessions that were told to stop: their last words are still taken."""
        self.lists_sessions = False
        self.health: dict[str, object] = {}
        self.outbox = Outbox()
        self.turns_sent: set[str] = set()
        """The turns that went out on the present line."""
        self.turns_unrecorded: set[str] = set()
        """Those of them whose record does not say so yet."""
        self.turns_unheard: dict[str, tuple[str, int | None]] = {}
        """Those that nothing came after yet, where the machine counts: their session, and its
        number when they went out."""
        self.turns_kept: frozenset[str] = frozenset()
        """The turns that it named in `resume`, until it has listed the sessions that it runs."""
        self.ends = Ends()
        self.is_held = False
        """Nothing is sent before the machine has said `resume`."""
        self.acks: dict[str, int] = {}
        self.pump: asyncio.Task[None] | None = None
        self.changed = asyncio.Event()
        """Set and replaced at each change of the line."""

"""How a group's log is written: each event under its turn and its person."""

import asyncio
from collections.abc import Callable
from typing import Any

from trunkline.control.groups.copying import Json, line_of
from trunkline.control.groups.parts import Parts
from trunkline.control.groups.round import Ask, Round
from trunkline.control.log.log import SessionLog
from trunkline.control.machines.machine import Machine


class LogWriter:
    """Of one conversation. All that is written in one go is committed in one go."""

    def __init__(self, parts: Parts, machine: Machine, log: SessionLog) -> None:
        self._parts = parts
        self._machine = machine
        self._log = log

    def write(self, round_: Round, event: Json, ask: Ask | None = None) -> bool:
        """False: the turn was ended from elsewhere, and has nothing more to say."""
        if self._machine.core.has_ended(self._log.session_id, round_.turn_id):
            return False
        event["turn_id"] = round_.turn_id
        event.setdefault("ts", self._parts.clock())
        if ask is not None:
            event["person"] = ask.person
        round_.apply(event)
        self._parts.machines.write(self._machine, self._log, line_of(event))
        return True

    def note(self, round_: Round, text: str, **group: Any) -> None:
        """Something that people should know of the group itself."""
        note: Json = {"type": "thinking", "stage": "group", "content": text}
        self.write(round_, {**note, "group": group} if group else note)

    def after_commit(self, then: Callable[[], None]) -> None:
        """Calls back when all that was written is on disk."""
        loop = asyncio.get_running_loop()

        def committed(_at: int) -> None:
            loop.call_soon(then)

        self._parts.log.after_commit(self._log, committed)

"""Deliberate faults in what is lost and held, in what a machine is set to, in stalls and closes."""

from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from tests.simulation.faults import Fault, listed
from trunkline.control.edges.semibot import numbers
from trunkline.control.errors import Unavailable
from trunkline.control.log.session_log import SessionLog
from trunkline.control.machines.core import MachineCore
from trunkline.control.machines.machine import Line, Machine
from trunkline.control.machines.machines import Machines
from trunkline.control.machines.state import Hosted, Place
from trunkline.control.machines.telling import Telling, rules_name
from trunkline.control.sessions import notes, saying, sessions
from trunkline.control.sessions.ruling import Ruling
from trunkline.execution.ws import events as machine_events
from trunkline.wire.commands import Configure, Say

FAULTS: dict[str, Fault] = {}
fault = listed(FAULTS)


# What is lost


@fault("a machine that skips numbers is believed to have said nothing in between")
def _() -> Any:
    def is_new(log: SessionLog, seq: int, lost: numbers.Lost) -> bool:
        return numbers.is_new(log, seq, lambda *_: None)

    return patch("tests.simulation.edges.is_new", is_new)


@fault("a gap is told with the number behind it")
def _() -> Any:
    def told_of(known: int, seq: int, now_ms: int) -> str:
        return numbers.told_of(known, seq + 1, now_ms)

    return patch("tests.simulation.edges.told_of", told_of)


@fault("a full outbox drops what a turn has taken")
def _() -> Any:
    return patch.object(machine_events, "_KEPT", machine_events._KEPT - {"steer_taken"})


# What is held


@fault("what waits for a machine that is away has no bound")
def _() -> Any:
    def check_room(self: Telling, size: int = 0) -> None:
        if not self.is_expected:
            raise Unavailable("the machine of this session is offline", code="MACHINE_OFFLINE")

    return patch.object(Telling, "check_room", check_room)


@fault("there is room for what fills it already")
def _() -> Any:
    real = Telling.check_room

    def check_room(self: Telling, size: int = 0) -> None:
        real(self)

    return patch.object(Telling, "check_room", check_room)


@fault("a message that there is no room for is said, and then refused")
def _() -> Any:
    real = saying.said

    def said(core: MachineCore, session: Any, say: Say, who: Any, new: Any) -> tuple[str, bool]:
        with patch.object(MachineCore, "check_room", lambda self, size=0: None):
            turn = real(core, session, say, who, new)
        core.check_room()
        return turn

    return patch.object(sessions, "said", said)


@fault("what waits for a device that never came takes up its room for ever")
def _() -> Any:
    real = MachineCore._watch_absence

    def watch(self: MachineCore) -> None:
        if self.state.status != "pending" or self._is_awaited():
            real(self)

    return patch.object(MachineCore, "_watch_absence", watch)


# What a machine is set to


@fault("a machine that returns is not told the rules again")
def _() -> Any:
    return patch.object(Ruling, "returned", lambda self, machine: None)


@fault("rules that were read first are told last")
def _() -> Any:
    async def tell(self: Ruling, machine: Machine, session_id: str) -> None:
        held = await self._rules.of_session(session_id)
        with machine.input() as core:
            core.rule(session_id, [one.told for one in held])

    return patch.object(Ruling, "_tell_session", tell)


@fault("the first of several rules that wait is the one that is told")
def _() -> Any:
    real = MachineCore.rule

    def rule(self: MachineCore, session_id: str, rules: Any) -> None:
        one = self.state.sessions.get(session_id)
        if one is None or rules_name(session_id) not in one.waiting:
            real(self, session_id, rules)

    return patch.object(MachineCore, "rule", rule)


@fault("a change of a session that was not started yet is forgotten")
def _() -> Any:
    real = Telling._hold

    def hold(self: Telling, one: Hosted, name: str, command: Say | Configure) -> None:
        if isinstance(command, Say) or one.place is Place.RUNNING or not self.state.is_up:
            real(self, one, name, command)

    return patch.object(Telling, "_hold", hold)


@fault("a change for a machine that is away is not held")
def _() -> Any:
    real = MachineCore.configure

    def configure(self: MachineCore, *what: Any) -> None:
        if self.state.is_up:
            real(self, *what)

    return patch.object(MachineCore, "configure", configure)


# Stalls


@fault("machines are read while the log stalls")
def _() -> Any:
    return patch.object(Machines, "_pause_all", lambda self, cause: None)


@fault("a machine that was paused is not read again")
def _() -> Any:
    real = Machines._pause_all

    def pause_all(self: Machines, cause: str | None) -> None:
        if cause is not None:
            real(self, cause)

    return patch.object(Machines, "_pause_all", pause_all)


@fault("a machine that comes while the log stalls is read")
def _() -> Any:
    real = Machines.attach

    def attach(self: Machines, machine: Machine, line: Line, *, fresh: bool) -> None:
        real(self, machine, line, fresh=fresh)
        if self._log.stalled is not None:
            line.pause(False)

    return patch.object(Machines, "attach", attach)


# Closes


@fault("a closed session counts as stopped before its machine was told")
def _() -> AbstractContextManager[Any]:
    real = Telling._stop

    def stop(self: Telling, one: Hosted) -> None:
        if one.place is not Place.STOPPING:
            self._session(one).note(notes.Stopped())
        real(self, one)

    return patch.object(Telling, "_stop", stop)

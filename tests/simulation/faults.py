"""Deliberate faults: each a small patch of behaviour that the simulation has to find.

The first six are losses that were once seen with `kill -9` of a real control plane.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch

import msgspec

from tests.simulation.stores import Records
from trunkline.control.log.log import Log
from trunkline.control.log.session_log import Batch, SessionLog
from trunkline.control.log.store import Segment
from trunkline.control.machines import traits
from trunkline.control.machines.core import MachineCore
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.shell import Shell
from trunkline.control.machines.state import Hosted
from trunkline.control.sessions import notes
from trunkline.control.sessions import state as states
from trunkline.control.sessions.core import SessionCore
from trunkline.control.sessions.projection import Position, Projection, Step
from trunkline.control.sessions.state import SessionState
from trunkline.wire.agp.device import Device
from trunkline.wire.commands import Command, Say
from trunkline.wire.yeaft.agent_talk import AgentTalk
from trunkline.wire.yeaft.inward_state import Inward

Fault = Callable[[], AbstractContextManager[Any]]
FAULTS: dict[str, Fault] = {}


def listed(faults: dict[str, Fault]) -> Callable[[str], Callable[[Callable[[], Any]], None]]:
    """Puts what it decorates onto that list, under its name."""

    def fault(name: str) -> Callable[[Callable[[], Any]], None]:
        def add(make: Callable[[], Any]) -> None:
            faults[name] = make

        return add

    return fault


fault = listed(FAULTS)


def _no_notes(*kinds: type) -> AbstractContextManager[Any]:
    """These notes are believed, and not written down."""
    real = SessionCore.note

    def note(self: SessionCore, one: notes.Note) -> None:
        if isinstance(one, kinds):
            states.fold_note(self.state, one)
        else:
            real(self, one)

    return patch.object(SessionCore, "note", note)


@fault("a terminal event that names another turn ends the oldest one")
def _() -> Any:
    def ended_by(self: SessionState, name: str | None) -> str | None:
        return next(iter(self.turns), None)

    return patch.object(SessionState, "ended_by", ended_by)


@fault("a message is accepted before it is committed")
def _() -> Any:
    async def committed(self: Log, session: SessionLog) -> None:
        return None

    return patch.object(Log, "committed", committed)


@fault("a command goes out before what it follows from is committed")
def _() -> Any:
    def send(self: Shell, machine: Machine, command: Command) -> None:
        if machine.line is not None:
            self._deliver(machine, machine.line, command, 0)

    return patch.object(Shell, "_send", send)


@fault("a close ends the session first and its turns later")
def _() -> Any:
    def close(self: SessionCore, reason: str, **shown: Any) -> None:
        if not self.state.is_closed:
            self._make("session_closed", reason=reason, **shown)

    return patch.object(SessionCore, "close", close)


@fault("that a machine was told is not written down")
def _() -> Any:
    return _no_notes(notes.Told)


@fault("a closed session stays in memory")
def _() -> Any:
    def release(self: MachineCore, session_id: str) -> SessionState | None:
        one = self.state.sessions.get(session_id)
        return one.session if one is not None else None

    return patch.object(MachineCore, "release", release)


@fault("readers are shown what is not committed")
def _() -> Any:
    real = Log.append

    def append(self: Log, session: SessionLog, line: str) -> None:
        real(self, session, line)
        for reader in session.readers:
            reader.deliver(Batch(session.tail_id + len(session.pending), [line]))

    return patch.object(Log, "append", append)


@fault("an event is acknowledged before it is committed")
def _() -> Any:
    real = Log.append

    def append(self: Log, session: SessionLog, line: str) -> None:
        real(self, session, line)
        if session.on_safe is not None and session.machine_seq is not None:
            session.on_safe(session.session_id, session.machine_seq)

    return patch.object(Log, "append", append)


@fault("notes are not committed with their events")
def _() -> Any:
    real = SessionLog.segment

    def segment(self: SessionLog, at: int) -> Segment:
        return msgspec.structs.replace(real(self, at), notes=[])

    return patch.object(SessionLog, "segment", segment)


@fault("records are written without their position")
def _() -> Any:
    real = Projection.add

    def add(self: Projection, step: Step) -> None:
        behind = Position(max(0, step.position.event_id - 1), step.position.note)
        real(self, Step(step.session_id, behind, step.at, step.changes, step.state))

    return patch.object(Projection, "add", add)


@fault("records catch up with events only, not with notes")
def _() -> Any:
    real = states.fold

    def fold(state: SessionState, text: str, *, is_note: bool) -> list[states.Change]:
        return [] if is_note else real(state, text, is_note=is_note)

    return patch("trunkline.control.sessions.projection.fold", fold)


@fault("records do not catch up at a start")
def _() -> Any:
    async def catch_up(
        self: Projection, session_id: str, state: SessionState, position: Position
    ) -> None:
        return None

    return patch.object(Projection, "_catch_up", catch_up)


@fault("a machine that says what it has is not told the rest again")
def _() -> Any:
    return patch.object(MachineCore, "_tell_again", lambda self, one, turn: None)


@fault("a machine is told again of what it has")
def _() -> Any:
    real = MachineCore.resumed

    def resumed(self: MachineCore, turns: list[str] | None = None) -> None:
        real(self, [] if turns is None else turns)

    return patch.object(MachineCore, "resumed", resumed)


@fault("a question outlives its turn")
def _() -> Any:
    return patch.object(SessionCore, "_drop_questions", lambda self, turns: None)


@fault("a question takes two answers")
def _() -> Any:
    def answer(
        self: SessionCore,
        request_id: str,
        confirmed: bool,
        answer: Any,
        by: Any,
        shown: Any,
        **meant: Any,
    ) -> bool:
        if request_id not in self.state.questions:
            return False
        self._make("approval_resolved", request_id=request_id, confirmed=confirmed, **shown)
        self.note(notes.Answered(request_id, answer, by, **meant))
        return True

    return patch.object(SessionCore, "answer", answer)


@fault("answers beyond the newest few are forgotten while their machine is away")
def _() -> Any:
    return patch.object(states, "_ANSWERS_KEPT", 3)


@fault("only the newest of many answers is told to a machine that was away")
def _() -> Any:
    real = MachineCore._answers
    return patch.object(MachineCore, "_answers", lambda self, one: real(self, one)[-1:])


@fault("a message that is said again opens another turn")
def _() -> Any:
    @contextmanager
    def patched() -> Iterator[None]:
        async def named(self: Records, session_id: str, client_id: str) -> None:
            return None

        with patch.object(Records, "named", named), patch.object(states, "_NAMES_KEPT", 0):
            yield

    return patched()


@fault("what was said to a turn that ended without it is forgotten")
def _() -> Any:
    return patch.object(SessionCore, "open_missed", lambda self: None)


@fault("what was said to a turn is written down after it was sent")
def _() -> Any:
    real = SessionCore.steer

    def steer(self: SessionCore, message_id: str, turn_id: str, shown: Any, metadata: Any) -> None:
        self.state.steers[message_id] = states.Steer(turn_id)
        real(self, message_id, turn_id, shown, metadata)

    return patch.object(SessionCore, "steer", steer)


@fault("what a turn has taken becomes a turn of its own as well")
def _() -> Any:
    return patch.object(states, "_taken", lambda state, message_ids, is_taken: [])


@fault("a turn that begins anew does not get what was said to it")
def _() -> Any:
    real = states._taken

    def taken(state: SessionState, ids: list[str], *, is_taken: bool) -> list[states.Change]:
        return real(state, ids, is_taken=True) if is_taken else []

    return patch.object(states, "_taken", taken)


@fault("what was said to a turn outlives its cancel")
def _() -> Any:
    return _no_notes(notes.Unsteered)


@fault("nobody notices that a machine never comes")
def _() -> Any:
    return patch.object(MachineCore, "_watch_absence", lambda self: None)


@fault("a turn that a line break swallowed is waited for")
def _() -> Any:
    real = MachineCore._overdue

    def overdue(self: MachineCore, one: Hosted, now: float) -> None:
        one.silence_s = None
        real(self, one, now)

    return patch.object(MachineCore, "_overdue", overdue)


@fault("a session is believed to run on a machine that has forgotten it")
def _() -> Any:
    return _no_notes(notes.Absent)


@fault("a start that went into a broken line is believed to have arrived")
def _() -> Any:
    return patch.object(MachineCore, "_watch_doubtful", lambda self, one: None)


@fault("a machine of one turn at a time is given two")
def _() -> Any:
    @contextmanager
    def patched() -> Iterator[None]:

        kinds = {
            name: msgspec.structs.replace(one, one_turn=False) for name, one in traits.KINDS.items()
        }
        with patch.dict(traits.KINDS, kinds):
            yield

    return patched()


@fault("a late terminal event ends the next turn")
def _() -> Any:
    return patch.object(SessionCore, "_late", lambda self, name: None)


@fault("a session that moves is kept where it was")
def _() -> Any:
    return _no_notes(notes.Moved)


@fault("a machine that lists nothing is told once that a session was moved away")
def _() -> Any:
    async def departed(self: Shell, machine: Machine) -> None:
        return None

    return patch.object(Shell, "_departed", departed)


@fault("a machine is told what a queued turn says before its place in the queue")
def _() -> Any:
    real = MachineCore._send_pending

    def send_pending(self: MachineCore, one: Hosted) -> None:
        one.waiting = dict(reversed(one.waiting.items()))
        real(self, one)

    return patch.object(MachineCore, "_send_pending", send_pending)


@fault("a turn is dropped when its machine is not there")
def _() -> Any:
    real = MachineCore.say

    def say(self: MachineCore, say: Any, shown: Any) -> None:
        if self.state.is_up:
            real(self, say, shown)

    return patch.object(MachineCore, "say", say)


@fault("an agent that lists late is told again what it has")
def _() -> Any:
    real = AgentTalk._is_lost

    def is_lost(self: AgentTalk, say: Say) -> bool:
        is_lost = real(self, say)
        since_s = self.conversation(say.session_id).silent_s
        if self.state.returned and since_s is not None and self.state.now_s - since_s >= 2.0:
            self._resume()
        return is_lost

    return patch.object(AgentTalk, "_is_lost", is_lost)


@fault("a device that has lost its turn is waited for")
def _() -> Any:
    return patch.object(Device, "_is_lost", lambda self, session_id, turn_id, now_s: False)


@fault("a device that lost its answer with its line is waited for like one that works in silence")
def _() -> Any:
    return patch.object(Device, "_patience_s", lambda self, turn_id: self._bounds.silence_s)


@fault("an agent that has lost its turn is waited for")
def _() -> Any:
    return patch.object(AgentTalk, "_is_lost", lambda self, say: False)


@fault("an end that an agent keeps to itself is waited for")
def _() -> Any:
    return patch.object(Inward, "program_done", lambda self: None)

"""What a machine is told next: it follows from the states of its sessions. No I/O.

A message waits as a queued turn, an answer as an answered question; nothing that is to be sent is
kept anywhere else. `MachineCore` brings the inputs.
"""

from collections.abc import Container

import msgspec

from trunkline import limits
from trunkline.control.errors import LimitReached, Unavailable
from trunkline.control.machines.actions import (
    Action,
    Fetch,
    Load,
    Released,
    Send,
    Time,
)
from trunkline.control.machines.state import Hosted, MachineState, Place
from trunkline.control.sessions import notes
from trunkline.control.sessions.core import RESTARTED, SessionCore
from trunkline.control.sessions.state import SessionState
from trunkline.wire.commands import (
    Answer,
    Cancel,
    Configure,
    Say,
    Start,
    Steer,
    Stop,
    size_of,
)

_STOP_GRACE_S = 30.0  # for what a session still says, on a machine that lists none

SILENCE_S = 600.0  # for the next word of a session whose turns saw a line break

ENDED = ("failed", "terminated")


def rules_name(session_id: str) -> str:
    """Of the newest rules that wait for a session: those of before are of no use."""
    return f"rules {session_id}"


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """How much may wait for one machine."""

    messages_max: int = limits.HELD_MESSAGES_MAX
    """While it is away."""
    bytes_max: int = limits.HELD_BYTES_MAX
    forwards_max: int = limits.HELD_FORWARDS_MAX


class Telling:
    """What a machine is told because of its state."""

    def __init__(
        self,
        state: MachineState,
        time: Time,
        *,
        away_s: float,
        start_timeout_s: float = limits.SESSION_START_TIMEOUT_S,
        room: Room | None = None,
    ) -> None:
        self.state = state
        self.out: list[Action] = []
        self._time = time
        self._away_ms = int(away_s * 1000)
        self._start_timeout_s = start_timeout_s
        self.room = room or Room()

    def _session(self, one: Hosted) -> SessionCore:
        """What decides for the session itself."""
        return SessionCore(one.id, one.session, self.out, self._time)

    @property
    def is_expected(self) -> bool:
        """Whether it is worth holding a message for it."""
        if self.state.is_up:
            return True
        if self.state.status in ENDED:
            return False
        if self.state.status == "pending":
            since = self.state.awaited_since_ms
            return not since or self._time.ms - since < self._away_ms
        return self._time.ms - self.state.last_seen_ms < self._away_ms

    def check_room(self, size: int = 0) -> None:
        """Raises unless one more message, of that size, can be delivered or held."""
        if not self.is_expected:
            raise Unavailable("the machine of this session is offline", code="MACHINE_OFFLINE")
        if self.held_bytes + size > self.room.bytes_max:
            raise LimitReached("too much waits for this machine", code="MACHINE_BUSY")
        if not self.state.is_up and self.held_count >= self.room.messages_max:
            raise LimitReached("too many messages wait for this machine", code="MACHINE_BUSY")

    @property
    def held_count(self) -> int:
        return len(self.state.sizes) + len(self.state.forwards)

    @property
    def held_bytes(self) -> int:
        return sum(self.state.sizes.values()) + sum(map(size_of, self.state.forwards))

    def is_busy(self, session_id: str) -> bool:
        """Whether the machine has a turn of that session that is not ended."""
        one = self.state.sessions.get(session_id)
        return one is not None and bool(one.session.told)

    def is_working(self, session_id: str) -> bool:
        """Whether a turn of that session is open, wherever it waits."""
        one = self.state.sessions.get(session_id)
        return one is not None and bool(one.session.turns)

    def has_ended(self, session_id: str, turn_id: str) -> bool:
        one = self.state.sessions.get(session_id)
        return one is None or turn_id not in one.session.turns

    def is_unsaid(self, session_id: str, message_id: str) -> bool:
        """Whether a message waits to be told to the machine, as a turn or to one."""
        one = self.state.sessions.get(session_id)
        if one is None:
            return False
        return message_id in one.session.turns or message_id in one.session.steers

    def is_past(self, session_id: str, turn_id: str) -> bool:
        """Whether the turn was one of the session's, and is over."""
        one = self.state.sessions.get(session_id)
        return one is not None and turn_id in one.session.ended

    def open_turns(self, session_id: str) -> Container[str] | None:
        """Those without an end, as they change; None if the session is not this machine's."""
        one = self.state.sessions.get(session_id)
        return one.session.turns if one is not None else None

    def late_turns(self, session_id: str) -> list[str]:
        """Those that were ended here, and that the machine may yet end."""
        one = self.state.sessions.get(session_id)
        return list(one.session.late) if one is not None else []

    def open_sessions(self) -> list[str]:
        return [one for one, hosted in self.state.sessions.items() if not hosted.session.is_closed]

    def release(self, session_id: str) -> SessionState | None:
        """The session is none of this machine's any more."""
        one = self.state.sessions.pop(session_id, None)
        if one is None:
            return None
        self.state.timed.pop(session_id, None)
        for name in (*one.waiting, *one.steering):
            self.state.sizes.pop(name, None)
        self.out.append(Released(session_id))
        return one.session

    def _settle(self, one: Hosted) -> None:
        """A closed session does not run there, or will not for long."""
        self._session(one).note(notes.Stopped())
        self.release(one.id)

    def _hold(self, one: Hosted, name: str, command: Say | Configure) -> None:
        one.waiting[name] = command
        self.state.sizes[name] = size_of(command)

    def _unhold(self, one: Hosted, name: str) -> Say | Configure | None:
        self.state.sizes.pop(name, None)
        return one.waiting.pop(name, None)

    def _hold_steer(self, one: Hosted, say: Say) -> None:
        one.steering[say.turn_id] = say
        self.state.sizes[say.turn_id] = size_of(say)

    def _put(self, one: Hosted, place: Place) -> None:
        one.place, one.is_carried, one.deadline_s = place, False, None

    def _advance_all(self) -> None:
        for one in list(self.state.sessions.values()):
            self._advance(one)

    def _advance(self, one: Hosted) -> None:
        """Sends what is pending for a session, starting it there first if need be."""
        self._session(one).open_missed()
        turns = one.session.turns
        if not one.session.told:
            one.silence_s = None
        one.told.intersection_update(turns)
        one.cancelled.intersection_update(turns)
        one.answered.intersection_update(one.session.questions)
        for name, command in list(one.waiting.items()):
            if isinstance(command, Say) and name not in turns:
                self._unhold(one, name)
        self._forget_steers(one)
        is_absent = one.place is Place.ABSENT and not one.is_fetching
        if is_absent or not (self.state.is_up and self.state.traits.rules):
            self._unhold(one, rules_name(one.id))  # it starts with them, or returns to them
        if not self.state.is_up or self.state.is_held:
            return
        if one.session.is_closed:
            self._stop(one)
        elif not self.state.traits.starts:
            if one.is_wanted:
                self._fetch(one)
            else:
                self._send_pending(one)
        elif one.place is Place.RUNNING or (
            one.place is Place.STARTING and not (one.is_carried and self.state.traits.numbers)
        ):
            self._send_pending(one)
        elif one.place is Place.ABSENT and (one.is_wanted or self._has_pending(one)):
            if not self.state.traits.numbers:
                self._session(one).end_told(*RESTARTED)
            self._fetch(one)

    def _forget_steers(self, one: Hosted) -> None:
        """Those that were taken, or dropped; one that has become a turn is told as such."""
        steers = one.session.unsteered
        one.steered.intersection_update(steers)
        for name in [key for key in one.steering if key not in steers]:
            say = one.steering.pop(name)
            if name in one.session.turns:
                one.waiting[name] = say
            else:
                self.state.sizes.pop(name, None)

    def _has_pending(self, one: Hosted) -> bool:
        return bool(one.session.queued or one.waiting or self._answers(one))

    def _answers(self, one: Hosted) -> list[str]:
        """The questions that were answered here and whose answer did not go out on this line."""
        questions = one.session.questions.items()
        return [name for name, q in questions if q.is_from_here and name not in one.answered]

    def _fetch(self, one: Hosted) -> None:
        if not one.is_fetching:
            one.is_fetching = True
            self.out.append(Fetch(one.id))

    def _stop(self, one: Hosted) -> None:
        if one.place is not Place.STOPPING:
            self._put(one, Place.STOPPING)
            one.deadline_s = self._time.s + _STOP_GRACE_S
            self.state.timed[one.id] = None
            self.out.append(Send(Stop(one.id, one.stop_reason)))

    def _send_pending(self, one: Hosted) -> None:
        self._send_turns(one)
        if self.state.traits.steers:
            self._send_steers(one)

    def _send_steers(self, one: Hosted) -> None:
        """Behind the turns that they are for."""
        told = {turn.id for turn in one.session.told}
        for message_id, steer in one.session.steers.items():
            if steer.is_taken or message_id in one.steered or steer.turn not in told:
                continue
            say = one.steering.pop(message_id, None)
            if say is None:
                self._load(one, message_id)  # what was said later waits for it
                return
            self.state.sizes.pop(message_id, None)
            one.steered.add(message_id)
            self.out.append(Send(Steer(one.id, message_id, steer.turn, say.message, say.metadata)))

    def _send_turns(self, one: Hosted) -> None:
        session_id = one.id
        for request_id in self._answers(one):
            self._send_answer(one, request_id)
        for turn in one.session.told:
            if turn.cancel is not None and turn.id not in one.cancelled:
                self.out.append(Send(Cancel(session_id, turn.cancel)))
                one.cancelled.update(one.session.turns)
        while not (self.state.traits.one_turn and one.session.told):
            first = next(iter(one.session.queued), None)
            if first is not None and first.id not in one.waiting:
                self._load(one, first.id)  # what was said later waits for it
                return
            if not one.waiting:
                return
            name, command = next(iter(one.waiting.items()))
            if isinstance(command, Say):
                self._watch_doubtful(one)
                one.told.add(name)
                self._session(one).note(notes.Told(name, settles=not self.state.traits.names_ends))
            self._unhold(one, name)
            self.out.append(Send(command))
            if first is not None and first.id == name and first.cancel is not None:
                # Told again although it was stopped: so is that.
                one.cancelled.add(first.id)
                self.out.append(Send(Cancel(session_id, first.cancel)))

    def _watch_doubtful(self, one: Hosted) -> None:
        """A session that was told to start on an earlier line and has never spoken: the machine may
        not know of it, and a message to it be lost without a word."""
        state = one.session
        is_known = state.is_seen or not state.is_started or one.started_on == self.state.line_number
        if self.state.traits.starts and not self.state.traits.numbers and not is_known:
            one.silence_s = self._time.s + SILENCE_S
            self.state.timed[one.id] = None

    def _load(self, one: Hosted, turn_id: str) -> None:
        if not one.is_loading:
            one.is_loading = True
            self.out.append(Load(one.id, turn_id))

    def _send_answer(self, one: Hosted, request_id: str) -> None:
        question = one.session.questions[request_id]
        one.answered.add(request_id)
        confirmed = question.state == "confirmed"
        self.out.append(
            Send(
                Answer(
                    one.id,
                    request_id,
                    confirmed,
                    question.answer,
                    question.scope,
                    question.reason,
                )
            )
        )

    def fetched(self, session_id: str, line_number: int, start: Start | None) -> None:
        """The `Start` that was asked for; None: there is nothing to start any more."""
        one = self.state.sessions.get(session_id)
        if one is None or line_number != self.state.line_number or not self.state.is_up:
            return
        one.is_fetching = one.is_wanted = False
        if start is None or (self.state.traits.starts and one.place is not Place.ABSENT):
            return
        if self.state.traits.starts:
            self._put(one, Place.STARTING)
            one.deadline_s = self._time.s + self._start_timeout_s
            one.started_on = self.state.line_number
            self.state.timed[session_id] = None
        may_run = one.session.is_started
        if self.state.traits.starts:
            self._session(one).note(notes.Started())
        self.out.append(Send(start))
        self._put_rules_first(one, start if may_run and self.state.traits.rules else None)
        self._advance(one)

    def _put_rules_first(self, one: Hosted, start: Start | None) -> None:
        """Before the messages that are told after a start. Rules that came while the start was made
        are newer than its own. `start`: silent as the session was, it may run after all, and then
        the machine takes no start."""
        name = rules_name(one.id)
        rules = self._unhold(one, name)
        if rules is None and start is not None:
            rules = Configure(one.id, {"rules": start.rules})
        if rules is not None:
            waiting, one.waiting = one.waiting, {}
            self._hold(one, name, rules)
            one.waiting.update(waiting)

    def loaded(self, session_id: str, say: Say | None) -> None:
        """The message of a turn, or to one, from the records; None: it is not there."""
        one = self.state.sessions.get(session_id)
        if one is None:
            return
        one.is_loading = False
        if say is not None and say.turn_id in one.session.turns:
            later, one.waiting = one.waiting, {}
            self._hold(one, say.turn_id, say)
            one.waiting |= later
        elif say is not None and say.turn_id in one.session.steers:
            self._hold_steer(one, say)
        self._advance(one)
        if say is not None and (say.turn_id in one.waiting or say.turn_id in one.steering):
            # It cannot be sent now: it is loaded again, and takes no room that nobody gave it.
            self._unhold(one, say.turn_id)
            one.steering.pop(say.turn_id, None)

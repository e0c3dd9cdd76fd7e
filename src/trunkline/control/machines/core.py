"""A machine's line and what runs there: decisions, no I/O (docs/concepts/core.md).

Inputs are facts (a line is up, the machine lists its sessions, a person says something, time has
passed); what comes out are actions, in order. What a machine is told follows from the states of its
sessions and is never kept anywhere else: a message waits as a queued turn, an answer as an answered
question.
"""

from typing import Any

from trunkline import limits
from trunkline.control.log import events
from trunkline.control.machines.actions import (
    Departed,
    Look,
    Recall,
    Send,
    Status,
)
from trunkline.control.machines.client_inputs import ClientInputs
from trunkline.control.machines.state import NO_TURNS, Hosted, Place
from trunkline.control.machines.telling import ENDED, SILENCE_S
from trunkline.control.machines.traits import Traits
from trunkline.control.sessions import notes
from trunkline.control.sessions.core import RESTARTED, SILENT, UNKNOWN
from trunkline.control.sessions.state import SessionState, Turn
from trunkline.wire.commands import (
    Start,
    Stop,
)

Json = dict[str, Any]

_LISTS_SOON_S = 1.0
# The first heartbeat of a machine that numbers its events comes behind what it has kept.
_LISTS_LATE_S = limits.HEARTBEAT_INTERVAL_S + _LISTS_SOON_S
_UNHEARD_S = 20.0  # for the first word of a turn that was on its way when the line broke

_UNREAD_S = 5.0  # for what waits in the network when the log goes on

_AWAY = ("offline", "pending")


class MachineCore(ClientInputs):
    """One machine, whether its line is up or not."""

    # Which sessions are its own

    def adopt(
        self,
        session_id: str,
        session: SessionState,
        *,
        is_new: bool = False,
        start: Start | None = None,
    ) -> None:
        """The session is this machine's. `is_new`: it was never there, and is to be started."""
        place = Place.ABSENT if is_new else Place.UNKNOWN
        if not self.state.traits.starts:
            place = Place.RUNNING
        one = Hosted(session_id, session, place, is_wanted=is_new)
        self.state.sessions[session_id] = one
        if start is not None and self.state.is_up and not self.state.is_held:
            self.fetched(session_id, self.state.line_number, start)
        self._advance(one)

    # Inputs: the line

    def restarted(self, traits: Traits) -> None:
        """A machine that is about to come runs none of its sessions: it is another program than
        before. Committed before it is let in, because it says so once."""
        for one in self.state.sessions.values():
            if one.session.is_started:
                self._session(one).note(notes.Absent())
            if traits.starts and not traits.numbers:
                self._session(one).end_told(*RESTARTED)

    def line_up(self, traits: Traits, *, is_fresh: bool) -> None:
        """A fresh machine runs nothing; a returning one kept its sessions, and is told nothing
        before it has said what it has, or a moment has passed. So is one that may have kept what it
        was told."""
        was_up = self.state.is_up
        was_gone = self.state.status == "gone" or not self.is_expected
        self.state.traits = traits
        self.state.is_up, self.state.status, self.state.last_seen_ms = True, "online", self._time.ms
        self.state.line_number += 1
        self.state.was_there = not is_fresh
        may_have_kept = traits.numbers and any(self.is_busy(one) for one in self.state.sessions)
        self.state.is_held = not is_fresh or may_have_kept
        self.state.has_listed, self.state.kept = False, NO_TURNS
        self.state.resume_s = self._time.s + limits.RESUME_GRACE_S
        wait_s = _LISTS_LATE_S if traits.numbers else _LISTS_SOON_S
        self.state.learn_s = self._time.s + wait_s
        for one in list(self.state.sessions.values()):
            self._on_new_line(one, is_fresh=is_fresh)
        if not was_up:
            self.out.append(Status({"machine": "online", "machine_id": self.state.id}))
        if was_gone:
            self.out.append(Recall())
        self._advance_all()

    def _on_new_line(self, one: Hosted, *, is_fresh: bool) -> None:
        one.is_fetching = False
        for known in (one.told, one.steered, one.cancelled, one.answered):
            known.clear()
        if one.place is Place.STOPPING:
            self._put(one, Place.UNKNOWN)  # it is told again
        if not self.state.traits.starts:
            one.place, one.is_wanted = Place.RUNNING, False  # its edge sees to new ones
        elif is_fresh:
            self._put(one, Place.ABSENT)
        elif one.place is Place.STARTING:
            one.is_carried = True
            one.deadline_s = self._time.s + self._start_timeout_s
        elif self.state.traits.numbers:
            self._put(one, Place.UNKNOWN)  # it may be another process: its heartbeat says what runs
        if told := one.session.told:
            # One that numbers its events says itself what it has, as soon as it can be heard.
            is_heard = self.state.traits.numbers or all(turn.is_heard for turn in told)
            one.silence_s = self._time.s + (SILENCE_S if is_heard else _UNHEARD_S)
            self.state.timed[one.id] = None

    def line_down(self) -> None:
        self.state.traits = self.state.own_traits
        self.state.is_up, self.state.last_seen_ms = False, self._time.ms
        if self.state.status not in ENDED:
            self.state.status = "offline"
        for one in self.state.sessions.values():
            if one.place is Place.STOPPING:
                self._put(one, Place.UNKNOWN)
        self.out.append(Status({"machine": "offline", "machine_id": self.state.id}))

    def resumed(self, turns: list[str] | None = None) -> None:
        """The machine has said what it had to say first: perhaps which turns it has. What it was
        told of and does not have, it is told again."""
        if not self.state.is_up:
            return
        self.state.is_held = False
        if turns is not None:
            self.state.kept = frozenset(turns)
            for one in self.state.sessions.values():
                one.silence_s = None
                for turn in one.session.told:
                    if turn.id not in self.state.kept and turn.id not in one.told:
                        self._tell_again(one, turn)
                self._want_kept(one)
        forwards, self.state.forwards = self.state.forwards, []
        for forward in forwards:
            self.out.append(Send(forward))
        self._advance_all()

    def _tell_again(self, one: Hosted, turn: Turn) -> None:
        """The machine does not have it. What a person has stopped need not be begun."""
        if turn.cancel is not None and not self.state.traits.rereads:
            self._session(one).finish(turn.id, "execution_complete", cancelled=True)
        else:
            self._session(one).note(notes.Untold(turn.id))

    def _want_kept(self, one: Hosted) -> None:
        """A machine that was restarted kept its turns that wait for a person: they go on when
        their session runs again."""
        if one.place is Place.ABSENT and self.state.kept.intersection(one.session.turns):
            one.is_wanted = True

    def listed(self, session_ids: set[str]) -> None:
        """The machine says which sessions it runs."""
        self.state.has_listed, self.state.learn_s = True, None
        for one in list(self.state.sessions.values()):
            self._placed(one, is_listed=one.id in session_ids)
        self.strays(session_ids.difference(self.state.sessions))
        self._advance_all()

    def strays(self, session_ids: set[str]) -> None:
        """The machine runs sessions that are not its own."""
        if session_ids:
            self.out.append(Look(frozenset(session_ids)))

    def _placed(self, one: Hosted, *, is_listed: bool) -> None:
        if one.session.is_closed and not is_listed:
            self._settle(one)
        elif one.place is Place.STOPPING:
            return
        elif is_listed:
            self._put(one, Place.RUNNING)
        elif one.place is not Place.STARTING or one.is_carried:
            self._put(one, Place.ABSENT)
            if not self.state.traits.numbers:
                self._session(one).end_told(*RESTARTED)
            for turn in one.session.told:
                if turn.id in one.told and not turn.is_heard:
                    # It went to a session that does not run after all.
                    one.told.discard(turn.id)
                    self._tell_again(one, turn)
            self._want_kept(one)

    def spoke(self, session_id: str) -> None:
        """An event of a session that was just started, or told of a turn."""
        one = self.state.sessions.get(session_id)
        if one is None:
            return
        if one.place is Place.STARTING:
            self._put(one, Place.RUNNING)
        told = one.session.told
        if not one.session.is_seen or any(not turn.is_heard for turn in told):
            self._session(one).note(notes.Heard())
        if one.silence_s is not None:
            one.silence_s = self._time.s + SILENCE_S if told else None

    def awaits(self, session_id: str) -> bool:
        """Whether the session's next event is to be reported as `spoke`."""
        one = self.state.sessions.get(session_id)
        return one is not None and (
            (one.session.is_started and not one.session.is_seen)
            or one.place is Place.STARTING
            or one.silence_s is not None
            or any(not turn.is_heard for turn in one.session.told)
        )

    def has_problem(self, problem: str) -> None:
        """With which no turn ends."""
        status = "online" if self.state.is_up else "offline"
        fields = {"machine": status, "machine_id": self.state.id, "problems": [problem]}
        self.out.append(Status(fields))

    def seen(self) -> None:
        self.state.last_seen_ms = self._time.ms

    def stopped(self, session_id: str) -> None:
        """The machine has ended a session, or had the time to: all that it said is in the log."""
        one = self.state.sessions.get(session_id)
        if one is not None and one.place is Place.STOPPING:
            self._settle(one)

    def stop_strays(self, reasons: dict[str, str]) -> None:
        """The machine runs what was closed, or moved to another one, while it was away."""
        if self.state.is_up:
            for session_id, reason in reasons.items():
                if session_id not in self.state.sessions:
                    self.out.append(Send(Stop(session_id, reason)))

    # Inputs: what the machine says of turns and questions

    def heard(self, session_id: str, event: events.Watched, line: str) -> None:
        """An event that means more than its text."""
        one = self.state.sessions[session_id]
        state = one.session
        if event.type == "execution_error" and event.reason in events.NOT_STARTED:
            self._put(one, Place.ABSENT)  # the next message tries again
            if event.turn is None and state.told:
                self._session(one).refused(event)
                self._advance(one)
                return
        self._session(one).heard(event, line)
        asked = state.questions.get(event.request or "")
        if event.type == "approval_request" and asked is not None and asked.state != "pending":
            # It is asked again, so the answer did not arrive; or it comes too late.
            self._send_answer(one, event.request or "")
        self._advance(one)

    def finish(
        self, session_id: str, turn_id: str, kind: str, *, is_late: bool = False, **fields: Any
    ) -> bool:
        """An edge ends a turn that its machine will not end, or not in time."""
        one = self.state.sessions.get(session_id)
        if one is None:
            return False
        is_ended = self._session(one).finish(turn_id, kind, is_late=is_late, **fields)
        self._advance(one)
        return is_ended

    def settled(self, session_id: str, turn_id: str) -> None:
        """No late terminal event will come for this turn."""
        one = self.state.sessions.get(session_id)
        if one is not None and turn_id in one.session.late:
            self._session(one).note(notes.Settled(turn_id))

    def not_started(self, session_id: str, why: str, code: str) -> None:
        """The session could not be started: its messages fail, the next one tries again."""
        one = self.state.sessions.get(session_id)
        if one is not None:
            self._session(one).end_all(why, code)

    # Inputs: time, and the end of a machine

    def tick(self, *, is_stalled: bool = False) -> None:
        """Once a second. `is_stalled`: no machine is read, so it means nothing that one is silent,
        and what it has said since is read first."""
        now = self._time.s
        if is_stalled and self.state.is_up:
            self._extend(now + _UNREAD_S)
        if self.state.is_up and self.state.is_held and now >= self.state.resume_s:
            self.resumed()
        if self.state.is_up and self.state.learn_s is not None and now >= self.state.learn_s:
            self.state.learn_s = None
            for one in self.state.sessions.values():
                if one.place is Place.UNKNOWN:
                    is_started = one.session.is_started
                    self._put(one, Place.RUNNING if is_started else Place.ABSENT)
            if self.state.traits.starts and self.state.was_there:
                self.out.append(Departed())
            self._advance_all()
        for session_id in list(self.state.timed):
            self._overdue(self.state.sessions[session_id], now)
        self._watch_absence()

    def _extend(self, until_s: float) -> None:
        """Nothing is overdue before then."""
        state = self.state
        state.resume_s = max(state.resume_s, until_s)
        if state.learn_s is not None:
            state.learn_s = max(state.learn_s, until_s)
        for one in map(state.sessions.__getitem__, state.timed):
            if one.deadline_s is not None:
                one.deadline_s = max(one.deadline_s, until_s)
            if one.silence_s is not None:
                one.silence_s = max(one.silence_s, until_s)

    def _overdue(self, one: Hosted, now: float) -> None:
        if one.deadline_s is not None and now >= one.deadline_s:
            one.deadline_s = None
            if one.place is Place.STOPPING:
                self._settle(one)
                return
            # Only a machine that lists its sessions can show that one is missing.
            if one.place is Place.STARTING and self.state.has_listed and self.state.is_up:
                self._put(one, Place.ABSENT)
                why = f"the session did not start within {self._start_timeout_s:.0f} s"
                self._session(one).end_all(why, "SESSION_START_TIMEOUT")
            elif one.place is Place.STARTING:
                self._put(one, Place.RUNNING)
        if one.silence_s is not None and now >= one.silence_s and self.state.is_up:
            one.silence_s = None
            session = self._session(one)
            for turn in one.session.told:
                why, code = SILENT if turn.is_heard else UNKNOWN
                session.finish(turn.id, "execution_error", is_late=True, error=why, code=code)
            self._put(one, Place.ABSENT)  # the next message starts it anew
            self._advance(one)
        if not one.is_timed:
            self.state.timed.pop(one.id, None)

    def _watch_absence(self) -> None:
        state = self.state
        if state.status == "pending" and state.traits.comes_unasked:
            # It counts as away from when somebody first waits for it, or something takes up room.
            if not self._is_awaited() and not self.held_count:
                state.awaited_since_ms = 0
            elif not state.awaited_since_ms:
                state.awaited_since_ms = self._time.ms
        if state.status in ENDED and self._is_awaited():
            # It was given up, and a crash came before its turns were ended.
            code = "VM_FAILED" if state.status == "failed" else "MACHINE_TERMINATED"
            self.end(state.status, code, "the machine was given up")
        if state.status in _AWAY and not self.is_expected:
            self.end("gone", "MACHINE_OFFLINE", "the machine did not come back")

    def _is_awaited(self) -> bool:
        return any(one.session.turns for one in self.state.sessions.values())

    def restored(self, code: str, why: str) -> None:
        """The sessions are as they were at some earlier time: what became of their turns since is
        not known, and nothing of it may be done twice."""
        for one in list(self.state.sessions.values()):
            self._session(one).end_all(why, code)

    def revive(self) -> None:
        """Its owner has given it new credentials: it may come after all."""
        if self.state.status in ENDED:
            self.state.status = "pending"

    def end(self, state: str, code: str, why: str) -> None:
        """The machine will not come (back): whoever waits for it is told."""
        self.state.status = state
        self.state.forwards.clear()
        for one in list(self.state.sessions.values()):
            self._session(one).end_all(why, code)
            one.is_wanted = False
            for name in [key for key in one.waiting if key not in one.session.turns]:
                self._unhold(one, name)
            self._forget_steers(one)
            if one.session.is_closed:
                self.release(one.id)
        fields = {"machine": "gone", "machine_id": self.state.id, "code": code, "message": why}
        self.out.append(Status(fields))

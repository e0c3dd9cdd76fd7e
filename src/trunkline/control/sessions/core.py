"""What becomes of a session's turns and questions: decisions, no I/O (docs/concepts/core.md).

An input appends events and notes, which change the state by the same fold as everywhere, and
nothing else does. What a machine is told follows from the state, in `machines/core.py`.
"""

from typing import Any

from trunkline.control.ids import may_be_ours
from trunkline.control.log import events
from trunkline.control.machines.actions import Action, Append, Skip, Time
from trunkline.control.sessions import notes
from trunkline.control.sessions.notes import Note
from trunkline.control.sessions.state import Change, SessionState, fold_event, fold_note

_PENDING_QUESTIONS_MAX = 1_000

RESTARTED = "the machine was restarted in the middle of this turn", "MACHINE_RESTARTED"
UNKNOWN = (
    "the line broke while this message was on its way, and the machine cannot say whether it has"
    " it: say it again if nothing was done",
    "DELIVERY_UNKNOWN",
)
SILENT = (
    "the line broke in the middle of this turn, and the machine has said nothing of it since",
    "MACHINE_SILENT",
)


class SessionCore:
    """Decides for one session, whose state is the value that it is made with."""

    def __init__(self, session_id: str, state: SessionState, out: list[Action], time: Time) -> None:
        self.id = session_id
        self.state = state
        self._out = out
        self._time = time

    def _append(self, line: str, event: events.Watched | None = None) -> None:
        event = event or events.look(line)
        changes: list[Change] = [] if event is None else fold_event(self.state, event, line)
        self._out.append(Append(self.id, line, False, changes, self.state))

    def note(self, note: Note) -> None:
        changes = fold_note(self.state, note)
        self._out.append(Append(self.id, notes.encode(note), True, changes, self.state))

    def _make(self, kind: str, **fields: Any) -> None:
        self._append(events.make(kind, self._time.ms, **fields))

    # Inputs of clients

    def say(self, turn_id: str, shown: dict[str, Any], metadata: dict[str, Any]) -> None:
        """A person's message opens a turn. `shown`: what readers see of it."""
        self._make("user_message", turn_id=turn_id, **shown)
        if metadata:
            self.note(notes.Said(turn_id, metadata))

    def steer(
        self, message_id: str, turn_id: str, shown: dict[str, Any], metadata: dict[str, Any]
    ) -> None:
        """A person's message to a turn that runs."""
        steering = {"turn_id": turn_id, "steers": turn_id, "message_id": message_id}
        self._make("user_message", **steering, **shown)
        if metadata:
            self.note(notes.Said(message_id, metadata))

    def cancel(self, reason: str, *, is_away: bool) -> None:
        """A person stops what is open. What the machine was not told of ends at once; so does the
        rest where the machine `is_away` and will be told when it is back."""
        self._drop_steers()
        for turn in list(self.state.turns.values()):
            if is_away or not turn.is_told:
                is_late = turn.is_told
                self.finish(turn.id, "execution_complete", is_late=is_late, cancelled=True)
        if self.state.told:
            self.note(notes.Cancelling(reason))

    def answer(
        self,
        request_id: str,
        confirmed: bool,
        answer: Any,
        by: str | None,
        shown: dict[str, Any],
        *,
        scope: str = "once",
        reason: str = "",
    ) -> bool:
        """A person's answer; False if the question has one, or there is no such question."""
        question = self.state.questions.get(request_id)
        if question is None or question.state != "pending":
            return False
        self._make("approval_resolved", request_id=request_id, confirmed=confirmed, **shown)
        self.note(notes.Answered(request_id, answer, by, scope, reason))
        return True

    def close(self, reason: str, **shown: Any) -> None:
        """Everything that a close means, in one commit."""
        if self.state.is_closed:
            return
        self.end_all("the session was closed", "SESSION_CLOSED")
        self._make("session_closed", reason=reason, **shown)

    def move(self, machine_id: str) -> None:
        """What runs ends, what was said stays."""
        self.end_all("the session was moved to another machine", "SESSION_MOVED")
        self.note(notes.Moved(machine_id))

    # Inputs of machines

    def heard(self, event: events.Watched, line: str) -> None:
        """An event of the machine that means more than its text."""
        if event.type in events.TERMINAL:
            self._heard_end(event, line)
            return
        self._append(line, event)
        if event.type == "approval_request":
            if event.turn in self.state.ended or (self.state.late and not self.state.told):
                self._drop_question(event.request)  # of a turn that was ended here
            pending = [one for one, q in self.state.questions.items() if q.state == "pending"]
            for request_id in pending[:-_PENDING_QUESTIONS_MAX]:
                self.answer(request_id, False, None, None, {"reason": "too_many"})

    def _heard_end(self, event: events.Watched, line: str) -> None:
        late = self._late(event.turn)
        if late is not None:
            self._out.append(Skip(self.id))
            if late in self.state.late:
                self.note(notes.Settled(late))
            return
        turn_id = self.state.ended_by(event.turn)
        self._append(line, event)
        if turn_id is not None:
            self._drop_questions({turn_id, event.turn, None})
        elif event.turn is not None:
            self._drop_questions({event.turn})

    def _late(self, name: str | None) -> str | None:
        """The turn that a terminal event is too late for; None if it is not too late."""
        state = self.state
        if name is not None and name in state.ended:
            return name
        if name in state.turns or not state.late or (name is not None and may_be_ours(name)):
            return None
        return next(iter(state.late))

    def refused(self, event: events.Watched) -> None:
        """The machine does not run the session, and says so once: it is the end of every turn that
        it was told of."""
        for turn in self.state.told:
            self._make("execution_error", turn_id=turn.id, error=event.problem, code=event.reason)
            self._drop_questions({turn.id, event.turn, None})
        self._out.append(Skip(self.id))

    # Ends that come from here

    def finish(self, turn_id: str, kind: str, *, is_late: bool = False, **fields: Any) -> bool:
        """Ends a turn that its machine will not end, or not in time. `is_late`: it may yet do so.
        False if the turn has its end."""
        if turn_id not in self.state.turns:
            return False
        self._make(kind, turn_id=turn_id, **fields)
        if is_late:
            self.note(notes.Late(turn_id))
        self._drop_questions({turn_id})
        return True

    def end_all(self, why: str, code: str) -> None:
        """Fails what is open, in a session whose machine will not end it, or not in time."""
        self._drop_questions(None)
        told = {turn.id for turn in self.state.told}
        for turn_id in list(self.state.turns):
            self.finish(turn_id, "execution_error", is_late=turn_id in told, error=why, code=code)
        self._drop_steers()

    def end_told(self, why: str, code: str) -> None:
        """Fails what the machine was told of, which it has forgotten."""
        for turn in self.state.told:
            self._drop_questions({turn.id, None})
            self.finish(turn.id, "execution_error", error=why, code=code)

    def open_missed(self) -> None:
        """What was said to a turn that ended without it becomes a turn of its own."""
        for message_id in self.state.missed:
            turn_id = self.state.steers[message_id].turn
            self._make("steer_missed", turn_id=message_id, message_id=message_id, steers=turn_id)

    def _drop_steers(self) -> None:
        if self.state.unsteered:
            self.note(notes.Unsteered())

    def _drop_questions(self, turns: set[str | None] | None) -> None:
        """Nobody waits for these answers any more: what is pending is denied."""
        for request_id, question in list(self.state.questions.items()):
            if turns is None or question.turn in turns:
                self._drop_question(request_id)

    def _drop_question(self, request_id: str | None) -> None:
        question = self.state.questions.get(request_id or "")
        if question is not None and question.state == "pending":
            self._make(
                "approval_resolved", request_id=request_id, confirmed=False, reason="turn_ended"
            )

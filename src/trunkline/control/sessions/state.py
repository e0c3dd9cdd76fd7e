"""What a session's log says: its turns, its questions, where it runs. A value, and its fold.

`fold` takes one entry of the log after the other. Live, at a start and after a fault, the same
function brings state and records up to date; nothing else changes a `SessionState`.
"""

from typing import Any

import msgspec

from trunkline.control.ids import may_be_ours
from trunkline.control.log import events
from trunkline.control.sessions import notes
from trunkline.control.sessions.notes import Note
from trunkline.wire.errors import Malformed

Json = dict[str, Any]

NAME_CHARS_MAX = 200
_ENDED_KEPT = 200
_NAMES_KEPT = 200
_RESOLVED_KEPT = 100
_ANSWERS_KEPT = 1_000  # of one turn: its machine may not have them yet


class Turn(msgspec.Struct):
    """An open turn."""

    id: str
    is_told: bool = False
    """Its machine was told of it, or may have been."""
    is_heard: bool = False
    """The machine has shown since that it has it."""
    was_told: bool = False
    """It was told of it on an earlier line, and is to be told again."""
    cancel: str | None = None
    """Why a person has stopped it; None: nobody has."""


class Steer(msgspec.Struct):
    """A message to an open turn."""

    turn: str
    name: str | None = None
    """What its client calls it."""
    is_taken: bool = False
    """Its machine has said that the turn has it."""


class Question(msgspec.Struct):
    turn: str | None
    """The turn that the machine named; perhaps by a name of its own."""
    state: str = "pending"  # pending | confirmed | denied
    answer: Any = None
    is_from_here: bool = False
    """It was answered here: the machine has to be told."""
    scope: str = "once"
    reason: str = ""


class SessionState(msgspec.Struct):
    machine_id: str | None
    is_closed: bool = False
    is_stop_pending: bool = False
    """Closed, and its machine has not been told."""
    is_started: bool = False
    """Its machine was told to start it."""
    is_seen: bool = False
    """It has spoken since."""
    turns: dict[str, Turn] = {}
    """The open ones, oldest first."""
    ended: dict[str, None] = {}
    """The newest of the others."""
    late: dict[str, None] = {}
    """Those of them that were ended here, and that the machine may yet end."""
    names: dict[str, str] = {}
    """The newest client message ids, with their turns."""
    steers: dict[str, Steer] = {}
    """By the message's id, oldest first. What a turn ends without becomes a turn under that id."""
    questions: dict[str, Question] = {}
    """By the machine's own id: those that wait, and the newest that do not."""

    @property
    def told(self) -> list[Turn]:
        return [turn for turn in self.turns.values() if turn.is_told]

    @property
    def queued(self) -> list[Turn]:
        return [turn for turn in self.turns.values() if not turn.is_told]

    @property
    def missed(self) -> list[str]:
        """The messages to turns that have ended without them."""
        return [one for one in self.unsteered if self.steers[one].turn not in self.turns]

    @property
    def unsteered(self) -> list[str]:
        """The messages to turns that no machine has taken."""
        return [one for one, steer in self.steers.items() if not steer.is_taken]

    def ended_by(self, name: str | None) -> str | None:
        """The open turn that a terminal event is of: the one that it names, else the oldest that
        the machine has. A name that is none of ours says no more than no name; one of ours that is
        not known here is of a turn that a restore has taken away."""
        if name is not None and (name in self.turns or may_be_ours(name)):
            return name if name in self.turns else None
        return next((turn.id for turn in self.told), None)

    def encode(self) -> bytes:
        return _encoder.encode(self)


_encoder = msgspec.json.Encoder()  # takes numbers of any size, as the log does
decode = msgspec.json.Decoder(SessionState).decode


class TurnOpened(msgspec.Struct, frozen=True):
    turn_id: str
    message: str
    client_message_id: str | None


class Steered(msgspec.Struct, frozen=True):
    """A message to a running turn."""

    message_id: str
    turn_id: str
    message: str
    client_message_id: str | None


class SteerTaken(msgspec.Struct, frozen=True):
    message_id: str
    is_taken: bool


class SteerMissed(msgspec.Struct, frozen=True):
    """It has become a turn of its own."""

    message_id: str


class SteerDropped(msgspec.Struct, frozen=True):
    message_id: str


class TurnNoted(msgspec.Struct, frozen=True):
    turn_id: str
    metadata: Json


class TurnTold(msgspec.Struct, frozen=True):
    turn_id: str
    is_told: bool


class TurnEnded(msgspec.Struct, frozen=True):
    turn_id: str
    state: str  # completed | cancelled | failed
    answer: str | None


class Asked(msgspec.Struct, frozen=True):
    request_id: str
    request: Json


class Resolved(msgspec.Struct, frozen=True):
    request_id: str
    is_confirmed: bool


class AnswerNoted(msgspec.Struct, frozen=True):
    request_id: str
    answer: Any
    by: str | None
    scope: str = "once"
    reason: str = ""


class SessionClosed(msgspec.Struct, frozen=True):
    pass


class SessionMoved(msgspec.Struct, frozen=True):
    machine_id: str


class SessionSettled(msgspec.Struct, frozen=True):
    """Its machine knows that it is closed."""


Change = (
    TurnOpened
    | Steered
    | SteerTaken
    | SteerMissed
    | SteerDropped
    | TurnNoted
    | TurnTold
    | TurnEnded
    | Asked
    | Resolved
    | AnswerNoted
    | SessionClosed
    | SessionMoved
    | SessionSettled
)
"""What an entry of the log means for the records."""


def fold(state: SessionState, text: str, *, is_note: bool) -> list[Change]:
    """Takes one entry as the log has it."""
    if is_note:
        return fold_note(state, notes.decode(text))
    if not events.may_matter(text):
        return []
    event = events.look(text)
    return [] if event is None else fold_event(state, event, text)


def fold_event(state: SessionState, event: events.Watched, line: str) -> list[Change]:
    match event.type:
        case "user_message" if event.steered is not None:
            return _steered(state, event)
        case "user_message":
            return _said(state, event)
        case "steer_taken":
            return _taken(state, [event.message or ""], is_taken=True)
        case "steer_missed":
            return _missed(state, event)
        case "execution_complete" | "execution_error":
            return _ended(state, event)
        case "approval_request":
            return _asked(state, event, line)
        case "approval_resolved":
            return _resolved(state, event)
        case "session_closed":
            state.is_closed = state.is_stop_pending = True
            return [SessionClosed()]
    return []


def fold_note(state: SessionState, note: Note) -> list[Change]:
    match note:
        case notes.Said():
            return [TurnNoted(note.turn_id, note.metadata)]
        case notes.Told():
            return _told(state, note)
        case notes.Heard():
            state.is_seen = state.is_started
            for turn in state.told:
                turn.is_heard = True
        case notes.Untold() if (found := state.turns.get(note.turn_id)) is not None:
            found.is_told, found.is_heard, found.was_told = False, False, True
            again = [one for one, steer in state.steers.items() if steer.turn == note.turn_id]
            return [
                TurnTold(note.turn_id, is_told=False),
                *_taken(state, again, is_taken=False),
            ]
        case notes.Unsteered():
            dropped = state.unsteered
            for one in dropped:
                del state.steers[one]
            return [SteerDropped(one) for one in dropped]
        case notes.Cancelling():
            for turn in state.told:
                turn.cancel = turn.cancel or note.reason
        case notes.Late():
            _keep(state.late, note.turn_id, None, _ENDED_KEPT)
        case notes.Settled():
            state.late.pop(note.turn_id, None)
        case notes.Answered() if (question := state.questions.get(note.request_id)) is not None:
            question.answer, question.is_from_here = note.answer, True
            question.scope, question.reason = note.scope, note.reason
            return [AnswerNoted(note.request_id, note.answer, note.by, note.scope, note.reason)]
        case notes.Started():
            state.is_started, state.is_seen = True, False
        case notes.Absent():
            state.is_started = state.is_seen = False
        case notes.Moved():
            state.machine_id, state.is_started, state.is_seen = note.machine_id, False, False
            state.late.clear()
            for turn in state.turns.values():
                turn.is_told = turn.is_heard = turn.was_told = False
            return [SessionMoved(note.machine_id)]
        case notes.Stopped():
            state.is_stop_pending = False
            return [SessionSettled()]
    return []


def _said(state: SessionState, event: events.Watched) -> list[Change]:
    turn_id, name = event.turn, event.client_message
    if turn_id is None or turn_id in state.turns:
        return []
    state.turns[turn_id] = Turn(turn_id)
    if name is not None:
        _keep(state.names, name, turn_id, _NAMES_KEPT)
    return [TurnOpened(turn_id, event.said or "", name)]


def _steered(state: SessionState, event: events.Watched) -> list[Change]:
    message_id, turn_id, name = event.message, event.steered, event.client_message
    if message_id is None or turn_id not in state.turns or message_id in state.steers:
        return []
    state.steers[message_id] = Steer(turn_id, name)
    if name is not None:
        _keep(state.names, name, turn_id, _NAMES_KEPT)
    return [Steered(message_id, turn_id, event.said or "", name)]


def _taken(state: SessionState, message_ids: list[str], *, is_taken: bool) -> list[Change]:
    changed: list[Change] = []
    for one in message_ids:
        steer = state.steers.get(one)
        if steer is not None and steer.is_taken is not is_taken:
            steer.is_taken = is_taken
            changed.append(SteerTaken(one, is_taken))
    return changed


def _missed(state: SessionState, event: events.Watched) -> list[Change]:
    steer = state.steers.pop(event.message or "", None)
    if steer is None or event.message is None:
        return []
    state.turns[event.message] = Turn(event.message)
    if steer.name is not None:
        _keep(state.names, steer.name, event.message, _NAMES_KEPT)
    return [SteerMissed(event.message)]


def _told(state: SessionState, note: notes.Told) -> list[Change]:
    if note.settles:
        state.late.clear()
    turn = state.turns.get(note.turn_id)
    if turn is None:
        return []
    turn.is_told, turn.is_heard = True, False
    return [TurnTold(note.turn_id, is_told=True)]


def _ended(state: SessionState, event: events.Watched) -> list[Change]:
    turn_id = state.ended_by(event.turn)
    if turn_id is None:
        return []
    # A question that names no turn is of the active turn.
    whose = {turn_id, event.turn, None if state.ended_by(None) == turn_id else turn_id}
    del state.turns[turn_id]
    for one in [one for one, it in state.steers.items() if it.turn == turn_id and it.is_taken]:
        del state.steers[one]
    _keep(state.ended, turn_id, None, _ENDED_KEPT)
    for question in state.questions.values():
        if question.turn in whose:
            question.is_from_here, question.answer = False, None  # nobody there waits for it
    outcome = "failed" if event.type == "execution_error" else "completed"
    if event.cancelled:
        outcome = "cancelled"
    return [TurnEnded(turn_id, outcome, event.text)]


def _asked(state: SessionState, event: events.Watched, line: str) -> list[Change]:
    request_id = event.request
    if request_id is None or len(request_id) > NAME_CHARS_MAX or request_id in state.questions:
        return []
    if state.is_closed:
        return []  # said before it knew of the close
    try:
        request = events.object_of(line)
    except Malformed:  # the first look skips fields; this one reads them
        return []
    turn = event.turn
    is_name = turn is not None and len(turn) <= NAME_CHARS_MAX
    state.questions[request_id] = Question(turn if is_name else None)
    return [Asked(request_id, request)]


def _resolved(state: SessionState, event: events.Watched) -> list[Change]:
    request_id = event.request
    question = state.questions.get(request_id) if request_id is not None else None
    if request_id is None or question is None or question.state != "pending":
        return []
    question.state = "confirmed" if event.confirmed else "denied"
    for is_from_here, kept in ((False, _RESOLVED_KEPT), (True, _ANSWERS_KEPT)):
        resolved = [
            one
            for one, known in state.questions.items()
            if known.state != "pending" and known.is_from_here is is_from_here
        ]
        for one in resolved[:-kept]:
            del state.questions[one]
    return [Resolved(request_id, bool(event.confirmed))]


def _keep(kept: dict[str, Any], key: str, value: Any, count_max: int) -> None:
    """Adds to what is known of the newest only."""
    kept.pop(key, None)
    kept[key] = value
    while len(kept) > count_max:
        del kept[next(iter(kept))]

"""The log of a session as the beginning of another one: what was said and done up to a turn. Pure.

Turns and messages get ids of their own, because records have each id once; `imported` tells that
it happened elsewhere. Messages keep their files. What was asked, spent or noted of a machine stays
where it was.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from trunkline import limits
from trunkline.control.log import events
from trunkline.control.log.store import Logged
from trunkline.control.sessions import attached, notes
from trunkline.control.sessions import state as states
from trunkline.wire.errors import Malformed

Json = dict[str, Any]

_LEFT_OUT = frozenset(
    (
        *("approval_request", "approval_resolved", "session_status", "session_closed", "usage"),
        *("foreign", "raw"),
    )
)
_NAMES = ("turn_id", "steers", "message_id")


class Cut(NamedTuple):
    """What of a log is copied."""

    turn_id: str
    """The last turn."""
    last_id: int
    """The event that ended it."""
    names: dict[str, int]
    """The ids of turns, and of messages to them, with the time from which each is; in order."""
    ends: dict[int, str]
    """Terminal events, with the turns that they ended."""


class Outline:
    """Which turns a log has, in order, and where each ends."""

    def __init__(self) -> None:
        self._state = states.SessionState(None)
        self._said: dict[str, int] = {}
        """Turns, and messages to turns."""
        self._turns: list[str] = []
        self._steers: dict[str, str] = {}
        """Messages that have reached a turn."""
        self._ends: dict[str, int] = {}

    def take(self, entry: Logged) -> None:
        for change in states.fold(self._state, entry.text, is_note=entry.note > 0):
            match change:
                case states.TurnOpened(turn_id=turn_id) | states.SteerMissed(message_id=turn_id):
                    self._said.setdefault(turn_id, entry.at)
                    self._turns.append(turn_id)
                case states.Steered(message_id=message_id, turn_id=turn_id):
                    self._said[message_id] = entry.at
                    self._steers[message_id] = turn_id
                case states.SteerDropped(message_id=message_id):
                    self._steers.pop(message_id, None)
                case states.TurnEnded(turn_id=turn_id):
                    self._ends[turn_id] = entry.event_id

    def before(self, turn_id: str) -> str | None:
        """The last turn before that one that has ended; empty: there is none. None where there is
        no such turn."""
        if turn_id not in self._turns:
            return None
        earlier = self._turns[: self._turns.index(turn_id)]
        return next((one for one in reversed(earlier) if one in self._ends), "")

    def cut(self, wanted: str | int | None) -> Cut | str | None:
        """At the end of that turn, by its id or its number from 1; None: of the last that has
        ended. Returns why not, or None where there is no such turn."""
        if wanted is None:
            ended = [one for one in self._turns if one in self._ends]
            if not ended:
                return "no turn of this session has ended yet"
            turn_id = ended[-1]
        elif isinstance(wanted, int):
            if not 0 < wanted <= len(self._turns):
                return None
            turn_id = self._turns[wanted - 1]
        else:
            turn_id = wanted
        if turn_id not in self._turns:
            return None
        if turn_id not in self._ends:
            return "that turn has not ended yet"
        last_id = self._ends[turn_id]
        before = self._turns[: self._turns.index(turn_id) + 1]
        turns = {one for one in before if self._ends.get(one, last_id + 1) <= last_id}
        steers = {one for one, of in self._steers.items() if of in turns and one not in self._turns}
        late = {one for one in turns if one in self._steers and self._steers[one] not in turns}
        names = {one: at for one, at in self._said.items() if one in (turns | steers) - late}
        ends = {number: one for one, number in self._ends.items() if one in names}
        return Cut(turn_id, last_id, names, ends)


class Copy:
    """Makes the lines of the new log out of those of the old one, in their order."""

    def __init__(self, cut: Cut, id_at: Callable[[int], str], *, latest: int) -> None:
        """`latest`: no id is of a later time."""
        self._cut = cut
        self._ids: dict[str, str] = {}
        made_at = 0
        for left, (name, at) in zip(range(len(cut.names), 0, -1), cut.names.items(), strict=True):
            made_at = max(made_at + 1, min(at, latest - left))
            self._ids[name] = id_at(made_at)
        self._current: str | None = None
        """The turn of events that name none."""

    def named(self) -> notes.Copied:
        """What the turns are called now, of so many as a machine keeps the files of."""
        ended = set(self._cut.ends.values())
        pairs = [(old, new) for old, new in self._ids.items() if old in ended]
        return notes.Copied(dict(pairs[-limits.WORKTREE_TURNS_MAX :]))

    def line(self, entry: Logged) -> str | notes.Said | None:
        """None for what is not copied."""
        if entry.event_id > self._cut.last_id:
            return None
        return self._note(entry.text) if entry.note else self._event(entry)

    def _note(self, text: str) -> notes.Said | None:
        note = notes.decode(text)
        if not isinstance(note, notes.Said) or note.turn_id not in self._ids:
            return None
        files = attached.kept_of(note.metadata)
        return notes.Said(self._ids[note.turn_id], files) if files else None

    def _event(self, entry: Logged) -> str | None:
        try:
            event = events.object_of(entry.text)
        except Malformed:
            return None
        kind, named = event.get("type"), event.get("turn_id")
        if not isinstance(kind, str) or kind in _LEFT_OUT:
            return None
        turn = named if isinstance(named, str) else self._cut.ends.get(entry.event_id)
        if kind in ("user_message", "steer_missed"):
            self._current = turn
        elif kind in events.TERMINAL:
            turn = self._cut.ends.get(entry.event_id)
        turn = turn or self._current
        said = event.get("message_id") if "steers" in event or kind == "steer_taken" else turn
        if turn not in self._ids or said not in self._ids:
            return None
        event["turn_id"] = turn
        for name in _NAMES:
            if name in event:
                event[name] = self._ids.get(event[name], "")
        event.pop("client_message_id", None)
        return events.to_text({**event, "imported": True})

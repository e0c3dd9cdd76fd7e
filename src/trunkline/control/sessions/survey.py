"""What a file of a session has to be asked before it is read in: which turns it has, who spoke, and
what is left open. Then the same events as the log of a new session. Pure.

Turns have ids that no other session may have: those of the file are kept where they are free, in
order and not of a time to come; else all get new ones. Ids of other people of this system become
the importer's. The new session is open and at rest: a closing event is left out, and open turns and
questions are ended behind the last event.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from uuid import UUID

from trunkline import limits
from trunkline.control.errors import InvalidRequest, TooLarge
from trunkline.control.ids import is_id
from trunkline.control.log import events
from trunkline.control.sessions import notes, state
from trunkline.control.sessions.session_file import Event
from trunkline.wire.errors import Malformed

Json = dict[str, Any]

TURNS_MAX = 200_000
_OPEN_MAX = 1_000
_PEOPLE_MAX = 1_000
_NAMES = ("turn_id", "steers", "message_id")
_PEOPLE = ("user_id", "answered_by", "created_by", "changed_by")
_NAMED = re.compile(rf'"(?:{"|".join((*_NAMES, *_PEOPLE))})"')
_CLOSED = "session_closed"


class Item(NamedTuple):
    """An event, or a note behind the event before it."""

    at: int
    text: str
    is_note: bool = False


class _Fold:
    """The session's state as its log will say it: each turn counts as told, for nobody runs it."""

    def __init__(self) -> None:
        self.state = state.SessionState(None)

    def take(self, text: str) -> tuple[list[state.Change], list[str]]:
        """What the event changes, and the notes that belong behind it."""
        if not events.may_matter(text):
            return [], []
        event = events.look(text)
        if event is None:
            return [], []
        changes = state.fold_event(self.state, event, text)
        told = []
        for one in changes:
            if isinstance(one, state.TurnOpened | state.SteerMissed):
                opened = one.turn_id if isinstance(one, state.TurnOpened) else one.message_id
                note = notes.Told(opened, settles=False)
                state.fold_note(self.state, note)
                told.append(notes.encode(note))
        return changes, told


def _is_closing(text: str) -> bool:
    if f'"{_CLOSED}"' not in text and events.ESCAPED not in text:
        return False
    event = events.look(text)
    return event is not None and event.type == _CLOSED


class Survey:
    """First time through the file: takes its events in their order."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        """The ids of turns, and of messages to them, with the time from which each is."""
        self.people: set[str] = set()
        self._said: set[str] = set()
        self._fold = _Fold()

    def take(self, event: Event) -> None:
        if _is_closing(event.text):
            return
        changes, _ = self._fold.take(event.text)
        for one in changes:
            if isinstance(one, state.TurnOpened):
                self._name(one.turn_id, one.client_message_id, event.at)
            elif isinstance(one, state.Steered):
                self._name(one.message_id, one.client_message_id, event.at)
        known = self._fold.state
        if len(known.turns) + len(known.steers) + len(known.questions) > _OPEN_MAX:
            raise TooLarge(f"more than {_OPEN_MAX} turns and questions of it are open at once")
        if _may_name(event.text):
            said = _object(event.text)
            named = (said.get(name) for name in _PEOPLE)
            # Of this system nobody has an id of another form, and a file may say anything.
            self.people.update(who for who in named if isinstance(who, str) and is_id(who))
            if len(self.people) > _PEOPLE_MAX:
                raise TooLarge(f"more than {_PEOPLE_MAX} people spoke in it")

    def _name(self, name: str, client_id: str | None, at: int) -> None:
        if name in self.names:
            raise InvalidRequest(f"two turns have the id {name[:100]!r}", code="INVALID_FILE")
        if len(name) > limits.NAME_CHARS_MAX:
            raise InvalidRequest(f"the turn's id {name[:100]!r} is too long", code="INVALID_FILE")
        if client_id is not None:
            if client_id in self._said or len(client_id) > limits.NAME_CHARS_MAX:
                raise InvalidRequest(
                    f"client_message_id {client_id[:100]!r} is too long, or there twice",
                    code="INVALID_FILE",
                )
            self._said.add(client_id)
        self.names[name] = at
        if len(self.names) > TURNS_MAX:
            raise TooLarge(f"it has more than {TURNS_MAX} turns")

    def may_keep(self, now: int) -> bool:
        """Whether its turns can have the ids that they have, as far as the file says."""
        before = ""
        for one in self.names:
            if not is_id(one) or one != str(UUID(one)) or one <= before:
                return False
            before = one
        return not before or UUID(before).int >> 80 <= now

    def renamed(self, id_at: Callable[[int], str], now: int) -> dict[str, str]:
        """New ids for all of them, in the same order."""
        found: dict[str, str] = {}
        made_at = 0
        left = len(self.names)
        for name, at in self.names.items():
            made_at = max(made_at + 1, min(at, now - left))
            found[name] = id_at(made_at)
            left -= 1
        return found


class Rewriting:
    """Second time through the file: the new log."""

    def __init__(self, names: dict[str, str], people: dict[str, str], now: int) -> None:
        """`names`: ids of turns that become others; `people`: the same of persons."""
        self._names = names
        self._people = people
        self._now = now
        self._at = 0
        self._fold = _Fold()

    def take(self, event: Event) -> Iterator[Item]:
        if _is_closing(event.text):
            return
        self._at = max(self._at, min(event.at, self._now))
        text = self._text(event.text)
        yield Item(self._at, text)
        for note in self._fold.take(text)[1]:
            yield Item(self._at, note, is_note=True)

    def rest(self) -> Iterator[Item]:
        """What ends that is open."""
        known = self._fold.state
        for request_id in [one for one, it in known.questions.items() if it.state == "pending"]:
            fields = {"request_id": request_id, "confirmed": False, "reason": "imported"}
            yield self._made("approval_resolved", **fields)
        if known.unsteered:
            note = notes.Unsteered()
            state.fold_note(known, note)
            yield Item(self._now, notes.encode(note), is_note=True)
        for turn_id in list(known.turns):
            yield self._made("execution_complete", turn_id=turn_id, content="", cancelled=True)

    def _made(self, kind: str, **fields: Any) -> Item:
        text = events.make(kind, self._now, **fields, imported=True)
        self._fold.take(text)
        return Item(self._now, text)

    def _text(self, text: str) -> str:
        if not (self._names or self._people) or not _may_name(text):
            return text
        said = _object(text)
        changed = _replaced(said, _NAMES, self._names) | _replaced(said, _PEOPLE, self._people)
        return events.to_text({**said, **changed}) if changed else text


def _may_name(text: str) -> bool:
    """Letters may be escaped, by those who have something to hide."""
    return _NAMED.search(text) is not None or events.ESCAPED in text


def _replaced(said: Json, names: tuple[str, ...], others: dict[str, str]) -> Json:
    return {
        name: others[value]
        for name in names
        if isinstance(value := said.get(name), str) and value in others
    }


def _object(text: str) -> Json:
    try:
        return events.object_of(text)
    except Malformed:
        return {}

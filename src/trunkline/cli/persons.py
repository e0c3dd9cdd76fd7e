"""Who speaks in a session of several persons, and what they said that is not shown yet.

Persons answer side by side: shown piece by piece, their words would run into each other. Pure;
for the transcript only.
"""

from typing import Any

from trunkline.log_form import one_line

Json = dict[str, Any]


def speaker(data: Json) -> str:
    """The name of the person that an event is of; empty for an event of the session itself."""
    person = data.get("person")
    if not isinstance(person, dict):
        return ""
    return one_line(str(person.get("name") or person.get("id") or "?"))


class Persons:
    """What persons have said and nobody has read, by person and turn."""

    def __init__(self) -> None:
        self._unread: dict[tuple[str, str], tuple[str, list[str]]] = {}
        self._turns: set[str] = set()
        """Open turns in which at least one of them was heard."""

    def said(self, data: Json, text: str) -> None:
        self._turns.add(_turn(data))
        _, pieces = self._unread.setdefault(_key(data), (speaker(data), []))
        pieces.append(text)

    def so_far(self, data: Json) -> str:
        """What the person of this event said and was not read yet; now it is."""
        _, pieces = self._unread.get(_key(data), ("", []))
        text = "".join(pieces)
        pieces.clear()
        return text

    def done(self, data: Json, answer: str) -> str:
        """The rest of what the person of this event said: the answer, if it was not in pieces."""
        if answer:
            self._turns.add(_turn(data))
        if _key(data) not in self._unread:
            return answer
        _, pieces = self._unread.pop(_key(data))
        return "".join(pieces)

    def turn_over(self, data: Json) -> tuple[bool, list[tuple[str, str]]]:
        """Whether anybody was heard in the turn that this event ends, and what some of them, by
        name, had said without coming to an end."""
        turn = _turn(data)
        was_heard = turn in self._turns
        self._turns.discard(turn)
        left = [key for key in self._unread if key[1] == turn]
        return was_heard, [(name, "".join(pieces)) for name, pieces in map(self._unread.pop, left)]


def _key(data: Json) -> tuple[str, str]:
    person = data.get("person")
    return str(person.get("id") if isinstance(person, dict) else None), _turn(data)


def _turn(data: Json) -> str:
    return str(data.get("turn_id"))

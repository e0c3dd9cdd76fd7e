"""The active turn of each session of an AGP device, and what came of it so far. Pure.

`Device` begins and drops them. A piece of text finds its turn by the part that all pieces of
that turn have in common, without being decoded.
"""

from collections.abc import Container

from trunkline.wire.actions import Turns
from trunkline.wire.agp import plain
from trunkline.wire.agp.inward import CallBounds, Inward, Logged

_ANY_ID = "0" * 36  # ids of sessions and turns all have this length


class AtWork:
    """One turn for each session that has one."""

    def __init__(
        self, guid: str, user_id: str, *, chars_max: int, calls_max: int, call_bounds: CallBounds
    ) -> None:
        self.by_part: dict[str, tuple[str, Inward, Container[str]]] = {}
        """Each with its session and what turns are open there, by what its pieces of text have in
        common."""
        self._by_session: dict[str, Inward] = {}
        self._guid, self._user_id = guid, user_id
        self._chars_max, self._calls_max, self._call_bounds = chars_max, calls_max, call_bounds
        self.place = plain.place_of(self._part(_ANY_ID, _ANY_ID))
        """Where that part stands in a message; the text follows."""

    def load(self, by_session: dict[str, Inward], turns: Turns) -> None:
        """Goes on with these turns, which it changes from now on."""
        self._by_session = by_session
        self.by_part.clear()
        for session_id, work in by_session.items():
            self._index(session_id, work, turns.open_turns(session_id) or ())

    def _index(self, session_id: str, work: Inward, open_turns: Container[str]) -> None:
        self.by_part[self._part(session_id, work.turn_id)] = session_id, work, open_turns

    def begin(self, session_id: str, turn_id: str, open_turns: Container[str]) -> Inward:
        """The turn, new or as it is."""
        work = self._by_session.get(session_id)
        if work is None or work.turn_id != turn_id:
            self.drop(session_id)
            work = self._by_session[session_id] = Inward(
                turn_id,
                chars_max=self._chars_max,
                calls_max=self._calls_max,
                call_bounds=self._call_bounds,
            )
            self._index(session_id, work, open_turns)
        return work

    def drop(self, session_id: str) -> None:
        work = self._by_session.pop(session_id, None)
        if work is not None:
            del self.by_part[self._part(session_id, work.turn_id)]

    def heard(self) -> list[str]:
        """The turns that the device has spoken of."""
        return [work.turn_id for work in self._by_session.values() if work.heard]

    def _part(self, session_id: str, turn_id: str) -> str:
        return plain.common_part(self._guid, self._user_id, session_id, turn_id)

    def recall(self, session_id: str, event: Logged) -> None:
        """An event of the log that a message of the device became."""
        work = self._by_session.get(session_id)
        if work is not None:
            if work.turn_id == event.turn_id:
                work.recall(event)
            else:
                work.is_whole = True  # one turn at a time: this one's pieces all come later

    def recall_whole(self, session_id: str, turn_id: str | None = None) -> None:
        """What follows in the log is all that there is of this turn, or of whichever it is."""
        work = self._by_session.get(session_id)
        if work is not None and turn_id in (None, work.turn_id):
            work.is_whole = True

"""What a session's stream to Yeaft web clients must remember between two events. Bounded."""

from typing import Any

import msgspec

from trunkline.wire.events import SessionEvent, keep, text_of
from trunkline.wire.yeaft.outward_frames import Frame

OPEN_MAX = 100
"""Turns, voices and tool calls that are remembered: a stream that forgets to end is no leak."""
TAIL_CHARS = 400
_COMPARED_CHARS = 200
_PIECES_MAX = 64


class Out(msgspec.Struct, gc=False):
    """One message, and the `client_message_id` if it is what a person said."""

    body: bytes
    said: str | None = None


class Turn:
    """What must be known of a turn when it ends."""

    __slots__ = ("cost_usd", "has_result", "is_heard", "started_ms", "usage")

    def __init__(self, started_ms: int | None = None) -> None:
        self.started_ms = started_ms
        self.usage: dict[str, int] = {}
        self.cost_usd: float | None = None
        self.has_result = False
        """A Yeaft agent's own `result` has passed."""
        self.is_heard = False
        """Persons of a group have spoken in it."""


class Outward:
    """One session's stream for all clients of one dialect."""

    def __init__(
        self,
        conversation_id: str,
        *,
        agent_id: str | None = None,
        is_group: bool = False,
        deployed: bool = False,
        relays: bool = False,
        is_repeating: bool = False,
    ) -> None:
        self.conversation_id = conversation_id
        self.agent_id = agent_id
        self.group_id = agent_id if is_group else None
        self.deployed = deployed
        self.relays = relays
        """Whether its machine is a Yeaft agent, whose own envelopes its events bring along. Of what
        any other machine calls one, `outward_program` shows what may be shown."""
        self.is_repeating = is_repeating
        """Whether it says again what its client has seen, such as a question that waits."""
        self.session_id = conversation_id
        """What its machine calls it."""
        self.ready: dict[str, Any] = {}
        """What was said of it when it began or went on."""
        self.commands = b""
        """The newest `slash_commands_update`."""
        self.own = Frame(conversation_id)
        self.text_head = self.own.text_head
        self.plain_turn, self.plain_tail = "", "\n\n"
        """The turn of the newest plain piece of text, and how its lines end: see `plain`."""
        self.has_passed_line = True
        """Whether the newest line of a program passed as it is: see `outward_program`."""
        self.calls: dict[str, str] = {}
        """Tools that run: id to name."""
        self.asked_by_call: dict[str, None] = {}
        """Questions that stand at a tool call of the program's own."""
        self._turns: dict[str, Turn] = {}
        self._ended: dict[str, None] = {}
        self._tails: dict[tuple[str, str], list[str]] = {}
        """The end of what each voice of a turn has said since its last tool call."""
        self._before: dict[tuple[str, str], str] = {}
        """The end of what it had said before that call."""
        self._persons: dict[str, Frame] = {}

    def frame(self, event: SessionEvent) -> Frame:
        """The envelope for what an event says: the session's own, or that of a person in it."""
        if event.person is None:
            return self.own
        self.turn(event).is_heard = True
        key = person_of(event)
        found = self._persons.get(key)
        if found is None:
            person = event.person if isinstance(event.person, dict) else {"id": key}
            found = Frame(self.conversation_id, self.group_id, person)
            keep(self._persons, key, found, OPEN_MAX)
        return found

    def turn_id(self, event: SessionEvent) -> str:
        """The turn that an event is of: the one it names, or the oldest that is open."""
        if isinstance(event.turn_id, str):
            return event.turn_id
        return next((one for one in self._turns if one), "")

    def turn(self, event: SessionEvent) -> Turn:
        key = self.turn_id(event)
        found = self._turns.get(key)
        if found is None:
            found = Turn()
            keep(self._turns, key, found, OPEN_MAX)
        return found

    def end(self, event: SessionEvent) -> Turn | None:
        """The turn that ends here; None if it has ended before."""
        turn, key = self.turn(event), self.turn_id(event)
        del self._turns[key]
        if key in self._ended:
            return None
        if key:
            keep(self._ended, key, None, OPEN_MAX)
        return turn

    def forget(self, turn_id: str) -> None:
        """What was said in a turn that has ended."""
        for kept in (self._tails, self._before):
            for key in [key for key in kept if key[0] in (turn_id, "")]:
                del kept[key]

    def said(self, event: SessionEvent, text: str) -> None:
        self.note(self.turn_id(event), person_of(event), text)

    def note(self, turn_id: str, person: str, text: str) -> None:
        key = turn_id, person
        pieces = self._tails.get(key)
        if pieces is None:
            pieces = []
            keep(self._tails, key, pieces, OPEN_MAX)
        pieces.append(text[-TAIL_CHARS:])
        if len(pieces) > _PIECES_MAX:
            pieces[:] = ["".join(pieces)[-TAIL_CHARS:]]

    def paused(self, event: SessionEvent) -> None:
        """A tool is called: what is said after it is another text."""
        voice = self.turn_id(event), person_of(event)
        said = self._before.get(voice, "") + "".join(self._tails.pop(voice, ()))
        if said:
            keep(self._before, voice, said[-TAIL_CHARS:], OPEN_MAX)

    def has_said(self, event: SessionEvent, turn_id: str, answer: str) -> bool:
        """Whether an answer was streamed already. Its end tells: a machine may put the pieces
        of a long one together in its own way."""
        end = answer.rstrip()[-_COMPARED_CHARS:]
        voices = ((key, person_of(event)) for key in (turn_id, ""))
        return not end or any(self._ends_with(one, end) for one in voices)

    def _ends_with(self, voice: tuple[str, str], end: str) -> bool:
        tail = "".join(self._tails.get(voice, ())).rstrip()
        if tail.endswith(end):
            return True
        # To some machines, the answer is all that they said in the turn, tools or not.
        whole = (self._before.get(voice, "") + tail).rstrip()
        return whole.endswith(end) if tail else whole == end


def person_of(event: SessionEvent) -> str:
    """Who of a group speaks; nobody in particular in any other session."""
    if not isinstance(event.person, dict):
        return text_of(event.person)
    return text_of(event.person.get("id")) or text_of(event.person.get("name"))


def fields_of(person: Any, group_id: str | None) -> dict[str, Any]:
    """How an envelope names a person of a group."""
    if not isinstance(person, dict):
        return {}
    return {"groupId": group_id, "vpId": person.get("id"), "vpName": person.get("name")}

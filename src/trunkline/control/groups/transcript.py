"""What was said in a group, and how a person is told what it missed. A `Reader` of its log."""

from collections import deque
from typing import NamedTuple

from trunkline import limits
from trunkline.control.groups.copying import object_of
from trunkline.control.groups.mentions import USER
from trunkline.control.log.log import Batch, Log, SessionLog
from trunkline.wire.events import text_of

_CONTEXT_SAID_MAX = 200  # things said that are remembered
_CONTEXT_EVENTS_MAX = 5_000  # the newest, in which they are looked for
_MISSED = "[Said in the group since your last turn]"
_MORE = "(what was said before that is left out)"


class Said(NamedTuple):
    event_id: int
    author: str
    person_id: str
    """Empty: the user's."""
    source: tuple[str, int | None]
    """The turn, and the ask that it answers."""
    text: str


class Transcript:
    """The newest things said in one conversation."""

    def __init__(self) -> None:
        self.position = 0
        self._said: deque[Said] = deque(maxlen=_CONTEXT_SAID_MAX)

    async def follow(self, log: Log, session: SessionLog) -> None:
        """Reads what is there, then goes on live."""
        self.position = max(0, session.last_id - _CONTEXT_EVENTS_MAX)
        while self.position < session.last_id:
            found = await log.read(session, self.position, limits.EVENTS_PAGE_MAX)
            for event_id, line in found:
                self._take(event_id, line)
            if not found:
                self.position = session.last_id
        session.attach(self)

    def deliver(self, batch: Batch) -> None:
        for event_id, line in enumerate(batch.lines, batch.first_id):
            self._take(event_id, line)

    def resync(self) -> None:
        """Nothing of this log is ever skipped."""

    def _take(self, event_id: int, line: str) -> None:
        self.position = event_id
        # Most of a log is pieces of answers, which come again whole.
        if '"user_message"' not in line and '"person_complete"' not in line:
            return
        event = object_of(line)
        if event is None or event["type"] not in ("user_message", "person_complete"):
            return
        text = text_of(event.get("content"))[: limits.GROUP_CONTEXT_TEXT_CHARS_MAX]
        author, person_id, ask = USER, "", None
        if event["type"] == "person_complete":
            person, group = event.get("person"), event.get("group")
            if not isinstance(person, dict) or not isinstance(group, dict):
                return  # of the session's former machine
            author, person_id = text_of(person.get("name")), text_of(person.get("id"))
            ask = group.get("ask")
        if text:
            source = (text_of(event.get("turn_id")), ask)
            self._said.append(Said(event_id, author, person_id, source, text))

    def missed_by(
        self, person_id: str, between: range, message: tuple[str, int | None]
    ) -> list[str]:
        """What others said in these events, but for the message itself; the newest that fits."""
        kept: list[str] = []
        room = limits.GROUP_CONTEXT_CHARS_MAX
        for said in reversed(self._said):
            if said.event_id not in between or said.person_id == person_id:
                continue
            if said.source == message:
                continue
            shown = f"{said.author}: {said.text}"
            room -= len(shown)
            if room < 0:
                kept.append(_MORE)
                break
            kept.append(shown)
        return kept[::-1]


def told(author: str, message: str, missed: list[str], introduction: str = "") -> str:
    """What a person is sent: what it missed in front of the message. A user's message that comes
    alone is left as it is."""
    parts = [introduction] if introduction else []
    if missed:
        parts.append("\n".join([_MISSED, *missed]))
    if parts or author != USER:
        parts.append(f"[{author} says to you]\n{message}")
    else:
        parts.append(message)
    return "\n\n".join(parts)

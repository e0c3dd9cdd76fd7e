"""A group's log: how it is written, how a turn is read again from it after a restart, and how a
person is told what it missed of it."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from trunkline import limits
from trunkline.control.errors import Unavailable
from trunkline.control.groups.copying import Json, line_of, object_of
from trunkline.control.groups.listener import Listener
from trunkline.control.groups.mentions import USER
from trunkline.control.groups.parts import Parts
from trunkline.control.groups.round import Ask, Round
from trunkline.control.log.log import Log
from trunkline.control.log.session_log import SessionLog
from trunkline.control.machines.machine import Machine
from trunkline.wire.events import text_of

_CONTEXT_SAID_MAX = 200  # things said that are remembered
_CONTEXT_EVENTS_MAX = 5_000  # the newest, in which they are looked for
_MISSED = "[Said in the group since your last turn]"
_MORE = "(what was said before that is left out)"


class LogWriter:
    """Of one conversation. All that is written in one go is committed in one go."""

    def __init__(self, parts: Parts, machine: Machine, log: SessionLog) -> None:
        self._parts = parts
        self._machine = machine
        self._log = log

    def write(self, round_: Round, event: Json, ask: Ask | None = None) -> bool:
        """False: the turn was ended from elsewhere, and has nothing more to say."""
        if self._machine.core.has_ended(self._log.session_id, round_.turn_id):
            return False
        event["turn_id"] = round_.turn_id
        event.setdefault("ts", self._parts.clock())
        if ask is not None:
            event["person"] = ask.person
        round_.apply(event)
        line = line_of(event)
        self._parts.machines.write(self._machine, self._log, line, is_from_here=True)
        return True

    def note(self, round_: Round, text: str, **group: Any) -> None:
        """Something that people should know of the group itself."""
        note: Json = {"type": "thinking", "stage": "group", "content": text}
        self.write(round_, {**note, "group": group} if group else note)

    def after_commit(self, then: Callable[[], None]) -> None:
        """Calls back when all that was written is on disk."""
        loop = asyncio.get_running_loop()

        def committed(_at: int) -> None:
            loop.call_soon(then)

        self._parts.log.after_commit(self._log, committed)


async def read_again(log: Log, session: SessionLog, round_: Round, events_max: int) -> None:
    """Shows an open turn everything that the log has of it, as far back as it is looked for."""
    begin = await _begin_of(log, session, round_.turn_id, events_max)
    async for page in log.pages(session, begin, session.last_id):
        for _, line in page:
            if round_.turn_id in line or '"approval_resolved"' in line:
                event = object_of(line)
                if event is not None:
                    round_.apply(event)


async def _begin_of(log: Log, session: SessionLog, turn_id: str, events_max: int) -> int:
    """Where the turn's message stands: from the newest page back to the one that has it."""
    last, count = session.last_id, 0
    async for page in log.back(session, last):
        for event_id, line in page:
            if turn_id in line and '"user_message"' in line and _opens(turn_id, line):
                return event_id
        count += len(page)
        if count > events_max:
            raise Unavailable("this turn is too long to be found again after a restart")
    return last  # a crash came before the message was logged: nothing has been done for it


def _opens(turn_id: str, line: str) -> bool:
    event = object_of(line) or {}
    return event.get("type") == "user_message" and event.get("turn_id") == turn_id


class Said(NamedTuple):
    event_id: int
    author: str
    person_id: str
    """Empty: the user's."""
    source: tuple[str, int | None]
    """The turn, and the ask that it answers."""
    text: str


class Transcript(Listener):
    """The newest things said in one conversation."""

    def __init__(self) -> None:
        super().__init__()
        self._said: deque[Said] = deque(maxlen=_CONTEXT_SAID_MAX)

    async def follow(self, log: Log, session: SessionLog) -> None:
        await self.listen(log, session, await log.place_before(session, _CONTEXT_EVENTS_MAX))

    def hear(self, event_id: int, line: str) -> None:
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

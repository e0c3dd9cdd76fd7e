"""What was said to each session and is not answered yet: one active turn, the rest in order.

Foreign servers cancel a message by its name, a session's process ends what runs: who keeps the
line must know which of the two it is. Pure.
"""

from collections import deque
from collections.abc import Callable, Container, Iterator
from typing import Generic, NamedTuple, TypeVar

from trunkline import limits
from trunkline.execution.json_object import Json

WIRE_PROMPTS_CHARS_MAX = 64 * limits.MIB  # of what was said to sessions, active and waiting

T = TypeVar("T")


class Prompt(NamedTuple):
    """A message of a person. `data` is the session's `user_message`."""

    turn_id: str
    data: Json
    address: tuple[str, str] = ("", "")
    """Whom the answer goes to, on wires that say so in every message."""

    @property
    def chars(self) -> int:
        files = self.data.get("metadata", {}).get("attachments", ())
        return len(self.data["message"]) + sum(len(one["base64"]) for one in files)


class Prompts:
    """By session. A session with nothing to do is not here."""

    def __init__(self, waiting_max: int = limits.SESSION_PROMPTS_MAX) -> None:
        """`waiting_max`: of one session, behind the active one."""
        self._waiting_max = waiting_max
        self._sessions: dict[str, deque[Prompt]] = {}
        self._chars = 0
        self.count = 0
        """Of all sessions, active and waiting."""

    def __contains__(self, session_id: object) -> bool:
        return session_id in self._sessions

    def __iter__(self) -> Iterator[str]:
        return iter(self._sessions)

    def __len__(self) -> int:
        """The sessions with an active turn."""
        return len(self._sessions)

    def add(self, session_id: str, prompt: Prompt) -> bool:
        """True: it is the active one now. Raises OverflowError when too many wait."""
        waiting = self._sessions.get(session_id, deque())
        if len(waiting) > self._waiting_max:
            raise OverflowError(f"more than {self._waiting_max} messages wait")
        if self._chars > WIRE_PROMPTS_CHARS_MAX:
            raise OverflowError("the messages that wait on this machine are too large together")
        self._count(prompt, 1)
        waiting.append(prompt)
        self._sessions[session_id] = waiting
        return len(waiting) == 1

    def current(self, session_id: str) -> Prompt | None:
        waiting = self._sessions.get(session_id)
        return waiting[0] if waiting else None

    def has(self, session_id: str, turn_id: str) -> bool:
        return any(one.turn_id == turn_id for one in self._sessions.get(session_id, ()))

    def has_other(self, session_id: str, turn_id: str | None) -> bool:
        """Whether there is more to do when that turn ends (None: the active one)."""
        waiting = self._sessions.get(session_id, deque())
        if turn_id is None:
            return len(waiting) > 1
        return any(one.turn_id != turn_id for one in waiting)

    def ended(self, session_id: str, turn_id: str | None) -> Prompt | None:
        """A turn has its end (None: the active one). The one to be worked on next."""
        waiting = self._sessions.get(session_id)
        ids = [one.turn_id for one in waiting or ()]
        if not waiting or (turn_id is not None and turn_id not in ids):
            return None
        number = 0 if turn_id is None else ids.index(turn_id)
        self._count(waiting[number], -1)
        del waiting[number]
        if number:
            return None
        if waiting:
            return waiting[0]
        del self._sessions[session_id]
        return None

    def forget(self, session_id: str) -> None:
        for prompt in self._sessions.pop(session_id, ()):
            self._count(prompt, -1)

    def _count(self, prompt: Prompt, more: int) -> None:
        self.count += more
        self._chars += more * prompt.chars


class Streams(Generic[T]):
    """What is remembered of each session's stream to the server, made when it is first asked for.
    Bounded: idle ones are forgotten."""

    def __init__(self, make: Callable[[str], T], busy: Container[str]) -> None:
        self._make = make
        self._busy = busy
        self._streams: dict[str, T] = {}

    def of(self, session_id: str) -> T:
        stream = self._streams.pop(session_id, None)
        if stream is None:
            self._make_room()
            stream = self._make(session_id)
        self._streams[session_id] = stream  # the newest last
        return stream

    def forget(self, session_id: str) -> None:
        self._streams.pop(session_id, None)

    def _make_room(self) -> None:
        if len(self._streams) < limits.WIRE_SESSIONS_KNOWN_MAX:
            return
        idle = next((one for one in self._streams if one not in self._busy), None)
        if idle is not None:
            del self._streams[idle]

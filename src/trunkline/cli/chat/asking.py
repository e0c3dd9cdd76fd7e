"""The questions of a session at its prompt: one after the other, each shown whole before it can be
answered, and gone as soon as somebody answers it elsewhere."""

from collections import deque
from typing import TYPE_CHECKING

from trunkline.cli.chat.answers import Answer, NotUnderstood, choices, understood
from trunkline.cli.chat.conversation import approval_name
from trunkline.cli.chat.questions import rows_on_screen
from trunkline.client import ClientError, Event
from trunkline.log_form import one_line

if TYPE_CHECKING:
    from trunkline.cli.chat.room import Room

_TYPING = "a question waits: send or clear what you are typing, then answer it"


class Asking:
    """The questions that wait, the first of them at the prompt."""

    def __init__(self, room: "Room") -> None:
        self._room = room
        self._waiting: deque[Event] = deque()
        self._current: Event | None = None
        self._has_line = False
        """Whether the line is the question's: never one that somebody is already typing."""
        self._answered: set[str] = set()

    def is_answering(self) -> bool:
        if self._current is not None and not self._has_line:
            self._has_line = self._room.screen.is_empty
        return self._current is not None and self._has_line

    def choices(self) -> list[str]:
        if self._current is None:
            return []
        more = f" ({len(self._waiting)} more wait)" if self._waiting else ""
        if not self.is_answering():
            return [_TYPING + more]
        *lines, last = choices(self._current.data)
        return [*lines, last + more]

    def add(self, event: Event) -> None:
        """Asked again after a restart, it is the same one."""
        name = approval_name(event)
        known = [self._current, *self._waiting]
        if name is None or any(one and approval_name(one) == name for one in known):
            return
        self._answered.discard(name)
        self._waiting.append(event)
        self._next()

    def resolved(self, event: Event) -> None:
        name = approval_name(event)
        self._waiting = deque(one for one in self._waiting if approval_name(one) != name)
        if self._current is not None and approval_name(self._current) == name:
            if self.is_answering():
                self._room.screen.clear()
            self._current = None
        if name not in self._answered and event.data.get("answered_by"):
            self._room.spawn(self._told(str(event.data["answered_by"])))
        self._next()

    def entered(self, text: str) -> None:
        current = self._current
        if current is None or approval_name(current) in self._answered:
            return
        try:
            given = understood(current.data, text)
        except NotUnderstood as problem:
            self._room.note(str(problem))
            return
        self._answered.add(approval_name(current) or "")
        self._room.spawn(self._answer(current, given))

    async def _answer(self, event: Event, given: Answer) -> None:
        name = approval_name(event) or ""
        try:
            is_first = await self._room.conversation.answer(event, given)
        except ClientError as error:
            self._answered.discard(name)
            self._room.note(f"not answered: {one_line(str(error))}")
            return
        if not is_first:
            self._answered.discard(name)  # the log says whose answer counts

    async def _told(self, user_id: str) -> None:
        self._room.note(f"answered by {await self._room.facts.name_of(user_id)}")

    def _next(self) -> None:
        if self._current is not None or not self._waiting:
            return
        self._current, self._has_line = self._waiting.popleft(), False
        text = self._room.transcript.feed(self._current)
        screen = self._room.screen
        screen.write(text)
        if rows_on_screen(text, screen.columns) >= screen.rows - len(choices(self._current.data)):
            self._room.page(text)

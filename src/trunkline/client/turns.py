"""One turn: which events are its own, and what became of it. No I/O."""

import inspect
from collections.abc import Awaitable, Callable, Iterable

from trunkline.client.errors import TurnFailed
from trunkline.client.models import Answer, Event, Reply

Reaction = Reply | bool | None
"""To a question: a reply, yes or no in short, or None to leave it to somebody else."""
OnQuestion = Callable[[Event], Reaction | Awaitable[Reaction]]


class Turn:
    """Feed it the session's events in order. `ahead`: the turns that were open before it, the
    oldest first; a machine that names no turn in its events ends them in this order."""

    def __init__(self, turn_id: str, ahead: Iterable[str] = ()) -> None:
        self.id = turn_id
        self._ahead = list(ahead)
        self._others = set(self._ahead)
        self._has_begun = False
        self._text: list[str] = []
        self._usage: dict[str, object] | None = None
        self._end: Event | None = None

    @property
    def is_over(self) -> bool:
        return self._end is not None

    def take(self, event: Event) -> bool:
        """Whether it is one of its own. What comes before its message tells of others."""
        name = event.data.get("turn_id")
        if event.type == "user_message" and name and not event.data.get("steers"):
            if name == self.id:
                self._has_begun = True
                return True
            self._others.add(name)
            if not self._has_begun and name not in self._ahead:
                self._ahead.append(name)
            return False
        if event.ends_turn:
            return self._take_end(event, name)
        if not self._has_begun or (name != self.id and (name is not None or self._ahead)):
            return False
        if event.type == "text_chunk":
            self._text.append(event.text)
        elif event.type == "usage":
            self._usage = event.data
        return True

    def _take_end(self, event: Event, name: str | None) -> bool:
        if name in self._others:
            self._ahead = [one for one in self._ahead if one != name]
            return False
        if name != self.id and (self._ahead or not self._has_begun):
            self._ahead = self._ahead[1:]
            return False
        self._end = event
        return True

    def answer(self) -> Answer:
        """After its end; raises TurnFailed."""
        if self._end is None:
            raise RuntimeError("the turn has not ended")
        data = self._end.data
        if self._end.type == "execution_error":
            message = str(data.get("error") or "the turn failed")
            raise TurnFailed(str(data.get("code") or "UNKNOWN"), message, self.id)
        whole = data.get("content") or data.get("final_response") or "".join(self._text)
        return Answer(
            text=str(whole),
            turn_id=self.id,
            is_cancelled=data.get("cancelled") is True,
            usage=self._usage,
            last_event_id=self._end.id or 0,
        )


async def reaction_to(event: Event, on_question: OnQuestion) -> Reply | None:
    """What a caller's function says to a question."""
    said = on_question(event)
    if inspect.isawaitable(said):
        said = await said
    return Reply(said) if isinstance(said, bool) else said


SyncOnQuestion = Callable[[Event], Reaction]
Here = Callable[[Callable[[], None]], Awaitable[None]]


def asked_in(here: Here, on_question: SyncOnQuestion) -> OnQuestion:
    """A caller's function, called where `here` calls things."""

    async def ask(event: Event) -> Reaction:
        said: list[Reaction] = []
        await here(lambda: said.append(on_question(event)))
        return said[0]

    return ask

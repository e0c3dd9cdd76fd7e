"""One turn of a group: who was asked, by whom, what became of it; and when it is enough. Pure.

Everything it knows it has from events of the group's log: what is written now and what is read
again after a restart go through the same `apply`.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from trunkline import limits
from trunkline.control.clock import Clock
from trunkline.control.groups.mentions import USER, Named

Json = dict[str, Any]


class Ask(msgspec.Struct):
    """One person, asked once."""

    number: int
    person_id: str
    name: str
    depth: int = 0
    cause: int | None = None
    """The ask whose answer addressed this person; None: the user's message."""
    copied_id: int = 0
    """The newest event of the person's session that the group's log has of it."""
    pieces: list[str] = []
    """What it said so far: the answer of a machine whose end does not repeat it."""
    chars: int = 0
    content: str = ""
    error: str | None = None
    is_done: bool = False

    @property
    def person(self) -> Json:
        return {"id": self.person_id, "name": self.name}

    def add(self, piece: str) -> None:
        if self.chars < limits.GROUP_ANSWERS_CHARS_MAX:
            self.pieces.append(piece)
            self.chars += len(piece)

    def finish(self, content: str, error: str | None = None) -> None:
        self.content, self.error, self.is_done = content, error, True
        self.pieces.clear()


class Question(msgspec.Struct):
    """What a person's machine asked, and where it wants the answer."""

    ask: int
    session_id: str
    request_id: str
    is_settled: bool = False


class Round:
    """The group's turn, from the user's message until everybody is done."""

    def __init__(
        self, turn_id: str, message: str, metadata: Json, persons: Sequence[Named]
    ) -> None:
        self.turn_id = turn_id
        self.message = message
        self.metadata = metadata
        self.persons = persons
        self.asks: dict[int, Ask] = {}
        self.questions: dict[str, Question] = {}
        self.is_cancelled = False
        self.is_dropped = False
        """The whole conversation was closed."""

    def apply(self, event: Json) -> None:
        """Takes an event of the group's log; those of other turns mean nothing."""
        if event.get("turn_id") != self.turn_id:
            if event.get("type") == "approval_resolved":
                self._settle(event)
            return
        kind, group = event.get("type"), event.get("group")
        if kind == "approval_resolved":
            self._settle(event)
        if not isinstance(group, dict):
            return
        if group.get("cancelling"):
            self.is_cancelled = True
        elif kind == "person_start":
            self._start(event, group)
        elif (ask := self.asks.get(group.get("ask", 0))) is not None:
            ask.copied_id = max(ask.copied_id, group.get("event_id", 0))
            self._heard(ask, event, group)

    def _start(self, event: Json, group: Json) -> None:
        person = event["person"]
        ask = Ask(group["ask"], person["id"], person["name"], group["depth"], group.get("cause"))
        self.asks[ask.number] = ask

    def _heard(self, ask: Ask, event: Json, group: Json) -> None:
        kind = event["type"]
        if kind == "text_chunk" and isinstance(piece := event.get("content"), str):
            ask.add(piece)
        elif kind == "person_complete":
            ask.finish(event["content"])
        elif kind == "person_error":
            ask.finish("", event["error"])
        elif kind == "approval_request":
            self.questions[event["request_id"]] = Question(
                ask.number, group["session_id"], group["request_id"]
            )

    def _settle(self, event: Json) -> None:
        question = self.questions.get(str(event.get("request_id")))
        if question is not None:
            question.is_settled = True

    def key(self, ask: Ask) -> str:
        """The `client_message_id` of what the person is told: told twice, it is heard once."""
        return f"{self.turn_id}:{ask.number}"

    def open(self) -> list[Ask]:
        return [ask for ask in self.asks.values() if not ask.is_done]

    @property
    def is_over(self) -> bool:
        return not self.open()

    def is_void(self) -> bool:
        """Nobody is to be asked any more."""
        return self.is_cancelled or self.is_dropped

    @property
    def is_full(self) -> bool:
        return len(self.asks) >= limits.GROUP_ASKS_MAX

    def starts(
        self, person_ids: Sequence[str], depth: int = 0, cause: Ask | None = None
    ) -> Iterator[Json]:
        """The `person_start` of each of these, numbered on."""
        names = {one.id: one.name for one in self.persons}
        for number, person_id in enumerate(person_ids, len(self.asks) + 1):
            group: Json = {"ask": number, "depth": depth}
            if cause is not None:
                group |= {"cause": cause.number, "by": cause.name}
            person = {"id": person_id, "name": names[person_id]}
            yield {"type": "person_start", "person": person, "group": group}

    def message_for(self, ask: Ask) -> tuple[str, str]:
        """Who says what to that person."""
        if ask.cause is None:
            return USER, self.message
        cause = self.asks[ask.cause]
        return cause.name, cause.content[: limits.MESSAGE_CHARS_MAX]

    def attachments_for(self, ask: Ask) -> Any:
        """The message's, for everybody once."""
        before = (one for one in self.asks.values() if one.number < ask.number)
        if any(one.person_id == ask.person_id for one in before):
            return None
        return self.metadata.get("attachments")

    def end(self) -> Json:
        """The turn's end: the answers under their names; an error if there is not one."""
        answers = [ask for ask in self.asks.values() if ask.is_done and ask.error is None]
        if not answers and not self.is_cancelled:
            problems = "; ".join(f"{ask.name}: {ask.error}" for ask in self.asks.values())
            error = f"nobody answered: {problems}" if problems else "there is nobody in this group"
            error = error[: limits.GROUP_ANSWERS_CHARS_MAX]
            return {"type": "execution_error", "error": error, "code": "GROUP_FAILED"}
        room = limits.GROUP_ANSWERS_CHARS_MAX // max(1, len(self.asks))
        content = "\n\n".join(_shown(ask, room) for ask in self.asks.values())
        end: Json = {"type": "execution_complete", "content": content}
        return {**end, "cancelled": True} if self.is_cancelled else end


def _shown(ask: Ask, room: int) -> str:
    if ask.error is not None:
        return f"{ask.name} did not answer: {ask.error[:room]}"
    return f"{ask.name}: {ask.content[:room]}"


class Guard:
    """Stops the persons of one conversation that keep each other talking.

    Only what answers set off is counted: whoever asks by hand may ask as often as they like.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        depth_max: int = limits.GROUP_DEPTH_MAX,
        hits_max: int = limits.GROUP_HITS_MAX,
        hits_s: float = limits.GROUP_HITS_S,
    ) -> None:
        self._clock = clock
        self._depth_max = depth_max
        self._hits_max = hits_max
        self._hits_ms = int(hits_s * 1000)
        self._hits: dict[str, deque[int]] = {}

    def refusal(self, person_id: str, depth: int) -> str | None:
        """Counts one more hit of that person; why not, if it is one too many."""
        if depth > self._depth_max:
            return f"answers went back and forth {self._depth_max} times"
        now = self._clock()
        hits = self._hits.setdefault(person_id, deque())
        while hits and now - hits[0] >= self._hits_ms:
            hits.popleft()
        if len(hits) >= self._hits_max:
            return f"addressed {self._hits_max} times within {self._hits_ms / 1000:g} s"
        hits.append(now)
        return None

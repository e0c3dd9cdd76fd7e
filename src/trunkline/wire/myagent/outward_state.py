"""What a translation to MyAgent messages remembers of one session: open turns, tool calls, steps of
plans, questions. Bounded, whatever comes. Used by `outward` and its handlers."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from trunkline.wire.events import BoundedText, SessionEvent, keep, text_of
from trunkline.wire.myagent import messages as names
from trunkline.wire.myagent.identifiers import turn_step
from trunkline.wire.myagent.messages import Downlink, Json
from trunkline.wire.myagent.pieces import Piece, Stream

_TURNS_MAX = 100
_CALLS_MAX = 1_000
_QUESTIONS_MAX = 200
_STREAMS_MAX = 100
_STREAM_KEY_CHARS_MAX = 2_000
_PLAN_STEPS_MAX = 200
_ASKED_CHARS_MAX = 1_000
_JSON_CHARS_MAX = 100_000
_KEY_CHARS_MAX = 200


class Turn:
    """One message of a user until its end."""

    __slots__ = (
        "_streams",
        "asked",
        "chunks",
        "event_id",
        "id",
        "model",
        "plan_step",
        "steps",
        "streamed",
        "task_count",
        "tokens",
        "ts",
    )

    def __init__(self, turn_id: str, event_id: int, ts: int | None, text_chars_max: int) -> None:
        self.id = turn_id
        self.event_id = event_id
        """Of the message, in its session's log; as far as is known."""
        self.ts = ts
        self.asked = ""
        """How the message begins."""
        self.chunks = 0
        self.streamed = BoundedText(text_chars_max)
        self.tokens: int | None = None
        self.model: str | None = None
        self.plan_step = ""
        self.task_count: int | None = None
        self.steps: dict[str, Json] = {}
        """Tasks of its plan that were begun, by their names, and have not ended."""
        self._streams: dict[str, Stream] = {}

    def add(self, text: str) -> int:
        """The number of that piece in the turn, from 0."""
        self.chunks += 1
        self.streamed.add(text)
        return self.chunks - 1

    def stream(self, turn_id: str, person: Any) -> Stream:
        """What is said under that name by that person of a group, if it is one."""
        key = f"{turn_id}\0{text_of(person)}" if person else turn_id
        found = self._streams.get(key)
        if found is None:
            metadata: Json = {"turn_id": turn_id} if turn_id else {}
            if person:
                metadata["person"] = person
            step_id, speaker = turn_step(self.event_id, "answer"), _speaker(turn_id, person)
            found = Stream(names.PARTIAL_ANSWER, step_id, speaker, metadata)
            keep(self._streams, key, found, _STREAMS_MAX)
        return found

    def begin_step(self, name: str, task: Json) -> None:
        keep(self.steps, _key(name), task, _PLAN_STEPS_MAX)

    def end_step(self, name: str) -> None:
        self.steps.pop(_key(name), None)


class Call(NamedTuple):
    step_id: str
    ts: int | None


class Underway:
    """What is under way in one session. An event that names no turn, or one that is not open, is
    of the oldest open turn."""

    def __init__(self, text_chars_max: int) -> None:
        self._text_chars_max = text_chars_max
        self._turns: dict[str, Turn] = {}
        self._unasked: Turn | None = None
        """What a machine does though nobody has said anything, as far as is known."""
        self._has_seen_end = False
        self._calls: list[tuple[tuple[str, str], Call]] = []
        self._questions: dict[str, str] = {}
        self._thoughts: dict[tuple[str, ...], Stream] = {}

    @property
    def is_busy(self) -> bool:
        """A turn runs. What comes though none is open may be of one that began before the first
        event that was seen here; behind a turn's end it is late, and no work."""
        return bool(self._turns) or (self._unasked is not None and not self._has_seen_end)

    @property
    def active(self) -> Turn | None:
        """The oldest that is open."""
        return next(iter(self._turns.values()), self._unasked)

    def begin(self, turn_id: str, event_id: int, ts: int | None, text: str) -> Turn:
        self._unasked = None
        turn = Turn(_key(turn_id), event_id, ts, self._text_chars_max)
        turn.asked = text[:_ASKED_CHARS_MAX]
        keep(self._turns, turn.id, turn, _TURNS_MAX)
        return turn

    def find(self, turn_id: str) -> Turn | None:
        """The one that an event belongs to, if any is open."""
        return self._turns.get(_key(turn_id)) or self.active

    def turn(self, turn_id: str, event_id: int) -> Turn:
        """The same; what an event with that number says though none is open is a turn, too."""
        found = self.find(turn_id)
        if found is None:
            found = self._unasked = Turn(_key(turn_id), event_id, None, self._text_chars_max)
        return found

    def thoughts(self, event_id: int, event: SessionEvent, metadata: Json) -> Stream | None:
        """The stream of what is thought there in pieces, which that event goes on with; None for
        one that is too oddly named to be remembered."""
        turn_id = text_of(event.turn_id)
        turn = self.find(turn_id)
        speaker = _speaker(turn_id, event.person, text_of(event.agent))
        key = str(turn.event_id if turn else ""), speaker, *map(text_of, metadata.values())
        if sum(map(len, key)) > _STREAM_KEY_CHARS_MAX:
            return None
        found = self._thoughts.get(key)
        if found is None:
            step_id = turn_step(turn.event_id if turn else event_id, "thinking")
            found = Stream(names.THINKING, step_id, speaker, whose(metadata, event))
            keep(self._thoughts, key, found, _STREAMS_MAX)
        return found

    def end(self, turn_id: str, event_id: int) -> Turn:
        turn = self.turn(turn_id, event_id)
        self._turns.pop(turn.id, None)
        self._unasked = None
        self._has_seen_end = True
        if not self._turns:
            self._calls.clear()
            self._questions.clear()
        return turn

    def begin_call(self, kind: str, call_id: str, name: str, step_id: str, ts: int | None) -> None:
        self._calls.append(((kind, _key(call_id or name)), Call(step_id, ts)))
        del self._calls[:-_CALLS_MAX]

    def end_call(self, kind: str, call_id: str, name: str) -> Call | None:
        """The oldest that runs under that name."""
        wanted = kind, _key(call_id or name)
        for index, (key, call) in enumerate(self._calls):
            if key == wanted:
                del self._calls[index]
                return call
        return None

    def ask(self, request_id: str, step_id: str) -> None:
        keep(self._questions, _key(request_id), step_id, _QUESTIONS_MAX)

    def settle(self, request_id: str) -> str | None:
        """The step of a question that was open."""
        return self._questions.pop(_key(request_id), None)


class Outward:
    """The translation of one session's events."""

    def __init__(
        self,
        session_id: str,
        now: Callable[[], int],
        *,
        typed: bool = False,
        llm_messages: bool = False,
        confirm_timeout_s: float,
        text_chars_max: int,
    ) -> None:
        self.session_id = session_id
        self.now = now
        self.typed = typed
        self.llm_messages = llm_messages
        self.confirm_timeout_s = confirm_timeout_s
        self.underway = Underway(text_chars_max)


def whose(own: Json, event: SessionEvent) -> Json:
    """What is said of a message, and whose it is: the turn, a person of a group, a helper."""
    shown = {name: value for name, value in own.items() if value is not None}
    for name, value in (
        ("turn_id", text_of(event.turn_id)),
        ("person", event.person),
        ("agent", text_of(event.agent)),
    ):
        if value:
            shown.setdefault(name, value)
    return shown


Made = list[Downlink | Piece]
Handler = Callable[[Outward, int, SessionEvent], Made]


def busy(turn: Turn) -> Downlink:
    """That the turn runs. Pages show work, and the button that stops it, from an `agent.thinking`
    on, and take the end of a plan or of a task for the end of the work."""
    return Downlink(
        names.THINKING,
        step_id=turn_step(turn.event_id, "thinking"),
        content="Working on it.",
        metadata={"thinking_type": "analysis", "stage": "turn", "turn_id": turn.id or None},
    )


def llm_message(state: Outward, role: str, text: str, step_id: str | None = None) -> Made:
    """A line of the conversation with the model, where those are asked for."""
    if not state.llm_messages or not text:
        return []
    return [Downlink(names.LLM_MESSAGE, step_id=step_id, content=text, metadata={"role": role})]


def answer_type(given: Any, answer: str) -> str:
    """`structured` for what came as an object, else what the text looks like."""
    if given is not None and not isinstance(given, str):
        return "structured"
    text = answer.strip()
    if text.startswith("```") and text.endswith("```") and text.count("```") == 2:
        return "code"
    if text[:1] in ("{", "[") and text[-1:] in ("}", "]") and len(text) <= _JSON_CHARS_MAX:
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return "text"
        return "json"
    return "text"


def number(value: Any) -> int | None:
    """A count or a time, as far as it is one that JSON readers agree on."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value < 2**53 else None


def ms_between(start: int | None, end: Any) -> int | None:
    stop = number(end)
    return None if start is None or stop is None else max(0, stop - start)


def _speaker(turn_id: str, person: Any, agent: str = "") -> str:
    return f"{turn_id}\0{text_of(person) if person else ''}\0{agent}"


def _key(name: str) -> str:
    return name[:_KEY_CHARS_MAX]

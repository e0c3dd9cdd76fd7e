"""What a translation to MyAgent messages remembers of one session: open turns, tool calls,
questions. Bounded, whatever comes. Used by `outward` and its handlers."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from trunkline.wire.events import BoundedText, SessionEvent, keep
from trunkline.wire.myagent import messages as names
from trunkline.wire.myagent.messages import Downlink

_TURNS_MAX = 100
_CALLS_MAX = 1_000
_QUESTIONS_MAX = 200
_JSON_CHARS_MAX = 100_000
_KEY_CHARS_MAX = 200


class Turn:
    """One message of a user until its end."""

    __slots__ = ("chunks", "id", "model", "plan_step", "streamed", "tokens", "ts")

    def __init__(self, turn_id: str, ts: int | None, text_chars_max: int) -> None:
        self.id = turn_id
        self.ts = ts
        self.chunks = 0
        self.streamed = BoundedText(text_chars_max)
        self.tokens: int | None = None
        self.model: str | None = None
        self.plan_step = ""

    def add(self, text: str) -> int:
        """The number of that piece in the turn, from 0."""
        self.chunks += 1
        self.streamed.add(text)
        return self.chunks - 1


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
        self._calls: list[tuple[tuple[str, str], Call]] = []
        self._questions: dict[str, str] = {}

    @property
    def is_busy(self) -> bool:
        return bool(self._turns) or self._unasked is not None

    def begin(self, turn_id: str, ts: int | None) -> None:
        self._unasked = None
        turn = Turn(_key(turn_id), ts, self._text_chars_max)
        keep(self._turns, turn.id, turn, _TURNS_MAX)

    def turn(self, turn_id: str) -> Turn:
        oldest = next(iter(self._turns.values()), None)
        found = self._turns.get(_key(turn_id)) or oldest or self._unasked
        if found is None:
            found = self._unasked = Turn(_key(turn_id), None, self._text_chars_max)
        return found

    def end(self, turn_id: str) -> Turn:
        turn = self.turn(turn_id)
        self._turns.pop(turn.id, None)
        self._unasked = None
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


Handler = Callable[[Outward, int, SessionEvent], list[Downlink]]


def llm_message(state: Outward, role: str, text: str, step_id: str | None = None) -> list[Downlink]:
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


def _key(name: str) -> str:
    return name[:_KEY_CHARS_MAX]

"""What is under way in a session: open turns, tool calls, questions. Bounded, whatever comes."""

import json
from typing import Any, NamedTuple

_TURNS_MAX = 100
_CALLS_MAX = 1_000
_QUESTIONS_MAX = 200
_JSON_CHARS_MAX = 100_000
_KEY_CHARS_MAX = 200


class Turn:
    """One message of a user until its end."""

    __slots__ = ("_parts", "_room", "chunks", "id", "is_cut", "model", "plan_step", "tokens", "ts")

    def __init__(self, turn_id: str, ts: int | None, text_chars_max: int) -> None:
        self.id = turn_id
        self.ts = ts
        self.chunks = 0
        self.is_cut = False
        """There was more text than is kept: the beginning of it."""
        self.tokens: int | None = None
        self.model: str | None = None
        self.plan_step = ""
        self._parts: list[str] = []
        self._room = text_chars_max

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def add(self, text: str) -> int:
        """The number of that piece in the turn, from 0."""
        self.chunks += 1
        if not self.is_cut:
            self._parts.append(text[: self._room])
            self.is_cut = len(text) > self._room
            self._room -= len(text)
        return self.chunks - 1


class Call(NamedTuple):
    step_id: str
    ts: int | None


class Underway:
    """Of one session. Events without a turn's name, or with a strange one, are of the oldest."""

    def __init__(self, text_chars_max: int) -> None:
        self._text_chars_max = text_chars_max
        self._turns: dict[str, Turn] = {}
        self._loose: Turn | None = None
        """What a machine does though nobody has said anything, as far as is known."""
        self._calls: list[tuple[tuple[str, str], Call]] = []
        self._questions: dict[str, str] = {}

    @property
    def is_busy(self) -> bool:
        return bool(self._turns) or self._loose is not None

    def begin(self, turn_id: str, ts: int | None) -> None:
        self._loose = None
        turn = Turn(_key(turn_id), ts, self._text_chars_max)
        self._turns[turn.id] = turn
        _shorten(self._turns, _TURNS_MAX)

    def turn(self, turn_id: str) -> Turn:
        found = (
            self._turns.get(_key(turn_id)) or next(iter(self._turns.values()), None) or self._loose
        )
        if found is None:
            found = self._loose = Turn(_key(turn_id), None, self._text_chars_max)
        return found

    def end(self, turn_id: str) -> Turn:
        turn = self.turn(turn_id)
        self._turns.pop(turn.id, None)
        self._loose = None
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
        self._questions[_key(request_id)] = step_id
        _shorten(self._questions, _QUESTIONS_MAX)

    def settle(self, request_id: str) -> str | None:
        """The step of a question that was open."""
        return self._questions.pop(_key(request_id), None)


def _key(name: str) -> str:
    return name[:_KEY_CHARS_MAX]


def _shorten(kept: dict[Any, Any], count_max: int) -> None:
    while len(kept) > count_max:
        del kept[next(iter(kept))]


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

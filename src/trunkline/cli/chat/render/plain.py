"""A session's events as plain text: for pipes, whose reader wants the answer, and for terminals
that can do no more. Text in, text out, no I/O.

Persons of a group answer side by side: shown piece by piece, their words would run into each other,
so each answer is shown whole, under its person's name. Whatever a model or a tool wrote is shown
with its control characters escaped.
"""

import json
from typing import TYPE_CHECKING, Any, Literal

from trunkline.cli.chat.questions import question, speaker
from trunkline.log_form import one_line

if TYPE_CHECKING:
    from trunkline.client import Event

_SHORT_CHARS = 300
_STEPS = frozenset(
    # What a person said before one of these is shown above it.
    ("tool_call_start", "skill_call_start", "mcp_call_start", "approval_request")
)


def printable(text: str) -> str:
    """Line ends and tabs stay, everything else that acts on a terminal is escaped."""
    return "\n".join(
        "\t".join(one_line(piece) for piece in line.split("\t")) for line in text.split("\n")
    )


class _Persons:
    """What persons have said and is not shown yet, by person and turn."""

    def __init__(self) -> None:
        self._unshown: dict[tuple[str, str], tuple[str, list[str]]] = {}
        self._turns: set[str] = set()
        """Open turns in which at least one of them has spoken."""

    def said(self, data: dict[str, Any], text: str) -> None:
        self._turns.add(_turn(data))
        _, pieces = self._unshown.setdefault(_key(data), (speaker(data), []))
        pieces.append(text)

    def so_far(self, data: dict[str, Any]) -> str:
        """What the person of this event said and is not shown yet; then it counts as shown."""
        _, pieces = self._unshown.get(_key(data), ("", []))
        text = "".join(pieces)
        pieces.clear()
        return text

    def done(self, data: dict[str, Any], answer: str) -> str:
        """The rest of what the person of this event said: the answer, if it was not in pieces."""
        if answer:
            self._turns.add(_turn(data))
        if _key(data) not in self._unshown:
            return answer
        _, pieces = self._unshown.pop(_key(data))
        return "".join(pieces)

    def turn_over(self, data: dict[str, Any]) -> tuple[bool, list[tuple[str, str]]]:
        """Whether anybody was heard in the turn that this event ends, and what some of them, by
        name, had said without coming to an end."""
        turn = _turn(data)
        was_heard = turn in self._turns
        self._turns.discard(turn)
        left = [key for key in self._unshown if key[1] == turn]
        return was_heard, [(name, "".join(pieces)) for name, pieces in map(self._unshown.pop, left)]


class Plain:
    """Turns events into pieces of text; knows whether the cursor is at the start of a line.

    `part`: `answer` for what was said alone, `rest` for all but that, each for a stream of its own.
    """

    def __init__(self, part: Literal["all", "answer", "rest"] = "all") -> None:
        self._part = part
        self._at_start = True
        self._said_text = False
        self._persons = _Persons()

    def feed(self, event: "Event") -> str:
        """What to print for that event; empty for what a person need not see."""
        if name := speaker(event.data):
            return self._of_person(name, event)
        return self._of_session(event)

    def end(self) -> str:
        """Nothing more is fed for now: the line is ended."""
        return self._newline()

    def _of_person(self, name: str, event: "Event") -> str:
        data = event.data
        match event.type:
            case "text_chunk":
                self._persons.said(data, _text(data.get("content")))
                return ""
            case "person_start":
                return self._line(_asked(name, data.get("group")))
            case "person_complete":
                answer = self._persons.done(data, _text(data.get("content")))
                return self._answer(name, answer) + (
                    self._line(f"{name}: (cancelled)") if data.get("cancelled") else ""
                )
            case "person_error":
                begun = self._answer(name, self._persons.done(data, ""))
                return begun + self._line(f"{name}: error: {_text(data.get('error'))}")
            case kind if kind in _STEPS:
                before = self._answer(name, self._persons.so_far(data))
                return before + self._of_session(event, f"{name}: ")
            case _:
                return self._of_session(event, f"{name}: ")

    def _of_session(self, event: "Event", who: str = "") -> str:
        """`who` stands before what a person does."""
        data = event.data
        match event.type:
            case "text_chunk":
                self._said_text = True
                return self._flow(_text(data.get("content")))
            case "thinking":
                return self._line(who + _text(data.get("content")))
            case "tool_call_start" | "skill_call_start" | "mcp_call_start":
                given = data.get("tool_input", data.get("arguments", data.get("input")))
                return self._line(f"{who}→ {_name(data)} {_short(given)}".rstrip())
            case "tool_call_complete" | "skill_call_complete" | "mcp_call_complete":
                return self._line(f"{who}← {_name(data)} {_short(_result(data))}".rstrip())
            case "tool_call_progress":
                return self._line(who + _text(data.get("content")).rstrip("\n"))
            case "approval_request":
                return self._line(f"? {question(data)}")
            case "approval_resolved":
                return self._line(who + ("allowed" if data.get("confirmed") else "not allowed"))
            case "file_created":
                return self._line(f"{who}file: {_short(data.get('path', data.get('name')))}")
            case "file_changed" if data.get("change") != "created":
                counts = f"+{_short(data.get('additions'))} -{_short(data.get('deletions'))}"
                what = f"{_short(data.get('change'))}: {_short(data.get('path'))} {counts}"
                return self._line(f"{who}{what}")
            case "plan":
                plan = data.get("content", data.get("steps"))
                return self._line(f"{who}plan: {_short(plan)}")
            case "context_compacted":
                return self._line(who + _compacted(data))
            case "session_status":
                status = _status(data)
                return self._line(status) if status else ""
            case "user_message" if "steers" in data:
                return self._line(f"↳ {_text(data.get('content'))} (for the next step)")
            case "steer_missed":
                return self._line("↳ that turn has ended: it is a turn of its own now")
            case "user_message":
                return self._line(f"> {_text(data.get('content'))}")
            case "resync":
                return self._line("(catching up)")
            case "execution_complete":
                return self._ending(data)
            case "execution_error":
                self._said_text = False
                _, left = self._left(data)
                said = data.get("error", data.get("message", data.get("content")))
                return left + self._line(f"error: {_text(said)}")
            case _:
                return ""

    def _ending(self, data: dict[str, Any]) -> str:
        was_heard, shown = self._left(data)
        said, self._said_text = self._said_text or was_heard, False
        text = _text(data.get("final_response", data.get("content")))
        if text and not said:
            shown += self._flow(text)
        if data.get("cancelled"):
            return shown + self._line("(cancelled)")
        return shown + self._newline()

    def _left(self, data: dict[str, Any]) -> tuple[bool, str]:
        """Whether persons were heard in the turn that ends, and what is left of their words."""
        was_heard, left = self._persons.turn_over(data)
        return was_heard, "".join(self._answer(name, text) for name, text in left)

    def _answer(self, name: str, text: str) -> str:
        """What a person said, whole, under their name."""
        text = text.strip("\n")
        return self._newline() + self._flow(f"{name}: {text}\n") if text else ""

    def _flow(self, text: str) -> str:
        if self._part == "rest":
            return ""
        shown = printable(text)
        if shown:
            self._at_start = shown.endswith("\n")
        return shown

    def _line(self, text: str) -> str:
        before = self._newline()
        return before if self._part == "answer" else f"{before}{printable(text)}\n"

    def _newline(self) -> str:
        if self._at_start:
            return ""
        self._at_start = True
        return "\n"


def _compacted(data: dict[str, Any]) -> str:
    if data.get("how") == "nothing":
        return f"nothing was shortened: {_text(data.get('reason'))}"
    before, after = data.get("before_tokens"), data.get("after_tokens")
    return f"the conversation was shortened: {_short(before)} → {_short(after)} tokens"


def _key(data: dict[str, Any]) -> tuple[str, str]:
    person = data.get("person")
    return str(person.get("id") if isinstance(person, dict) else None), _turn(data)


def _turn(data: dict[str, Any]) -> str:
    return str(data.get("turn_id"))


def _status(data: dict[str, Any]) -> str:
    """What became of the machine, or what the session has to do without."""
    if message := data.get("message"):
        return _text(message)
    problems = data.get("problems")
    if isinstance(problems, list) and problems:
        return "; ".join(_text(one) for one in problems)
    if any(name in data for name in ("ready", "commands", "resume")):
        return ""  # told for programs
    said = f"the machine is {_text(data.get('machine') or 'there')}"
    missing = data.get("degraded")
    if isinstance(missing, list) and missing:
        said += f"; without its line, not: {', '.join(_text(one) for one in missing)}"
    return said


def _asked(name: str, group: Any) -> str:
    """Who is to speak, and on whose account if it was not the user who asked."""
    by = group.get("by") if isinstance(group, dict) else None
    return f"{name} is asked" + (f" by {one_line(_text(by))}" if by else "")


def _name(data: dict[str, Any]) -> str:
    return one_line(_text(data.get("tool_name", data.get("skill_name", data.get("name", "?")))))


def _result(data: dict[str, Any]) -> Any:
    return data.get("error") or data.get("result")


def _short(value: Any) -> str:
    if value is None or value == {}:
        return ""
    text = one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _SHORT_CHARS else text[:_SHORT_CHARS] + "…"


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

"""A session's events as a person reads them in a terminal. Text in, text out, no I/O.

Whatever a model or a tool wrote is shown with its control characters escaped.
"""

import json
from typing import Any

from trunkline.client import Event
from trunkline.control.redaction import one_line

_SHORT_CHARS = 300


def printable(text: str) -> str:
    """Line ends and tabs stay, everything else that acts on a terminal is escaped."""
    return "\n".join(
        "\t".join(one_line(piece) for piece in line.split("\t")) for line in text.split("\n")
    )


class Transcript:
    """Turns events into pieces of text; knows whether the cursor is at the start of a line."""

    def __init__(self, *, colours: bool = False) -> None:
        self._colours = colours
        self._at_start = True
        self._said_text = False

    def render(self, event: Event) -> str:
        """What to print for that event; empty for what a person need not see."""
        data = event.data
        match event.type:
            case "text_chunk":
                self._said_text = True
                return self._flow(_text(data.get("content")))
            case "thinking":
                return self._line(_text(data.get("content")), "2")
            case "tool_call_start" | "skill_call_start" | "mcp_call_start":
                given = data.get("tool_input", data.get("arguments", data.get("input")))
                return self._line(f"→ {_name(data)} {_short(given)}".rstrip(), "36")
            case "tool_call_complete" | "skill_call_complete" | "mcp_call_complete":
                return self._line(f"← {_name(data)} {_short(_result(data))}".rstrip(), "36")
            case "tool_call_progress":
                return self._line(_text(data.get("content")).rstrip("\n"), "2")
            case "approval_request":
                return self._line(f"? {question(data)}", "33")
            case "approval_resolved":
                return self._line("allowed" if data.get("confirmed") else "not allowed", "33")
            case "file_created":
                return self._line(f"file: {_short(data.get('path', data.get('name')))}", "36")
            case "plan":
                return self._line(f"plan: {_short(data.get('content', data.get('steps')))}", "36")
            case "session_status":
                return self._line(_status(data), "33")
            case "user_message":
                return self._line(f"> {_text(data.get('content'))}", "1")
            case "resync":
                return self._line("(catching up)", "2")
            case "execution_complete":
                return self._ending(data)
            case "execution_error":
                self._said_text = False
                said = data.get("error", data.get("message", data.get("content")))
                return self._line(f"error: {_text(said)}", "31")
            case _:
                return ""

    def _ending(self, data: dict[str, Any]) -> str:
        said, self._said_text = self._said_text, False
        text = _text(data.get("final_response", data.get("content")))
        shown = self._flow(text) if text and not said else ""
        if data.get("cancelled"):
            return shown + self._line("(cancelled)", "33")
        return shown + self._newline()

    def _flow(self, text: str) -> str:
        shown = printable(text)
        if shown:
            self._at_start = shown.endswith("\n")
        return shown

    def _line(self, text: str, colour: str) -> str:
        shown = printable(text)
        if self._colours:
            shown = f"\x1b[{colour}m{shown}\x1b[0m"
        before = self._newline()
        self._at_start = True
        return f"{before}{shown}\n"

    def _newline(self) -> str:
        if self._at_start:
            return ""
        self._at_start = True
        return "\n"


def _status(data: dict[str, Any]) -> str:
    """What became of the machine, or what the session has to do without."""
    if message := data.get("message"):
        return _text(message)
    problems = data.get("problems")
    if isinstance(problems, list) and problems:
        return "; ".join(_text(one) for one in problems)
    said = f"the machine is {_text(data.get('machine') or 'there')}"
    missing = data.get("degraded")
    if isinstance(missing, list) and missing:
        said += f"; without its line, not: {', '.join(_text(one) for one in missing)}"
    return said


def question(data: dict[str, Any]) -> str:
    """What a session asks, in one line."""
    said = data.get("message") or data.get("prompt") or data.get("question")
    name = data.get("tool_name")
    tool = "" if name is None else f"{name} {_short(data.get('tool_input', data.get('args')))}"
    return one_line(" ".join(part for part in (_text(said), tool) if part).strip() or "allow this?")


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

"""A question as a person at a terminal reads it: whole, and nothing in it can hide or pretend.

Whoever allows a tool has to have seen all that it is about to do. Text in, text out, no I/O.
"""

import json
from typing import Any

from rich.cells import cell_len

from trunkline import limits
from trunkline.cli.output import plain
from trunkline.log_form import one_line

CUT = "It was shortened on its way, or is too long to be shown: it can only be denied."
_SAID = ("message", "prompt", "question")
_GIVEN = ("tool_input", "args", "arguments", "input")
_INLINE_CHARS_MAX = 100
FIRST_OTHER = 5
"""The number of an option that may be said instead of yes and no: those have the first four."""


def is_cut(data: dict[str, Any]) -> bool:
    """Whether less arrived than is asked, or more than every client can show: nobody can say yes
    to what was not shown."""
    size = len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"))
    return bool(data.get("truncated")) or size > limits.QUESTION_BYTES_MAX


def speaker(data: dict[str, Any]) -> str:
    """The name of the person that an event is of; empty for an event of the session itself."""
    person = data.get("person")
    if not isinstance(person, dict):
        return ""
    return one_line(str(person.get("name") or person.get("id") or "?"))


def question(data: dict[str, Any]) -> str:
    """What a session, or one person in it, asks. Of several lines, all but the first are indented,
    and each line of a text stands behind a bar."""
    said = next((data[name] for name in _SAID if data.get(name)), None)
    who = f"{name}: " if (name := speaker(data)) else ""
    lines = _shown(who + (_text(said).strip() or "allow this?"), "  | ")
    fence = data.get("fence")
    if isinstance(fence, str) and fence and data.get("kind") not in ("input", "select"):
        # Above all that the session itself has a say in, which could look like it.
        lines.append(f"  fence: {one_line(fence)}")
    if data.get("tool_name") is not None:
        lines += _field({"tool": data["tool_name"]})
    options = data.get("options")
    for name in _GIVEN:
        given = data.get(name)
        if data.get("kind") in ("input", "select") and isinstance(given, dict):
            # A question of a tool for questions: it was said already, and is about nothing else.
            given = {key: one for key, one in given.items() if one not in (said, options)}
        lines += _field(given)
    if isinstance(options, list) and options:
        first = FIRST_OTHER if data.get("kind") == "approve" else 1
        shown = (f"    {number} {plain(_text(one))}" for number, one in enumerate(options, first))
        lines += ["  options:", *shown]
    if is_cut(data):
        lines.append(f"  {CUT}")
    return "\n".join(lines)


def rows_on_screen(text: str, width: int) -> int:
    """How many rows a terminal of so many columns needs for it; rather one too many."""
    return sum(1 + cell_len(line) // max(width - 1, 1) for line in text.split("\n"))


def _field(value: Any) -> list[str]:
    if value is None or value == {}:
        return []
    if not isinstance(value, dict):
        return [f"  | {line}" for line in _shown(_text(value), "")]
    lines: list[str] = []
    for name, one in value.items():
        shown = _shown(_text(one), "")
        if len(shown) == 1 and len(shown[0]) <= _INLINE_CHARS_MAX:
            lines.append(f"  {plain(name)}: {shown[0]}")
        else:
            lines += [f"  {plain(name)}:", *(f"    | {line}" for line in shown)]
    return lines


def _shown(text: str, indent: str) -> list[str]:
    """Its lines, with everything escaped that has no form of its own."""
    first, *rest = (plain(line.replace("\t", "    ")) for line in text.split("\n"))
    return [first, *(indent + line for line in rest)]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)

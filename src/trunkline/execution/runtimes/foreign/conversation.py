"""A conversation of another program, as this machine lists and reads it. Knows no program's files.

What travels is bounded here: titles, texts and results are cut, and of a long history the newest
part is taken.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from trunkline import limits
from trunkline.execution.json_object import Json

TEXT_CHARS_MAX = 100_000  # of one thing that was said
TOOL_INPUT_CHARS_MAX = 2_000
TOOL_RESULT_CHARS_MAX = 2_000
HISTORY_ENTRIES_MAX = 4_000  # of one conversation, the newest
HISTORY_CHARS_MAX = 2 * limits.MIB  # of them together

CUT = " […]"
"""Stands where something was left out."""


class Conversation(msgspec.Struct, kw_only=True):
    """What a list shows. Times are Unix ms; `message_count` counts what people and the program
    said, None where the file is too large to be counted."""

    runtime: str
    preset: str = ""
    """Of the runtime `acp`: which program it is."""
    id: str
    title: str = ""
    folder: str
    started_at: int = 0
    updated_at: int = 0
    message_count: int | None = None
    command: str = ""
    """What goes on with it in a terminal, from its folder."""


class Entry(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One thing of a conversation's history: said by the `user` or the `assistant`, or a `tool`."""

    role: str
    text: str = ""
    at: int = 0
    name: str = ""
    """Of a tool; so are those that follow."""
    call_id: str = ""
    input: Json = {}
    result: str = ""
    is_error: bool = False


def shortened(text: str, chars_max: int) -> str:
    return text if len(text) <= chars_max else text[: chars_max - len(CUT)] + CUT


def title_of(text: str) -> str:
    """One line, of what was said first."""
    return shortened(" ".join(text[: 4 * limits.NAME_CHARS_MAX].split()), limits.NAME_CHARS_MAX)


def said(role: str, text: str, at: int) -> Entry:
    return Entry(role=role, text=shortened(text, TEXT_CHARS_MAX), at=at)


def tool(name: str, call_id: str, given: Any, at: int) -> Entry:
    """`given`: what the tool was called with; whatever is no object or too large becomes text."""
    if not isinstance(given, dict) or len(msgspec.json.encode(given)) > TOOL_INPUT_CHARS_MAX:
        text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
        given = {"input": shortened(text, TOOL_INPUT_CHARS_MAX)}
    return Entry(role="tool", name=name[:200] or "tool", call_id=call_id[:200], input=given, at=at)


def ended(call: Entry, result: str, *, is_error: bool) -> None:
    """The tool's result, which comes behind its call."""
    call.result, call.is_error = shortened(result, TOOL_RESULT_CHARS_MAX), is_error


def newest(entries: Iterable[Entry]) -> list[Entry]:
    """As many as a history may have, beginning with what a person said."""
    kept: list[Entry] = []
    chars = 0
    for entry in reversed(list(entries)):
        chars += len(entry.text) + len(entry.result) + TOOL_INPUT_CHARS_MAX * (entry.role == "tool")
        if len(kept) >= HISTORY_ENTRIES_MAX or chars > HISTORY_CHARS_MAX:
            while kept and kept[-1].role != "user":
                kept.pop()
            break
        kept.append(entry)
    return kept[::-1]


def ms(value: Any) -> int:
    """Of a time as these programs write it: ISO 8601, or milliseconds; 0 for anything else."""
    if isinstance(value, bool):
        return 0
    if isinstance(value, int | float):
        return int(value) if 0 <= value <= limits.JSON_INT_MAX else 0
    if not isinstance(value, str):
        return 0
    try:
        return max(0, int(datetime.fromisoformat(value[:40]).timestamp() * 1000))
    except (ValueError, OverflowError, OSError):
        return 0


def text_of(content: Any, *kinds: str) -> str:
    """The text of a message's content: a string, or a list of parts, of which these kinds count."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part for part in content if isinstance(part, dict) and part.get("type") in kinds)
    texts = (part.get("text") for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))

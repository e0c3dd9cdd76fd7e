"""What ACP messages carry: content blocks, and the content of tool calls, as bounded plain values.

Everything here comes from a program that is not ours. What has an unknown shape counts as nothing.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.execution.texts import both_ends, clipped, readable, shortened

DIFF_CHARS_MAX = 100_000  # of one side of a diff, as readers see it
DIFFS_MAX = 50
LOCATIONS_MAX = 50
_PLACE_CHARS_MAX = 1_000


class ToolContent(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool call shows: its text, its changes to files, the terminals that it runs in."""

    text: str = ""
    diffs: list[Json] = []
    terminals: list[str] = []
    is_cut: bool = False
    """Not all of it is here: nobody can say yes to it."""


def obj(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def text(value: Any, chars_max: int = limits.MESSAGE_CHARS_MAX) -> str:
    return readable(value[:chars_max]) if isinstance(value, str) else ""


def name_of(value: Any, chars_max: int) -> str:
    """What something is called by, which is said again to the agent: whole, or nothing."""
    return value if isinstance(value, str) and len(value) <= chars_max else ""


def count(value: Any) -> int:
    """A number of something; what is none, is negative or beyond all bounds is 0."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value <= limits.TOKENS_MAX else 0


def block_text(block: Any) -> str:
    """A content block as text: what is no text is named, and not shown."""
    if isinstance(block, str):
        return text(block)
    if isinstance(block, list):
        return "".join(map(block_text, block))
    fields = obj(block)
    match fields.get("type"):
        case "text":
            return text(fields.get("text"))
        case "resource_link":
            uri = text(fields.get("uri"), _PLACE_CHARS_MAX)
            return f"[{text(fields.get('name'), _PLACE_CHARS_MAX) or uri}]({uri})"
        case "resource":
            inner = obj(fields.get("resource"))
            return text(inner.get("text")) or f"[{text(inner.get('uri'), _PLACE_CHARS_MAX)}]"
        case "image" | "audio" as kind:
            mime = text(fields.get("mimeType"), 100)
            size = len(data) * 3 // 4 if isinstance(data := fields.get("data"), str) else 0
            return f"[{kind} {mime}, {size} bytes]"
        case _:
            return ""


def tool_content(given: Any) -> ToolContent:
    """The `content` of a tool call: content blocks, diffs and terminals."""
    if isinstance(given, str | dict):
        given = [given]
    texts: list[str] = []
    diffs: list[Json] = []
    terminals: list[str] = []
    is_cut = False
    for one in items(given):
        fields = obj(one)
        match fields.get("type"):
            case "content":
                texts.append(block_text(fields.get("content")))
            case "diff":
                is_cut = is_cut or len(diffs) >= DIFFS_MAX or _is_long(fields)
                if len(diffs) < DIFFS_MAX and isinstance(fields.get("path"), str):
                    diffs.append(_diff(fields))
            case "terminal" if isinstance(fields.get("terminalId"), str):
                terminals.append(text(fields["terminalId"], limits.ID_CHARS_MAX))
            case _:
                texts.append(block_text(one))
    return ToolContent(
        text="\n".join(filter(None, texts)), diffs=diffs, terminals=terminals, is_cut=is_cut
    )


def _diff(fields: Json) -> Json:
    old = fields.get("oldText")
    return {
        "path": text(fields.get("path"), _PLACE_CHARS_MAX),
        "old_text": both_ends(text(old), DIFF_CHARS_MAX) if isinstance(old, str) else None,
        "new_text": both_ends(text(fields.get("newText")), DIFF_CHARS_MAX),
    }


def _is_long(diff: Json) -> bool:
    bounds = {"path": _PLACE_CHARS_MAX, "oldText": DIFF_CHARS_MAX, "newText": DIFF_CHARS_MAX}
    return any(len(str(diff.get(name) or "")) > most for name, most in bounds.items())


def locations(given: Any) -> list[str]:
    """Paths that a call touches, with their lines."""
    found = []
    for one in items(given)[:LOCATIONS_MAX]:
        fields = obj(one)
        if path := text(fields.get("path"), _PLACE_CHARS_MAX):
            line = fields.get("line")
            found.append(f"{path}:{line}" if isinstance(line, int) else path)
    return found


def printed_aside(fields: Json) -> str:
    """What a command has printed since the last message, where an agent says that in `_meta`."""
    return text(obj(obj(fields.get("_meta")).get("terminal_output_delta")).get("data"))


def raw_output_text(raw: Any) -> str:
    """What a tool returned, in words: programs put them under a handful of names."""
    if isinstance(raw, str):
        return text(raw)
    if isinstance(raw, dict):
        for name in ("output", "content", "message", "error", "result", "text"):
            if isinstance(raw.get(name), str) and raw[name]:
                return text(raw[name])
    return json_text(raw) if raw else ""


def json_text(value: Any) -> str:
    return msgspec.json.encode(clipped(value, limits.TOOL_RESULT_CHARS_MAX)).decode()


def title_of(value: Any) -> str:
    """The first line of a title."""
    lines = text(value, 2_000).strip().splitlines()
    return shortened(lines[0], limits.NAME_CHARS_MAX) if lines else ""

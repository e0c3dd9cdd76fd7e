"""The lines that Claude Code prints, as its driver looks at them (`--output-format stream-json`).

Lenient: what is odd in one field must not hide the rest, and fields that a later version adds are
ignored. Nothing here is kept: readers of that format get the line itself.
"""

import json
from typing import Any

import msgspec

from trunkline.execution.json_object import Json
from trunkline.execution.texts import clipped

RESULT, CONTROL, WITHDRAWN, ANSWER = (
    *("result", "control_request"),
    *("control_cancel_request", "control_response"),
)
_PRIVATE = frozenset((CONTROL, WITHDRAWN, ANSWER, "keep_alive", "transcript_mirror"))


class Line(msgspec.Struct, gc=False):
    """One line. Which fields are set depends on `type`; texts from outside stay `Any`."""

    type: str
    subtype: Any = None
    session_id: Any = None
    parent_tool_use_id: Any = None
    subagent_type: Any = None
    message: Any = None
    event: Any = None
    state: Any = None
    model: Any = None
    cwd: Any = None
    sdk_host_only: Any = None
    error: Any = None
    is_api_error_message: Any = None
    tool_use_result: Any = None
    # of a `result`
    is_error: Any = None
    result: Any = None
    errors: Any = None
    num_turns: Any = None
    usage: Any = None
    total_cost_usd: Any = None
    model_usage: Any = msgspec.field(default=None, name="modelUsage")
    model_usage_since_last_result: Any = None
    terminal_reason: Any = None
    api_error_status: Any = None
    queued_turn_count: Any = None
    origin: Any = None
    # of `system` lines
    retry_delay_ms: Any = None
    error_status: Any = None
    # between the program and its driver
    request_id: Any = None
    request: Any = None
    response: Any = None

    @property
    def is_private(self) -> bool:
        """Between the program and who drives it: nothing that a client of its format expects."""
        return self.type in _PRIVATE or self.sdk_host_only is True

    @property
    def blocks(self) -> list[Json]:
        """Of a message: its blocks; a text alone is one."""
        message = self.message if isinstance(self.message, dict) else {}
        content = message.get("content")
        if isinstance(content, str):
            return [{"type": "text", "text": content}]
        return (
            [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
        )


_line = msgspec.json.Decoder(Line)


def read(text: bytes) -> Line | None:
    """None for what is no line of that format: a program may print anything."""
    try:
        return _line.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass
    try:  # one with half of a character in it, which only Python's own decoder takes
        return msgspec.convert(json.loads(text), Line)
    except (ValueError, RecursionError):
        return None


def passable(text: bytes) -> bytes:
    """The line as every reader of JSON takes it: itself, unless it holds half of a character, or a
    number that is none."""
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        whole = clipped(json.loads(text), len(text))
        return msgspec.json.encode(whole)
    return text


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def count_of(value: Any) -> int:
    """A number of tokens or calls; what is none counts nothing."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if is_count else 0


def money_of(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 2**53 else None

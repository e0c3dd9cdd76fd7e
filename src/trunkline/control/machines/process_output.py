"""What a machine's process prints, as lines of our own log: its JSON log lines with their level and
fields, anything else as text.

The text comes from a program that agents run in: nothing in it is trusted. Secrets and characters
that act on a terminal are taken out by the logs, as everywhere.
"""

import re
from typing import Annotated, Any, Final, Literal

import msgspec
import structlog
from msgspec import Meta

from trunkline import limits

_log = structlog.get_logger()

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
# Ours, or names to which structlog gives a meaning of its own.
_RESERVED: Final = frozenset(
    ("machine", "event", "level", "timestamp", "exc_info", "stack_info", "self", "method_name")
)
_SCALAR_CHARS_MAX = 40
# Values stay as they were written: what is nested is shown, never walked through.
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_value = msgspec.json.Decoder()


class _Head(msgspec.Struct):
    """What makes an object a log line."""

    event: Annotated[str, Meta(min_length=1)]
    level: Literal["debug", "info", "warning", "error", "critical"]


_head = msgspec.json.Decoder(_Head)


def note(line: bytes, machine_id: str) -> str:
    """Logs one line; what it says in short, for the message about the program's end."""
    whole = line[: limits.VM_OUTPUT_LINE_BYTES_MAX].decode("utf-8", "replace").strip()
    if whole.startswith("{"):
        try:
            head, fields = _head.decode(whole), _fields(whole)
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            pass
        else:
            getattr(_log, head.level)(head.event, machine=machine_id, **fields)
            return head.event
    text = whole[: limits.VM_OUTPUT_LINE_CHARS_MAX]
    if text:
        _log.info("vm output", machine=machine_id, text=text)
    return text


def _fields(text: str) -> dict[str, Any]:
    """What else a log line says, under names that can be shown."""
    found = _object.decode(text)
    names = [one for one in found if _NAME.fullmatch(one) and one not in _RESERVED]
    return {name: _plain(found[name]) for name in names[: limits.VM_OUTPUT_FIELDS_MAX]}


def _plain(raw: msgspec.Raw) -> Any:
    text = bytes(raw).decode()
    if text.startswith('"'):
        return _value.decode(text)
    # A number of a thousand digits is nothing that a log could write as a number.
    is_scalar = not text.startswith(("{", "[")) and len(text) <= _SCALAR_CHARS_MAX
    return _value.decode(text) if is_scalar else text

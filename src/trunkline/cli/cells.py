"""A value of a record as text: for a person in a terminal, or exact for a pipe.

What a value is, its name tells: `created_at` is a time, `size` a number of bytes, `tokens_in` one
to be rounded. Texts have their control characters escaped: what an agent or another user wrote must
not move this terminal.
"""

import json
import re
import unicodedata
from collections.abc import Iterable
from typing import Any, Final

from trunkline.log_form import one_line

SHORT_CHARS: Final = 8
"""Of an id, at least."""
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SIZES = ("size", "bytes")
_COUNTS = ("tokens", "tokens_in", "tokens_out", "calls", "count")
_TITLES: Final = {
    "last_activity_at": "active",
    "last_seen_at": "seen",
    "last_used_at": "used",
    "modified_at": "changed",
    "message_count": "messages",
    "quality_score": "score",
    "runtime_type": "runtime",
    "timeout_s": "limit",
}


def title(name: str) -> str:
    """The head of a column, for people."""
    known = _TITLES.get(name)
    if known is not None:
        return known
    plain_name = name.removesuffix("_at")
    return (plain_name.removesuffix("_id") or name).replace("_", " ")


def is_id(name: str) -> bool:
    return name == "id" or name.endswith("_id")


def is_time(name: str, value: Any) -> bool:
    is_named = name == "at" or name.endswith("_at")
    return is_named and isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def exact(name: str, value: Any) -> str:
    """As one line, with nothing left out."""
    from trunkline.cli.human import iso

    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if is_time(name, value):
        try:
            return iso(value)
        except (OverflowError, ValueError, OSError):
            return str(value)
    if isinstance(value, dict | list):
        return plain(json.dumps(value, ensure_ascii=False))
    return one_line(str(value))


def readable(name: str, value: Any, now_ms: int) -> str:
    """As one line, rounded; nested values without their quotes and brackets."""
    from trunkline.cli.human import count, size, when

    if is_time(name, value):
        try:
            return when(value, now_ms)
        except (OverflowError, ValueError, OSError):
            return str(value)
    if is_number(value):
        kind = name.removesuffix("_max")
        if kind.endswith(_SIZES):
            return size(value)
        if kind.endswith(_COUNTS):
            return count(value)
        if kind.endswith("_s"):
            return f"{value:g} s"
        return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    if isinstance(value, list):
        return ", ".join(readable("", one, now_ms) for one in value) or "-"
    if isinstance(value, dict):
        parts = (f"{plain(str(key))}: {readable(key, one, now_ms)}" for key, one in value.items())
        return ", ".join(parts) or "-"
    return exact(name, value)


def shortened(ids: Iterable[Any]) -> dict[str, str]:
    """Each id with the shortest beginning, of one length for all, that no other of them has."""
    known = sorted({one for one in ids if isinstance(one, str) and _UUID.fullmatch(one)})
    most = max(map(_shared_chars, known, known[1:]), default=0)
    length = max(SHORT_CHARS, most + 1)
    return {one: one[:length].rstrip("-") for one in known}


def _shared_chars(one: str, other: str) -> int:
    """How many first characters two have in common."""
    same = (number for number, pair in enumerate(zip(one, other, strict=False)) if len({*pair}) > 1)
    return next(same, len(one))


def plain(text: str) -> str:
    """The text with every character escaped that has no form of its own, or that of another: what a
    person decides upon must not look like something else."""
    return "".join(one if _has_form(one) else repr(one)[1:-1] for one in text)


def _has_form(character: str) -> bool:
    return character == " " or not unicodedata.category(character).startswith(("C", "Z"))

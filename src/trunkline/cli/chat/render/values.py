"""What an event's fields hold, read leniently: a machine's odd field is no reason to fail."""

import json
from typing import Any

Data = dict[str, Any]


def text(value: Any) -> str:
    """Anything as text; of the parts of a message, those that are text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(_is_part(one) for one in value):
        return "\n".join(one["text"] for one in value)
    if isinstance(value, dict) and isinstance(value.get("content"), str):
        return str(value["content"])
    return json.dumps(value, ensure_ascii=False, indent=2)


def word(value: Any) -> str:
    """A name; empty if it is none."""
    return value if isinstance(value, str) else ""


def number(value: Any) -> float | None:
    is_one = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_one and abs(value) < 1e15 else None


def count(value: Any) -> int:
    return int(number(value) or 0)


def mapping(value: Any) -> Data:
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[Data]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def words(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _is_part(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("text"), str)

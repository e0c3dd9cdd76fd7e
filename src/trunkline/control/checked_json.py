"""JSON from outside as typed values. What passes here can be stored in both databases and written
out as JSON again; the rest is refused as `InvalidRequest` with the place that is wrong."""

import re
from typing import Any, TypeVar

import msgspec

from trunkline import limits
from trunkline.control.errors import InvalidRequest

T = TypeVar("T")

# Cheap signs that a body may hold what the databases cannot; only then it is walked.
_SUSPICIOUS = re.compile(rb"\\u0000|[0-9]{19}")


def decode(raw: bytes, kind: type[T]) -> T:
    """JSON to a typed value, or InvalidRequest with the path of what is wrong."""
    try:
        value = msgspec.json.decode(raw, type=kind)
        if _SUSPICIOUS.search(raw) or raw.count(b"[") + raw.count(b"{") > limits.JSON_DEPTH_MAX:
            _check_json(msgspec.json.decode(raw))
    except RecursionError as error:
        raise _too_deep() from error
    except UnicodeDecodeError as error:
        raise InvalidRequest("the body is not UTF-8") from error
    except msgspec.DecodeError as error:
        raise InvalidRequest(f"body: {error}") from error
    return value


def check_text(text: str, path: str) -> None:
    """Refuses what PostgreSQL does not store (NUL), and what has no UTF-8 form (half of a surrogate
    pair)."""
    if "\0" in text:
        raise InvalidRequest(f"a NUL character - at `{path}`")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidRequest(f"not valid Unicode - at `{path}`") from error


def _check_json(value: Any) -> None:
    """Depth, the size of integers, and text, over a whole document, level by level."""
    level = [value]
    for _ in range(limits.JSON_DEPTH_MAX + 1):
        deeper: list[Any] = []
        for item in level:
            if isinstance(item, str):
                check_text(item, "$")
            elif isinstance(item, int) and abs(item) > limits.JSON_INT_MAX:
                raise InvalidRequest("body: an integer is out of range")
            elif isinstance(item, dict):
                deeper.extend(item.keys())
                deeper.extend(item.values())
            elif isinstance(item, list):
                deeper.extend(item)
        if not deeper:
            return
        level = deeper
    raise _too_deep()


def _too_deep() -> InvalidRequest:
    return InvalidRequest(f"body: nested deeper than {limits.JSON_DEPTH_MAX} levels")

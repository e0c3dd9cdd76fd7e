"""Bounds on text and JSON that comes from outside, with messages that name the field.

Every service calls these before it writes; nothing here knows a table.
"""

import json
from typing import Any

import msgspec

from trunkline.control.errors import InvalidRequest, NotFound, TooLarge
from trunkline.control.ids import is_id


def checked_text(value: str, field: str, chars_max: int, *, empty: bool = False) -> str:
    """The text, if it is short enough and every database can hold it."""
    if not value.strip() and not empty:
        raise InvalidRequest(f"{field} must not be empty")
    if len(value) > chars_max:
        raise TooLarge(f"{field} has {len(value)} characters; at most {chars_max} are allowed")
    # PostgreSQL stores no NUL in text, and half of a surrogate pair has no UTF-8 form.
    if "\x00" in value:
        raise InvalidRequest(f"{field} must not contain a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"{field} is not valid Unicode") from error
    return value


def canonical(value: Any, field: str, bytes_max: int) -> str:
    """The one JSON text of a value: sorted keys, no spaces. Bounded."""
    try:
        text = json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
        size = len(text.encode())  # also refuses half of a surrogate pair
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"{field} is not plain JSON: {error}") from error
    if size > bytes_max:
        raise TooLarge(f"{field} has {size} bytes; at most {bytes_max} are allowed")
    return text


def checked_object(value: dict[str, Any], field: str, bytes_max: int) -> dict[str, Any]:
    """The object, if it is plain JSON within its bound."""
    try:
        size = len(msgspec.json.encode(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"{field} is not plain JSON: {error}") from error
    if size > bytes_max:
        raise TooLarge(f"{field} has {size} bytes; at most {bytes_max} are allowed")
    return value


def checked_id(kind: str, value: str) -> str:
    """A record id; what does not even look like one is not found, and asked of no database."""
    if not is_id(value):
        raise NotFound(kind, value)
    return value

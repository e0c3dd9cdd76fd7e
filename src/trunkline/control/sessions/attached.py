"""Files that came with a message: what readers are told of them, and each as it came. Pure.

A message's metadata has them, `{name, mime, base64}`, and the record of its turn keeps that. It
comes from outside, and any field may be of another type.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from trunkline import limits
from trunkline.control.records.fields import Json
from trunkline.control.services.uploads import Upload

NAME = "attachments"


def told_of(metadata: Mapping[str, Any]) -> list[Json] | None:
    """As `user_message` shows them; None for a message that has no list of them."""
    if not isinstance(metadata.get(NAME), list):
        return None
    return [{"name": _text(one, "name"), "mime": _text(one, "mime")} for one in _files(metadata)]


def file_of(metadata: Mapping[str, Any], number: int) -> Upload | None:
    """The file at that place of what readers are told, from 0; None for one that is not there."""
    files = _files(metadata)
    if not 0 <= number < len(files):
        return None
    one = files[number]
    content = one.get("base64")
    if not isinstance(content, str):
        return None
    if content.startswith("data:"):
        content = content.partition(",")[2]
    try:
        found = base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        return None
    return Upload(name=_text(one, "name"), mime=_text(one, "mime"), content=found)


def kept_of(metadata: Mapping[str, Any]) -> Json:
    """What a copy of the message has of its metadata."""
    files = _files(metadata)
    return {NAME: files} if files else {}


def _files(metadata: Mapping[str, Any]) -> list[Json]:
    given = metadata.get(NAME)
    some = given[: limits.ATTACHMENTS_MAX] if isinstance(given, list) else []
    return [one for one in some if isinstance(one, dict)]


def _text(one: Json, name: str) -> str:
    return str(one.get(name, ""))[: limits.NAME_CHARS_MAX]

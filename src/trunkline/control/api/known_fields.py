"""Fields of a request that nobody knows: a slip that would be ignored in silence is refused.

For REST's own bodies alone. Values that are plain JSON (`agent_config`, `metadata` …) may carry
anything, and on the wires unknown fields are tolerated.
"""

from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from trunkline import names
from trunkline.control.complaints import placed
from trunkline.control.errors import InvalidRequest

# One level at a time: what is large is text, and that is never looked at.
_level = msgspec.json.Decoder(dict[str, msgspec.Raw])
_items = msgspec.json.Decoder(list[msgspec.Raw])


def check_fields(raw: bytes, kind: Any) -> None:
    """InvalidRequest for a field that this type has not; `raw` is JSON of that type."""
    fields = _fields(kind)
    if fields:
        _check(_level.decode(raw), fields, "")


def _check(value: "dict[str, msgspec.Raw]", fields: "dict[str, Any]", path: str) -> None:
    if problem := names.unknown_of("field", value, fields):
        raise InvalidRequest(f"body: {placed(path, problem)}", code="UNKNOWN_FIELD")
    for name, inner in fields.items():
        if inner and name in value:
            for number, item in enumerate(_objects(bytes(value[name]))):
                _check(item, inner, f"{path}.{name}[{number}]".removeprefix("."))


def _objects(raw: bytes) -> "list[dict[str, msgspec.Raw]]":
    """The object that this is, or those of a list; null has none."""
    if raw.startswith(b"{"):
        return [_level.decode(raw)]
    return [_level.decode(item) for item in _items.decode(raw)] if raw.startswith(b"[") else []


@cache
def _fields(kind: Any) -> "dict[str, Any]":
    """The names of a struct, each with the names of the structs in it; empty for anything else."""
    return _of(inspect.type_info(kind))


def _of(info: inspect.Type) -> "dict[str, Any]":
    if isinstance(info, inspect.Metadata):
        return _of(info.type)
    if isinstance(info, inspect.StructType):
        return {field.encode_name: _of(field.type) for field in info.fields}
    if isinstance(info, inspect.ListType):
        return _of(info.item_type)
    if isinstance(info, inspect.UnionType):
        return next(filter(None, map(_of, info.types)), {})
    return {}

"""JSON from outside as typed values. What passes here can be stored in both databases and written
out as JSON again; the rest is refused as `InvalidRequest` with the place that is wrong."""

import re
from typing import Any, TypeVar

import msgspec

from trunkline import limits, names
from trunkline.control import complaints
from trunkline.control.errors import InvalidRequest

T = TypeVar("T")

# As msgspec says it: "Invalid enum value 'fre' - at `$.permission_mode`".
_NO_CHOICE = re.compile(
    r"Invalid enum value '?(?P<word>.*?)'?(?: - at `\$(?P<path>[^`]*)`)?", re.DOTALL
)
_STEP = re.compile(r"\.(?P<name>\w+)|\[[^\]]*\]")
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
        raise InvalidRequest(f"body: {explained(error, kind)}") from error
    return value


def explained(error: msgspec.MsgspecError, kind: Any) -> str:
    """What is wrong; of a word that is none of a few, with those few."""
    found = _NO_CHOICE.fullmatch(str(error))
    choices: list[str] = []
    if found is not None:
        choices = [str(one) for one in _choices(msgspec.inspect.type_info(kind), found["path"])]
    if found is None or not choices:
        return complaints.in_words(str(error))
    path = (found["path"] or "").removeprefix(".")
    return complaints.placed(path, names.not_one_of(found["word"], choices))


def _choices(kind: msgspec.inspect.Type, path: str | None) -> list[Any]:
    """The words that can stand at that place of a type."""
    if isinstance(kind, msgspec.inspect.Metadata):
        return _choices(kind.type, path)
    if isinstance(kind, msgspec.inspect.UnionType):
        return [found for one in kind.types for found in _choices(one, path)]
    if not path:
        return list(kind.values) if isinstance(kind, msgspec.inspect.LiteralType) else []
    step = _STEP.match(path)
    if step is None:
        return []
    within: msgspec.inspect.Type | None = None
    if isinstance(kind, msgspec.inspect.StructType):
        fields = {field.encode_name: field.type for field in kind.fields}
        within = fields.get(step["name"] or "")
    elif isinstance(kind, msgspec.inspect.ListType):
        within = kind.item_type
    elif isinstance(kind, msgspec.inspect.DictType):
        within = kind.value_type
    return [] if within is None else _choices(within, path[step.end() :])


def check_text(text: str, path: str) -> None:
    """Refuses what PostgreSQL does not store (NUL), and what has no UTF-8 form (half of a surrogate
    pair)."""
    if "\0" in text:
        raise InvalidRequest(complaints.placed(path, "a NUL character"))
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidRequest(complaints.placed(path, "not valid Unicode")) from error


def _check_json(value: Any) -> None:
    """Depth, the size of integers, and text, over a whole document, level by level."""
    level = [value]
    for _ in range(limits.JSON_DEPTH_MAX + 1):
        deeper: list[Any] = []
        for item in level:
            if isinstance(item, str):
                check_text(item, "body")
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

"""Values from models and tools, small enough to be shown or logged."""

from typing import Any

from trunkline import limits

EVENT_VALUE_CHARS_MAX = 20_000  # of one text in a tool's input, as readers see it


def clipped(value: Any, chars_max: int = EVENT_VALUE_CHARS_MAX) -> Any:
    """The same value with every long text cut; the whole may hold `chars_max` characters, and
    what comes after that is left out."""
    return _clip(value, [chars_max], limits.JSON_DEPTH_MAX)


def readable(text: str) -> str:
    """Text that can be written as JSON: file names and output may hold halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _clip(value: Any, room: list[int], depth: int) -> Any:
    if room[0] <= 0 or depth <= 0:
        return "…"
    match value:
        case str():
            room[0] -= len(value) + 1
            return readable(value if room[0] >= 0 else value[: room[0]] + "…")
        case dict():
            small: dict[str, Any] = {}
            for key, one in value.items():
                if room[0] <= 0:
                    break
                name = readable(str(key)[: limits.NAME_CHARS_MAX])
                room[0] -= len(name) + 1
                small[name] = _clip(one, room, depth - 1)
            return small
        case list() | tuple():
            some: list[Any] = []
            for one in value:
                if room[0] <= 0:
                    break
                some.append(_clip(one, room, depth - 1))
            return some
        case _:
            room[0] -= 1
            return value

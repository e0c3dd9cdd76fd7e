"""Texts made fit to be shown, logged or sent on: cut to a size, and made writable.

What models, tools and strangers say may be endless, or hold halves of characters.
"""

from typing import Any

from trunkline import limits

EVENT_VALUE_CHARS_MAX = 20_000  # of one text in a tool's input, as readers see it


class Excerpt:
    """Keeps `chars_max` characters: half from the start, half from the end; or the start alone."""

    def __init__(self, chars_max: int, *, head_only: bool = False) -> None:
        self._head_max = chars_max if head_only else chars_max - chars_max // 2
        self._tail_max = chars_max - self._head_max
        self._head = ""
        self._tail = ""
        self._chars = 0

    def add(self, text: str) -> None:
        self._chars += len(text)
        room = self._head_max - len(self._head)
        if room > 0:
            self._head += text[:room]
            text = text[room:]
        # Cut only now and then, so that many small pieces cost no more than few large ones.
        self._tail += text
        if len(self._tail) > 2 * self._tail_max:
            self._tail = self._end()

    @property
    def cut_chars(self) -> int:
        """How many characters are not in the text."""
        return max(0, self._chars - self._head_max - self._tail_max)

    def __bool__(self) -> bool:
        return self._chars > 0

    def __str__(self) -> str:
        if not self.cut_chars:
            return self._head + self._end()
        return f"{self._head}\n[… {self.cut_chars} characters left out …]\n{self._end()}"

    def _end(self) -> str:
        return self._tail[-self._tail_max :] if self._tail_max else ""


def shortened(text: str, chars_max: int = 100) -> str:
    """The start of a text, with a mark where it goes on."""
    return text if len(text) <= chars_max else text[: chars_max - 1] + "…"


def both_ends(text: str, chars_max: int) -> str:
    """The text, or its start and its end."""
    kept = Excerpt(chars_max)
    kept.add(text)
    return str(kept)


def readable(text: str) -> str:
    """Text that can be encoded: halves of a character that follow each other are joined, others
    replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clipped(value: Any, chars_max: int = EVENT_VALUE_CHARS_MAX) -> Any:
    """The same value with every long text cut; the whole may hold `chars_max` characters, and
    what comes after that is left out."""
    return _clip(value, [chars_max], limits.JSON_DEPTH_MAX)


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

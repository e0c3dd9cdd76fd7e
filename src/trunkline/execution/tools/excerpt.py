"""Both ends of a text that may be long, in bounded memory, and how much is missing between."""


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


def shortened(text: str, chars_max: int) -> str:
    """The start of a text, with a mark where it goes on."""
    return text if len(text) <= chars_max else text[: chars_max - 1] + "…"

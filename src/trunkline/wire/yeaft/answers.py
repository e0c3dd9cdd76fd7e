"""What was said so far in a turn, by the agent or by one of its virtual persons. Bounded."""

import msgspec


class Person(msgspec.Struct, frozen=True):
    """A virtual person of an agent that runs its groups itself."""

    id: str
    name: str


class Answer:
    """The pieces of one answer, up to a bound: the log has them all."""

    __slots__ = ("_chars_max", "_pieces", "_room")

    def __init__(self, chars_max: int) -> None:
        self._chars_max = chars_max
        self._room = chars_max
        self._pieces: list[str] = []

    def add(self, piece: str) -> None:
        if self._room > 0:
            self._pieces.append(piece)
            self._room -= len(piece)

    @property
    def text(self) -> str:
        return "".join(self._pieces)[: self._chars_max]

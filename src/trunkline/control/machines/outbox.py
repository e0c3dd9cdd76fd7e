"""What waits for one machine, in order, and how much memory it takes.

`Delivery` fills and empties it; `Machines` asks whether there is room. Knows no line.
"""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from trunkline import limits
from trunkline.control.errors import LimitReached
from trunkline.control.machines.commands import Command, Forward


class Outbox:
    """The commands for one machine."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Command, int]] = deque()
        self.size = 0
        """What they hold, in bytes."""

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Command]:
        return (command for command, _ in self._waiting)

    @property
    def first(self) -> Command | None:
        return self._waiting[0][0] if self._waiting else None

    def append(self, command: Command) -> None:
        size = size_of(command)
        self._waiting.append((command, size))
        self.size += size

    def popleft(self) -> None:
        _, size = self._waiting.popleft()
        self.size -= size

    def drop(self, unwanted: Callable[[Command], bool]) -> int:
        """Takes those out; returns how many there were."""
        kept = [one for one in self._waiting if not unwanted(one[0])]
        dropped = len(self._waiting) - len(kept)
        self._waiting = deque(kept)
        self.size = sum(size for _, size in kept)
        return dropped

    def clear(self) -> None:
        self._waiting.clear()
        self.size = 0

    # --- Room -------------------------------------------------------------------------------------

    def check_size(self, size: int) -> None:
        """Raises unless something of that size may wait besides."""
        if self.size + size > limits.HELD_BYTES_MAX:
            raise LimitReached("too much waits for this machine", code="MACHINE_BUSY")

    def check_count(self) -> None:
        """Raises unless one more may wait for a machine that is away."""
        if len(self._waiting) >= limits.HELD_MESSAGES_MAX:
            raise _too_many()

    def check(self, command: Command) -> None:
        """Both, for a machine that is away. What is only passed on must leave room for what
        people say."""
        self.check_count()
        self.check_size(size_of(command))
        if isinstance(command, Forward):
            forwards = sum(isinstance(one, Forward) for one in self)
            if forwards >= limits.HELD_FORWARDS_MAX:
                raise _too_many()


def _too_many() -> LimitReached:
    return LimitReached("too many messages wait for this machine", code="MACHINE_BUSY")


def size_of(value: Any) -> int:
    """About what it takes in memory: a command, a message, or any part of one."""
    size, left = 0, [value]
    while left:
        one = left.pop()
        size += sys.getsizeof(one)
        if isinstance(one, dict):
            left += one
            left += one.values()
        elif isinstance(one, list | tuple):
            left += one
        elif isinstance(one, msgspec.Struct):
            left += (getattr(one, name) for name in one.__struct_fields__)
    return size

"""What an agent should remember of a log, within a bound.

For a session that is a copy of another one, on a machine that has not got the other one's state.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from trunkline.control.sessions.conversation import Conversation

Json = dict[str, Any]


class Remembered:
    """Takes a log's lines in their order."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._conversation = Conversation()

    def take(self, lines: Iterable[str]) -> None:
        self._conversation.take(lines)
        self._shorten()

    def messages(self) -> list[Json]:
        """The newest whole turns that fit."""
        return [one for turn in self._conversation.turns() for one in turn]

    def _shorten(self) -> None:
        whole = [len(msgspec.json.encode(turn)) for turn in self._conversation.turns()]
        while len(whole) > 1 and sum(whole) > self._bytes_max:
            del whole[0]
            self._conversation.forget_oldest()

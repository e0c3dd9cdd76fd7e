"""What people say to a turn that runs, until its model has it.

The session's process adds it, the graph takes it before the next model call, `turns` says what has
arrived. What a turn has not taken when it ends is forgotten here: the control plane, which was not
told that it arrived, sends it again as a turn of its own.
"""

from collections.abc import Iterable

import msgspec

from trunkline.execution.attachments import Attachment
from trunkline.execution.llm.base import Message


class Steer(msgspec.Struct, frozen=True):
    """One message, with what came beside its words."""

    message_id: str
    text: str
    attachments: list[Attachment]


class Steering:
    """Of one session."""

    def __init__(self) -> None:
        self._waiting: dict[str, dict[str, Steer]] = {}
        """By turn, what has not been taken, in its order."""
        self._taken: set[str] = set()
        """What is in the conversation."""
        self._unacknowledged: list[str] = []
        """Of that, what nobody was told of."""

    def remember(self, messages: Iterable[Message]) -> None:
        """The conversation as an earlier process has left it."""
        self._taken.update(one["steers"] for one in messages if "steers" in one)

    def add(self, turn_id: str, said: Steer) -> bool:
        """False for one that is in the conversation already."""
        if said.message_id in self._taken:
            return False
        self._waiting.setdefault(turn_id, {})[said.message_id] = said
        return True

    def is_known(self, message_id: str) -> bool:
        """Whether it is in the conversation."""
        return message_id in self._taken

    def waits(self, turn_id: str) -> bool:
        return turn_id in self._waiting

    def take(self, turn_id: str) -> list[Steer]:
        """For the conversation, from now on."""
        said = self._waiting.pop(turn_id, {})
        self._taken.update(said)
        self._unacknowledged += said
        return list(said.values())

    def keep(self, messages: Iterable[Message]) -> None:
        """A turn ended half-way, and this is the conversation: what is not in it was not taken."""
        said = {one["steers"] for one in messages if "steers" in one}
        self._taken -= {one for one in self._unacknowledged if one not in said}
        self._unacknowledged = [one for one in self._unacknowledged if one in said]

    def acknowledge(self) -> list[str]:
        """What has reached the model since this was last asked."""
        arrived, self._unacknowledged = self._unacknowledged, []
        return arrived

    def has_ended(self, turn_id: str) -> None:
        self._waiting.pop(turn_id, None)
        self._unacknowledged = []

"""What every runtime offers, so that nobody else need know which one it is."""

from abc import ABC, abstractmethod
from pathlib import Path

from trunkline.execution.json_object import Json
from trunkline.execution.session import ipc


class RuntimeAdapter(ABC):
    """One runtime of one session. It runs apart from the daemon and may end at any time."""

    @property
    @abstractmethod
    def alive(self) -> bool:
        """Whether it can take messages."""

    @property
    def is_working(self) -> bool:
        """Whether something of it runs that outlives a turn."""
        return False

    @abstractmethod
    async def start(self, config: ipc.Start) -> ipc.Ready:
        """Brings it up. Raises StartFailed, and then nothing is left of it."""

    @abstractmethod
    async def send_message(self, data: ipc.UserMessageData) -> None:
        """What the user said: one turn."""

    @abstractmethod
    async def cancel(self, reason: str) -> None:
        """Ends the running turn; nothing happens where none runs."""

    @abstractmethod
    def send(
        self,
        message: ipc.Steer
        | ipc.ConfigUpdate
        | ipc.ApprovalResponse
        | ipc.Compact
        | ipc.Response
        | ipc.Progress,
    ) -> None:
        """What else a session is told: a message to its running turn, where it takes one; new
        parameters, from the next model call on; a person's answer to its question; to shorten its
        conversation, where the runtime does that; what became of what it asked the control
        plane."""

    @abstractmethod
    async def stop(self, reason: str) -> None:
        """Lets it save and end. Returns when it is gone and its end was told."""

    @abstractmethod
    async def get_snapshot(self) -> Json:
        """Its state as `snapshot_sync` takes it; empty when there is none."""

    async def fork(self, source: Path) -> None:
        """Begins with the state of another session, which lies in that folder. Before `start`.
        A runtime that cannot do that begins with what it is told was said."""
        return

    @abstractmethod
    async def restore(self, snapshot: Json) -> None:
        """Takes over a state that was saved elsewhere. Before `start`."""

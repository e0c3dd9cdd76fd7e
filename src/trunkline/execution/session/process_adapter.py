"""A runtime with a process of its own that speaks the socket of docs/protocols/ipc.md.

What is left to a runtime is how its process is launched, and what its state is.
"""

from collections.abc import Callable

from trunkline.execution.json_object import Json
from trunkline.execution.process.child import Failure, Launch
from trunkline.execution.process.sockets import SocketFolder
from trunkline.execution.session import ipc
from trunkline.execution.session.process import Patience, SessionProcess
from trunkline.execution.session.runtime_adapter import RuntimeAdapter


class ProcessAdapter(RuntimeAdapter):
    """Wraps a SessionProcess. Without a state that could be taken elsewhere, unless it says so."""

    def __init__(
        self,
        launch: Launch,
        sockets: SocketFolder,
        patience: Patience,
        *,
        on_message: Callable[[ipc.Up], None],
        on_ended: Callable[[Failure], None],
    ) -> None:
        self._process = SessionProcess(
            launch, sockets, on_message=on_message, on_ended=on_ended, patience=patience
        )

    @property
    def alive(self) -> bool:
        return self._process.alive

    @property
    def pid(self) -> int | None:
        return self._process.pid

    async def start(self, config: ipc.Start) -> ipc.Ready:
        return await self._process.start(config)

    async def send_message(self, data: ipc.UserMessageData) -> None:
        self._process.send(ipc.UserMessage(data=data))

    async def cancel(self, reason: str) -> None:
        self._process.send(ipc.Cancel(reason=reason))

    async def configure(self, patch: Json) -> None:
        self._process.send(ipc.ConfigUpdate(data=patch))

    async def answer(self, data: Json) -> None:
        self._process.send(ipc.ApprovalResponse(data=data))

    def reply(self, message: ipc.Response | ipc.Progress) -> None:
        self._process.send(message)

    async def stop(self, reason: str) -> None:
        await self._process.stop(reason)

    async def get_snapshot(self) -> Json:
        return {}

    async def restore(self, snapshot: Json) -> None:
        return

"""The SemiGraph runtime as the daemon sees it: a forked process, and files that it writes."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from trunkline.execution.checkpoint import files as checkpoints
from trunkline.execution.memory.local_memory import LocalShortTermMemory
from trunkline.execution.process.child import Failure, Launch
from trunkline.execution.process.sockets import SocketFolder
from trunkline.execution.session import ipc
from trunkline.execution.session.process import Patience, SessionProcess
from trunkline.execution.session.runtime_adapter import Json, RuntimeAdapter


class SemiGraphAdapter(RuntimeAdapter):
    """Wraps a SessionProcess of the fork server."""

    def __init__(
        self,
        launch: Launch,
        sockets: SocketFolder,
        folder: Path,
        patience: Patience,
        *,
        on_message: Callable[[ipc.Up], None],
        on_ended: Callable[[Failure], None],
    ) -> None:
        self._folder = folder
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
        # Megabytes, maybe: other sessions' events need not wait for them.
        checkpoint, memory = await asyncio.to_thread(self._read)
        if checkpoint is None and not any(memory.values()):
            return {}
        return {"checkpoint": checkpoint, "short_term_memory": memory}

    async def restore(self, snapshot: Json) -> None:
        if isinstance(checkpoint := snapshot.get("checkpoint"), dict):
            await asyncio.to_thread(checkpoints.restore, self._folder, checkpoint)
        if isinstance(memory := snapshot.get("short_term_memory"), dict):
            await LocalShortTermMemory(self._folder).restore(memory)

    def _read(self) -> tuple[Json | None, Json]:
        memory = LocalShortTermMemory(self._folder)
        return checkpoints.latest(self._folder), asyncio.run(memory.get_all_for_snapshot())

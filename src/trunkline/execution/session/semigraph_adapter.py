"""The SemiGraph runtime as the daemon sees it: a forked process, and files that it writes."""

import asyncio
from pathlib import Path

from trunkline.execution import attachments
from trunkline.execution.checkpoint import files as checkpoints
from trunkline.execution.json_object import Json
from trunkline.execution.memory.local_memory import LocalShortTermMemory
from trunkline.execution.pictures.copying import copy_pictures
from trunkline.execution.session.process import SessionProcess


class SemiGraphAdapter(SessionProcess):
    """Its checkpoints and its memory, in the session's folder, are its state."""

    async def get_snapshot(self) -> Json:
        # Megabytes, maybe: other sessions' events need not wait for them.
        checkpoint, memory = await asyncio.to_thread(self._read)
        if checkpoint is None and not any(memory.values()):
            return {}
        return {"checkpoint": checkpoint, "short_term_memory": memory}

    async def fork(self, source: Path) -> None:
        await asyncio.to_thread(self._copy, source)

    def _copy(self, source: Path) -> None:
        checkpoints.copy(source, self._folder)
        copy_pictures(source, self._folder)
        attachments.copy(source, self._folder)

    async def restore(self, snapshot: Json) -> None:
        if isinstance(checkpoint := snapshot.get("checkpoint"), dict):
            await asyncio.to_thread(checkpoints.restore, self._folder, checkpoint)
        if isinstance(memory := snapshot.get("short_term_memory"), dict):
            await LocalShortTermMemory(self._folder).restore(memory)

    def _read(self) -> tuple[Json | None, Json]:
        memory = LocalShortTermMemory(self._folder)
        return checkpoints.latest(self._folder), asyncio.run(memory.get_all_for_snapshot())

"""A hosted runtime as the daemon sees it: a forked process, and the state that it leaves."""

import asyncio

from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.hosted.state import restore_snapshot, take_snapshot
from trunkline.execution.session.process import SessionProcess


class HostedAdapter(SessionProcess):
    async def get_snapshot(self) -> Json:
        return await asyncio.to_thread(take_snapshot, self._folder)

    async def restore(self, snapshot: Json) -> None:
        await asyncio.to_thread(restore_snapshot, self._folder, snapshot)

"""What events mean for the records: written down session by session, in the order of the events.

`Lifecycle` hands in the work when an event is committed, which is when readers see it: a moment
before its record is there. Whoever acts on what was just shown waits here first.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, NamedTuple

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.machines.machine import Machine
from trunkline.control.tasks import Tasks

Work = Coroutine[Any, Any, None]
Task = asyncio.Task[None]


class _Newest(NamedTuple):
    """Of one session; done when all before it is."""

    machine: Machine
    task: Task


class Recording:
    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._newest: dict[str, _Newest] = {}

    def add(self, machine: Machine, session_id: str, work: Work) -> Task:
        """After what was handed in before. The task is done when the work is."""
        before = self._newest.get(session_id)
        task = self._tasks.spawn(_after(before and before.task, work), "session record")
        self._newest[session_id] = _Newest(machine, task)
        task.add_done_callback(lambda _: self._ended(session_id, task, work))
        return task

    def _ended(self, session_id: str, task: Task, work: Work) -> None:
        work.close()  # of a shutdown that comes before its turn: nobody else would
        newest = self._newest.get(session_id)  # in a shutdown the newest may end first
        if newest is not None and newest.task is task:
            del self._newest[session_id]

    async def done(self, session_id: str) -> None:
        """Returns when the records say what this session's events up to now mean."""
        newest = self._newest.get(session_id)
        await _wait([newest.task] if newest is not None else [])

    async def done_for(self, who: Principal) -> None:
        """The same, of every session that this person may see."""
        await _wait(
            [
                newest.task
                for newest in self._newest.values()
                if who.may_see(org_id=newest.machine.org_id, user_id=newest.machine.user_id)
            ]
        )


async def _after(before: Task | None, work: Work) -> None:
    if before is not None:
        await asyncio.wait([before])  # whatever became of it
    await work


async def _wait(tasks: list[Task]) -> None:
    """Not for ever: who asks while the database hangs is told what it knows."""
    if tasks:
        await asyncio.wait(tasks, timeout=limits.RECORD_WAIT_S)

"""Keeps one local VM up: starts its process, sees it connect, starts it again when it dies.

Knows processes and lines, no records. A program that dies again and again, or does not come, has
failed, which whoever waits for it is told; it is then tried again slowly, for as long as the VM is
wanted. Cancelled, `run` stops the process first. Time comes in as `clock` (Unix ms) and `sleep`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import structlog

from trunkline import limits
from trunkline.control.clock import Clock
from trunkline.control.errors import Unavailable
from trunkline.control.machines.machine import LineEnd
from trunkline.control.machines.processes import Child

_VM_RESTART_BACKOFF_S = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
VM_SLOW_RESTART_S = 300.0  # between starts of one that has failed

_log = structlog.get_logger()

Sleep = Callable[[float], Awaitable[Any]]
Launch = Callable[[str | None], Awaitable[Child]]
"""Starts the process once more; gets why the one before ended. None of its own is running."""
Failed = Callable[[str], Awaitable[None]]
"""Told why it does not come; it is tried again later all the same."""


class Lines(Protocol):
    """What is asked of the registry of live lines (control/machines/machines.py)."""

    def is_online(self, machine_id: str) -> bool: ...
    async def wait_online(self, machine_id: str) -> None: ...
    async def wait_offline(self, machine_id: str) -> None: ...
    def failed(self, machine_id: str, reason: str) -> None: ...
    def terminated(self, machine_id: str) -> None: ...
    def revive(self, machine_id: str) -> None: ...
    def end_line(self, machine_id: str, why: LineEnd) -> None: ...


async def first(**waits: Awaitable[Any]) -> str:
    """The name of the wait that ended first (of several at once, the one named first)."""
    tasks = {name: asyncio.ensure_future(wait) for name, wait in waits.items()}
    try:
        await asyncio.wait(tasks.values(), return_when=asyncio.FIRST_COMPLETED)
    finally:
        pending = [task for task in tasks.values() if not task.done()]
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
    # A wait that was still going is cancelled now; one that failed raises here.
    name, task = next((name, task) for name, task in tasks.items() if task not in pending)
    task.result()
    return name


class _Life(NamedTuple):
    """How a process fared."""

    end: str
    such_max: int
    """How often in a row it may end like this before it counts as failed."""
    is_stable: bool = False


class Supervisor:
    """One local VM. Its back-off starts over after a life that was online for a stable time."""

    def __init__(
        self,
        machine_id: str,
        launch: Launch,
        failed: Failed,
        lines: Lines,
        *,
        connect_timeout_s: float,
        away_s: float,
        clock: Clock,
        sleep: Sleep,
    ) -> None:
        self._id = machine_id
        self._launch = launch
        self._failed = failed
        self._lines = lines
        self._connect_timeout_s = connect_timeout_s
        self._away_s = away_s
        self._clock = clock
        self._sleep = sleep
        self._useless = ""
        self._is_useless = asyncio.Event()

    def start_again(self, reason: str) -> None:
        """The process that runs is of no use any more."""
        self._useless = reason
        self._is_useless.set()

    async def run(self) -> None:
        """Until it is cancelled, or the VM's record is gone (NotFound)."""
        reason: str | None = None
        failures = 0
        while True:
            self._is_useless.clear()
            try:
                child = await self._launch(reason)
            except Unavailable as error:
                life = _Life(error.message, 0)
            else:
                try:
                    life = await self._live(child)
                finally:
                    await child.stop()
                await self._clear_line()
            reason = life.end
            failures = 1 if life.is_stable else failures + 1
            await self._sleep(await self._pause_s(failures, life))

    async def _pause_s(self, failures: int, life: _Life) -> float:
        """How long to wait before the next start."""
        reason = life.end
        if failures <= life.such_max:
            delay_s = _VM_RESTART_BACKOFF_S[min(failures, len(_VM_RESTART_BACKOFF_S)) - 1]
            _log.warning("vm died", machine=self._id, reason=reason, restart_in_s=delay_s)
            return delay_s
        if life.such_max:
            reason = f"died {failures} times in a row; the last time it {reason}"
        minutes = VM_SLOW_RESTART_S / 60
        await self._failed(f"{reason} (it is started again every {minutes:g} minutes)")
        return VM_SLOW_RESTART_S

    async def _live(self, child: Child) -> _Life:
        ended = partial(self._ended, child)
        came = await first(
            ended=ended(),
            online=self._lines.wait_online(self._id),
            late=self._sleep(self._connect_timeout_s),
        )
        if came == "ended":
            return _Life(await ended(), limits.VM_START_FAILURES_MAX)
        if came == "late":
            return _Life(f"did not connect within {self._connect_timeout_s:g} s", 0)
        online_at = self._clock()
        _log.info("vm is up", machine=self._id, pid=child.pid)
        reason = await self._while_online(ended)
        is_stable = self._clock() - online_at >= limits.VM_STABLE_S * 1000
        return _Life(reason, limits.VM_QUICK_FAILURES_MAX, is_stable)

    async def _ended(self, child: Child) -> str:
        """Why it is over with that process; it is stopped by `run` where it lives."""
        over = await first(ended=child.ended(), useless=self._is_useless.wait())
        return self._useless if over == "useless" else await child.ended()

    async def _while_online(self, ended: Callable[[], Awaitable[str]]) -> str:
        """Until the process ends, or lives on without its line for longer than is allowed."""
        while True:
            went = await first(ended=ended(), offline=self._lines.wait_offline(self._id))
            if went == "ended":
                return await ended()
            came = await first(
                ended=ended(),
                online=self._lines.wait_online(self._id),
                lost=self._sleep(self._away_s),
            )
            if came == "ended":
                return await ended()
            if came == "lost":
                return f"lost its line and did not return within {self._away_s:g} s"

    async def _clear_line(self) -> None:
        """A line of the dead process must not pass for that of the next one."""
        if self._lines.is_online(self._id):
            self._lines.end_line(self._id, LineEnd.STOPPED)
            await self._lines.wait_offline(self._id)

"""The turns of a hosted session: one at a time, each with exactly one end.

The session's process submits messages, answers and cancels; the program runs them.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from trunkline import limits
from trunkline.execution.errors import TurnError
from trunkline.execution.json_object import Json
from trunkline.execution.orchestrator.settings import Settings
from trunkline.execution.permits import Permits
from trunkline.execution.runtimes.hosted.program import Program
from trunkline.execution.runtimes.hosted.turn import Turn
from trunkline.execution.session import ipc
from trunkline.execution.session.daemon_link import DaemonLink

_log = structlog.get_logger(__name__)

TURNS_QUEUED_MAX = 20  # messages that wait for the running turn
_STOPPED = {"code": "SESSION_STOPPED", "error": "The session was stopped in this turn."}
_LOOK_AGAIN_S = 1.0  # at least, at a turn whose time is nearly over while it waits for a person


class Turns:
    """What waits, and what runs."""

    def __init__(
        self,
        program: Program,
        settings: Settings,
        link: DaemonLink,
        permits: Permits,
        workspace: Path,
        *,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self.settings = settings
        self._program = program
        self._monotonic = monotonic
        self._sleep = sleep
        self._new_turn = partial(
            Turn,
            permits=permits,
            workspace=workspace,
            send=link.event,
            control=link,
            clock=clock,
            monotonic=monotonic,
            sleep=sleep,
        )
        self._waiting: deque[ipc.UserMessageData] = deque()
        self._turn: Turn | None = None
        self._running: asyncio.Task[None] | None = None
        self._interrupted: asyncio.Future[str]
        """Why the running turn is to end before its time."""

    def submit(self, said: ipc.UserMessageData) -> None:
        if len(self._waiting) >= TURNS_QUEUED_MAX:
            why = "Too many messages wait for this session."
            self._make(said).end("execution_error", code="TURN_QUEUE_FULL", error=why)
            return
        self._waiting.append(said)
        self._run_next()

    def answer(self, data: Json) -> None:
        if self._turn is not None:
            self._turn.answer(data)

    def cancel(self) -> None:
        """Ends the running turn; when none runs, or it is ending already, nothing happens."""
        self._interrupt("cancelled")

    def end_earlier(self, turn_id: str) -> None:
        """One that was open when the last process of this session ended: no program goes on in
        the middle of a turn."""
        why = "The session ended in the middle of this turn."
        earlier = self._make(ipc.UserMessageData(message="", turn_id=turn_id))
        earlier.end("execution_error", code="SESSION_CRASHED", error=why)

    async def stop(self) -> None:
        """The running turn ends; what waits is told by the daemon."""
        self._waiting.clear()
        self._interrupt("stopped")
        if self._running is not None:
            await asyncio.wait({self._running})

    def _make(self, said: ipc.UserMessageData) -> Turn:
        return self._new_turn(said, settings=self.settings)

    def _run_next(self) -> None:
        if self._running is not None or not self._waiting:
            return
        self._turn = self._make(self._waiting.popleft())
        self._interrupted = asyncio.get_running_loop().create_future()
        self._running = asyncio.create_task(self._run(self._turn), name="turn")
        self._running.add_done_callback(self._over)

    def _over(self, running: asyncio.Task[None]) -> None:
        if not running.cancelled() and (error := running.exception()):
            _log.error("turn without an end", exc_info=error)
        self._turn = self._running = None
        self._run_next()

    def _interrupt(self, why: str) -> None:
        if self._running is not None and not self._interrupted.done():
            self._interrupted.set_result(why)

    async def _run(self, turn: Turn) -> None:
        work = asyncio.create_task(self._program.run(turn), name="program")
        try:
            why = await self._end_of(turn, work)
            if why is not None:
                await self._abandon(work)
        except BaseException:  # this process ends
            work.cancel()
            raise
        match why:
            case "cancelled":
                turn.end("execution_complete", withdrawn="cancelled", content="", cancelled=True)
            case "stopped":
                turn.end("execution_error", **_STOPPED)
            case "timeout":
                allowed_s = turn.settings.timeout_seconds
                text = f"The turn was ended after {allowed_s:g} s (timeout_seconds)."
                turn.end("execution_error", code="TURN_TIMEOUT", error=text)
            case _:
                self._tell_result(turn, work)

    def _tell_result(self, turn: Turn, work: asyncio.Task[str]) -> None:
        try:
            turn.end("execution_complete", content=work.result())
        except TurnError as error:
            turn.end("execution_error", code=error.code, error=error.message)
        except (Exception, asyncio.CancelledError) as error:
            _log.exception("turn failed", turn_id=turn.turn_id)
            why = f"Unexpected: {type(error).__name__}: {error}"
            turn.end("execution_error", code="TURN_FAILED", error=why)

    async def _end_of(self, turn: Turn, work: asyncio.Task[str]) -> str | None:
        """Why it is to be ended; None when it has ended by itself. Waiting for people is not
        counted."""
        began = self._monotonic()
        while True:
            worked_s = self._monotonic() - began - turn.waited_s()
            left_s = turn.settings.timeout_seconds - worked_s
            if left_s <= 0:
                return "timeout"
            await self._first_of(work, self._interrupted, within_s=max(left_s, _LOOK_AGAIN_S))
            if self._interrupted.done():
                return self._interrupted.result()
            if work.done():
                return None

    async def _first_of(self, *futures: asyncio.Future[Any], within_s: float) -> None:
        patience = asyncio.ensure_future(self._sleep(within_s))
        try:
            await asyncio.wait({*futures, patience}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            patience.cancel()

    async def _abandon(self, work: asyncio.Task[str]) -> None:
        """The program stops, or is killed."""
        work.cancel()
        await self._first_of(work, within_s=limits.CANCEL_GRACE_S)
        if not work.done():
            _log.warning("a program does not stop and is killed")
            self._program.abort()
            await self._first_of(work, within_s=limits.CANCEL_GRACE_S)
        if work.done() and not work.cancelled() and (error := work.exception()):
            _log.warning("a program failed while it was stopped", problem=str(error))

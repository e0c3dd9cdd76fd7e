"""The session's process of a hosted runtime: a program behind the daemon's socket.

A runtime's own `process.py` calls `run` with what makes its program; the fork server calls that.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from trunkline import limits
from trunkline.execution import logs
from trunkline.execution.fence import words
from trunkline.execution.home import Home
from trunkline.execution.orchestrator.settings import read_settings
from trunkline.execution.permits import Permits
from trunkline.execution.runtimes.hosted.program import MakeProgram, Opening, Program
from trunkline.execution.runtimes.hosted.state import SavedState
from trunkline.execution.runtimes.hosted.turn import event_of
from trunkline.execution.runtimes.hosted.turns import Turns
from trunkline.execution.session import ipc, serving
from trunkline.execution.session.daemon_link import DaemonLink

_log = structlog.get_logger(__name__)


def run(socket_path: str, make: MakeProgram) -> None:
    opened = partial(HostedSession.open, make, env=os.environ)
    serving.run(socket_path, partial(serving.serve, open_session=opened))


class HostedSession:
    """Made by `open`; told by `take`, ended by `stop` (in peace) and `close` (in any case)."""

    def __init__(self, session_id: str, program: Program, turns: Turns, permits: Permits) -> None:
        self._permits = permits
        self._session_id = session_id
        self._program = program
        self._turns = turns

    @classmethod
    async def open(
        cls,
        make: MakeProgram,
        start: ipc.Start,
        link: DaemonLink,
        *,
        env: Mapping[str, str],
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> "HostedSession":
        """Tells the daemon `ready` before the program runs: that starts with the first turn."""
        logs.hide(start.api_keys.values())
        folder = Home(Path(start.home)).session(start.session_id)
        folder.mkdir(parents=True, exist_ok=True)
        settings, problems = read_settings(start.agent_config, start.session_config)
        told = start.fence.told if start.fence is not None else words.NO_FENCE
        permits = Permits(start.rules, problems, fenced=start.fenced, fence=told)

        def emit(kind: str, /, **fields: Any) -> None:
            link.event(event_of(kind, fields, clock()))

        opening = Opening(
            start=start,
            settings=settings,
            permits=permits,
            workspace=Path(start.workspace),
            folder=folder,
            env=env,
            control=link,
            state=SavedState(folder, start.runtime_type),
            emit=emit,
            flush=link.flush,
            problems=problems,
        )
        program = make(opening)
        turns = Turns(
            program,
            settings,
            link,
            permits,
            opening.workspace,
            clock=clock,
            monotonic=monotonic,
            sleep=sleep,
        )
        if start.turn_id is not None:
            turns.end_earlier(start.turn_id)
        link.ready(problems)
        return cls(start.session_id, program, turns, permits)

    @property
    def is_working(self) -> bool:
        return False  # a program's own background work is part of its turns

    def take(self, message: ipc.Down) -> None:
        match message:
            case ipc.UserMessage(data=said):
                self._turns.submit(said)
            case ipc.Cancel():
                self._turns.cancel()
            case ipc.ApprovalResponse(data=answer):
                self._turns.answer(answer)
            case ipc.ConfigUpdate(data=patch):
                settings, problems = self._turns.settings.changed(patch)
                if "rules" in patch:
                    problems += self._permits.change(patch["rules"])
                self._turns.settings = settings
                self._program.configure(settings, patch)
                if problems:
                    _log.warning("settings ignored", session=self._session_id, reasons=problems)
            case ipc.Progress():
                pass  # a program asks for nothing that takes long
            case _:
                _log.warning("message out of place", type=type(message).__name__)

    async def stop(self, reason: str) -> None:
        _log.info("session stops", session=self._session_id, reason=reason)
        await self._turns.stop()

    async def close(self) -> None:
        await self._turns.stop()
        try:
            async with asyncio.timeout(limits.CANCEL_GRACE_S):
                await self._program.close()
        except Exception:
            _log.exception("a program was not closed in time", session=self._session_id)
            self._program.abort()

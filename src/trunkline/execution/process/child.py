"""A process that runs a session, whoever started it: how it ended, and what that means.

The text and codes of a failure are for the readers of the turn that it ended.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec

from trunkline.execution.errors import ExecutionError


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two says how a process ended; none where nobody could tell any more."""

    exit_code: int | None = None
    signal: int | None = None

    def __str__(self) -> str:
        if self.signal is not None:
            return f"was ended by {signal.Signals(self.signal).name}"
        return f"ended with exit code {self.exit_code}" if self.exit_code is not None else "is gone"


class Child(Protocol):
    """A process as seen from the daemon."""

    pid: int
    ended: asyncio.Future[Exit]

    def kill(self) -> None:
        """SIGKILL, if it still runs."""


Launch = Callable[[str], Awaitable[Child]]
"""Starts a process that connects to the socket at that path. Raises StartFailed."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """What `execution_error` says. `code`: SESSION_CRASHED, SESSION_OUT_OF_MEMORY, SESSION_HUNG,
    what the process said of itself, or why it could not start."""

    code: str
    message: str
    exit_code: int | None = None
    signal: str | None = None

    @classmethod
    def of(cls, error: ExecutionError) -> "Failure":
        return cls(code=error.code, message=error.message)

    def fields(self) -> dict[str, Any]:
        """Of the event, which leaves out None; `turn_id` and `ts` come from whoever sends it."""
        how = {"exit_code": self.exit_code, "signal": self.signal}
        return {"error": self.message, "code": self.code, **how}


def failure_of(end: Exit, why: Failure | None = None, *, oom_kills: int = 0) -> Failure:
    """What one end means. `why`: what the process said of itself, or why we killed it.
    `oom_kills`: how often memory ran out while it lived."""
    if why is None:
        why = _guessed(end, oom_kills)
    name = signal.Signals(end.signal).name if end.signal is not None else None
    return msgspec.structs.replace(why, exit_code=end.exit_code, signal=name)


def _guessed(end: Exit, oom_kills: int) -> Failure:
    if end.signal == signal.SIGKILL and oom_kills:
        why = "the machine ran out of memory and ended this session"
        return Failure(code="SESSION_OUT_OF_MEMORY", message=why)
    more = "; it may have needed too much memory" if end.signal == signal.SIGKILL else ""
    return Failure(code="SESSION_CRASHED", message=f"the session's process {end}{more}")

"""A process that runs a session, whoever started it, and how it ended."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec


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


class StartFailed(Exception):
    """A session's process did not come up; the text is for people."""

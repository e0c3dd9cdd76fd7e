"""The life of a session's process in Python: opens the session, then does what the daemon says.

The same for every runtime that runs in Python; what a session is, is the runtime's.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Protocol

import structlog

from trunkline import limits
from trunkline.execution.fence import inside
from trunkline.execution.process.programs import children
from trunkline.execution.session import ipc
from trunkline.execution.session.daemon_link import DaemonLink

_log = structlog.get_logger(__name__)


class Opened(Protocol):
    """A session that takes messages."""

    @property
    def is_working(self) -> bool:
        """Whether something of it runs between turns."""

    def take(self, message: ipc.Down) -> None:
        """What the daemon says to it, and news of what it has asked for. Never waits."""

    async def stop(self, reason: str) -> None:
        """In peace: saves what there is."""

    async def close(self) -> None:
        """In any case: ends what runs."""


Open = Callable[[ipc.Start, DaemonLink], Awaitable[Opened]]
"""Opens everything and tells the daemon `ready`. Raises what makes that impossible."""


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[int]]
"""A session's life on a socket; the exit code of its process."""


def run(socket_path: str, serve_session: Serve) -> None:
    """Runs a session; leaves with the exit code 0 only when it was told to stop."""

    async def connected() -> int:
        reader, writer = await asyncio.open_unix_connection(
            socket_path, limit=2 * limits.IPC_LINE_BYTES_MAX
        )
        return await serve_session(reader, writer)

    raise SystemExit(asyncio.run(connected()))


async def serve(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, open_session: Open
) -> int:
    """A session's life on that socket. Returns the process's exit code."""
    link = DaemonLink(reader, writer)
    session: Opened | None = None
    early: list[ipc.Down] = []
    """What came right behind `start`."""

    async def opened(start: ipc.Start) -> None:
        nonlocal session
        if start.fence is not None:
            children.confined = inside.enter(start.fence)
            if children.confined is None and start.fence.kind == "session":
                start.fence = None
        session = await open_session(start, link)
        for message in early:
            session.take(message)

    opening: asyncio.Task[None] | None = None
    try:
        async with asyncio.TaskGroup() as tasks, aclosing(link.messages()) as messages:
            async for message in messages:
                if isinstance(message, ipc.Start) and opening is None:
                    # Beside the reading: while it opens it may ask the control plane something.
                    opening = tasks.create_task(opened(message))
                elif isinstance(message, ipc.Stop):
                    if opening is not None:
                        await opening
                    if session is not None:
                        await session.stop(message.reason)
                    return 0
                elif isinstance(message, ipc.Ping):
                    link.pong(is_working=session is not None and session.is_working)
                elif session is not None:
                    session.take(message)
                elif not isinstance(message, ipc.Progress):  # of its opening: nobody is shown that
                    early.append(message)
            if opening is not None:
                opening.cancel()
        return 1  # the daemon is gone: nobody is left to work for
    except ExceptionGroup as group:
        error = group.exceptions[0]
        _log.error("session failed", exc_info=error)
        link.error("SESSION_FAILED", f"{type(error).__name__}: {error}")
        return 1
    finally:
        if session is not None:
            await session.close()
        await link.close()

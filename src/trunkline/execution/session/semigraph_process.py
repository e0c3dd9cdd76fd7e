"""The program of a SemiGraph session's process: opens the session, then does what the daemon says.

The fork server calls `main` in a fresh fork. Keys live in this process's memory and nowhere else.
"""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing

import structlog

from trunkline import limits
from trunkline.execution.orchestrator.session import OpenSession, Sleep
from trunkline.execution.session import ipc
from trunkline.execution.session.daemon_link import DaemonLink

_log = structlog.get_logger(__name__)


def preload() -> None:
    """Called by the fork server, once."""
    from trunkline.execution.session.semigraph_warmup import warm_up  # which plays `serve`

    warm_up()


def main(socket_path: str) -> None:
    """Runs a session; leaves with the exit code 0 only when it was told to stop."""

    async def run() -> int:
        reader, writer = await asyncio.open_unix_connection(
            socket_path, limit=2 * limits.IPC_LINE_BYTES_MAX
        )
        return await serve(reader, writer)

    raise SystemExit(asyncio.run(run()))


async def serve(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    *,
    clock: Callable[[], float] = time.time,
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Sleep = asyncio.sleep,
    env: Mapping[str, str] = os.environ,
) -> int:
    """A session's life on that socket. Returns the process's exit code."""
    link = DaemonLink(reader, writer)
    session: OpenSession | None = None
    early: list[ipc.Down] = []
    """What came right behind `start`."""

    async def open_session(start: ipc.Start) -> None:
        nonlocal session
        session = await OpenSession.open(
            start, link, clock=clock, monotonic=monotonic, sleep=sleep, env=env
        )
        for message in early:
            session.take(message)

    opening: asyncio.Task[None] | None = None
    try:
        async with asyncio.TaskGroup() as tasks, aclosing(link.messages()) as messages:
            async for message in messages:
                if isinstance(message, ipc.Start) and opening is None:
                    # Beside the reading: while it opens it may ask the control plane something.
                    opening = tasks.create_task(open_session(message))
                elif isinstance(message, ipc.Stop):
                    if opening is not None:
                        await opening
                    if session is not None:
                        await session.stop(message.reason)
                    return 0
                elif session is not None:
                    session.take(message)
                else:
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

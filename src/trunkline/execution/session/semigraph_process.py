"""The program of a SemiGraph session's process: opens the session, then does what the daemon says.

The fork server calls `main` in a fresh fork. Keys live in this process's memory and nowhere else.
"""

import asyncio
import os
import time
from collections.abc import Callable, Mapping

import structlog

from trunkline import limits
from trunkline.execution.orchestrator.session import Session, Sleep
from trunkline.execution.session import ipc
from trunkline.execution.session.daemon_link import DaemonLink

_log = structlog.get_logger(__name__)

PRELOAD = ("trunkline.execution.session.semigraph_preload",)
"""For the fork server."""


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
    inbox: asyncio.Queue[ipc.Down | None] = asyncio.Queue()
    # Beside the work: a session that is being opened may already ask the control plane something.
    reading = asyncio.create_task(_read(link, inbox))
    session: Session | None = None
    try:
        while (message := await inbox.get()) is not None:
            if isinstance(message, ipc.Stop):
                if session is not None:
                    await session.stop(message.reason)
                return 0
            if session is not None:
                session.take(message)
            elif isinstance(message, ipc.Start):
                session = await Session.open(
                    message, link, clock=clock, monotonic=monotonic, sleep=sleep, env=env
                )
        return 1  # the daemon is gone: nobody is left to work for
    except Exception as error:
        _log.exception("session failed")
        link.error("SESSION_FAILED", f"{type(error).__name__}: {error}")
        return 1
    finally:
        if session is not None:
            await session.close()
        reading.cancel()
        await link.close()


async def _read(link: DaemonLink, inbox: "asyncio.Queue[ipc.Down | None]") -> None:
    async for message in link.messages():
        inbox.put_nowait(message)
    inbox.put_nowait(None)

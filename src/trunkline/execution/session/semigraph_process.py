"""The program of a SemiGraph session's process: opens the session, then does what the daemon says.

The fork server calls `main` in a fresh fork. Keys live in this process's memory and nowhere else.
"""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from functools import partial

from trunkline.execution.fence import inside
from trunkline.execution.orchestrator.session import OpenSession, Sleep
from trunkline.execution.session import serving


def preload() -> None:
    """Called by the fork server, once."""
    from trunkline.execution.session.semigraph_warmup import warm_up  # which plays `serve`

    inside.prepare()
    warm_up()


def main(socket_path: str) -> None:
    serving.run(socket_path, serve)


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
    opened = partial(OpenSession.open, clock=clock, monotonic=monotonic, sleep=sleep, env=env)
    return await serving.serve(reader, writer, opened)

"""The fork server with the real program: warm, alone in its process, and what sessions share."""

import asyncio
import os
from pathlib import Path

import pytest

from trunkline.execution.home import Home
from trunkline.execution.process.fork_client import Spawner
from trunkline.execution.process.sockets import SocketFolder
from trunkline.execution.session import ipc
from trunkline.execution.session.process import Patience, SessionProcess

pytestmark = pytest.mark.slow

BOUND_S = 120


async def test_the_real_program_is_loaded_without_threads_and_starts_sessions(
    home: Home, sockets: SocketFolder
) -> None:
    spawner = Spawner({"PATH": os.environ["PATH"]}, home.workspace)
    await spawner.start()
    process = SessionProcess(
        spawner.spawn,
        sockets,
        Patience(ready_s=BOUND_S),
        home.session("s-1"),
        on_message=lambda _message: None,
        on_ended=lambda _failure: None,
    )
    try:
        async with asyncio.timeout(BOUND_S):
            # A fork copies one thread; a lock that another one holds would stay locked for ever.
            server = await spawner.pid()
            assert len(list(Path(f"/proc/{server}/task").iterdir())) == 1
            await process.start(ipc.Start(session_id="s-1", home=str(home.root)))
            assert process.alive
            await process.stop("test")
    finally:
        await spawner.close()

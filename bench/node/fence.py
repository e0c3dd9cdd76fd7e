"""The scenario `fence`: what the fence adds to a session's start and to a command.

With and without it by turns in the same run, so that a slow moment hits both; what is reported is
the difference of the lower quartiles. Of a start it is time on the processor, the daemon's and the
session's: the fence waits for nothing, and other work on the machine does not count then.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import quantiles

import msgspec

from bench import budgets
from bench.results import Metric, Results
from trunkline.execution.errors import ExecutionError
from trunkline.execution.fence import inside, probe
from trunkline.execution.fence.groups import Groups
from trunkline.execution.fence.machine import Fence
from trunkline.execution.fence.profile import Profile
from trunkline.execution.home import Home
from trunkline.execution.process.child import Failure
from trunkline.execution.process.fork_client import Spawner
from trunkline.execution.process.programs import children, run_process
from trunkline.execution.process.sockets import SocketFolder
from trunkline.execution.session import ipc
from trunkline.execution.session.process import Patience, SessionProcess

OURS = "trunkline"
_COMMANDS_S_MAX = 120.0


def fence(_number: int, results: Results) -> list[str]:
    """Gives what failed."""
    found = probe.look()
    if not found.files:
        return [f"fence: {found.why_not}"]
    try:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            home = Home(Path(folder) / "home")
            home.make()
            groups = Groups.below_ours()  # as a daemon has them, where it can
            made = Fence(home, "require", found, hidden=[Path(folder) / "data"], groups=groups)
            try:
                without_ms, with_ms = asyncio.run(_starts(home, made))
                results.add(Metric.FENCE_START, OURS, _usual(with_ms) - _usual(without_ms))
                without_ms, with_ms = _commands(home, made)
                results.add(Metric.FENCE_COMMAND, OURS, _usual(with_ms) - _usual(without_ms))
            finally:
                if groups is not None:
                    groups.sweep(is_over=True)
    except (OSError, ExecutionError, TimeoutError, subprocess.SubprocessError) as error:
        return [f"fence: {error}"]
    return []


def _usual(times_ms: list[float]) -> float:
    return quantiles(times_ms, n=4)[0]


async def _starts(home: Home, made: Fence) -> tuple[list[float], list[float]]:
    """From the making of its profile to ready."""
    spawner = Spawner({"PATH": os.environ["PATH"]}, home.workspace)
    sockets = SocketFolder(home.run)
    times_ms: tuple[list[float], list[float]] = ([], [])
    try:
        await spawner.start()
        await spawner.pid()
        for number in range(2 * budgets.FENCE_STARTS):
            start = ipc.Start(
                session_id=f"bench-{number}", home=str(home.root), agent_config={"model": "demo"}
            )
            process = SessionProcess(
                spawner.spawn,
                sockets,
                Patience(),
                home.session(start.session_id),
                on_message=lambda _message: None,
                on_ended=_ended,
            )
            began = time.process_time()
            start.fence = made.profile(start) if number % 2 else None
            ours_ms = (time.process_time() - began) * 1000
            await process.start(start)
            assert process.pid is not None
            times_ms[number % 2].append(ours_ms + _processor_ms(process.pid))
            await process.stop("done")
    finally:
        await spawner.close()
        sockets.close()
    return times_ms


def _processor_ms(pid: int) -> float:
    """What a process has had since it was forked."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6


def _ended(_failure: Failure) -> None:
    """Each is stopped, and then it ends."""


def _commands(home: Home, made: Fence) -> tuple[list[float], list[float]]:
    """In a process that is fenced in, as a session's is."""
    allowed = made.profile(ipc.Start(session_id="bench", home=str(home.root)))
    done = subprocess.run(
        [sys.executable, "-m", __name__, str(home.workspace)],
        input=msgspec.json.encode(allowed),
        capture_output=True,
        timeout=_COMMANDS_S_MAX,
        check=True,
    )
    without_ms, with_ms = json.loads(done.stdout)
    return without_ms, with_ms


async def _run(workspace: Path) -> tuple[list[float], list[float]]:
    confined = children.confined
    times_ms: tuple[list[float], list[float]] = ([], [])
    for number in range(2 * budgets.FENCE_COMMANDS):
        children.confined = confined if number % 2 else None
        began = time.perf_counter()
        await run_process(
            ["true"],
            cwd=workspace,
            env=dict(os.environ),
            timeout_s=_COMMANDS_S_MAX,
            take=lambda _text: None,
        )
        times_ms[number % 2].append((time.perf_counter() - began) * 1000)
    return times_ms


if __name__ == "__main__":
    children.confined = inside.enter(msgspec.json.decode(sys.stdin.buffer.read(), type=Profile))
    if children.confined is None:
        sys.exit("no fence")
    print(json.dumps(asyncio.run(_run(Path(sys.argv[1])))))

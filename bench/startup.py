"""The scenario `startup`: how long a person waits for the help, and for the prompt of a chat.

Each beside `python -c pass`, by turns in the same run: what Python itself takes on this machine.
Everything is real: the installed program, a terminal, a server with a machine. Compiled modules are
there, as after the first start.
"""

import asyncio
import os
import pty
import resource
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.control import ControlProcess

from bench import budgets
from bench.results import Metric, Results

BARE = "python -c pass"
HELP = "trunkline --help"
CHAT = "trunkline chat, to its prompt"
_PROGRAM = str(Path(sys.executable).parent / "trunkline")
_PROMPT = b">"  # in no sequence that is sent before it
_S_MAX = 30.0


def startup(_number: int, results: Results) -> list[str]:
    """Gives what failed."""
    try:
        asyncio.run(_measure(results))
    except (OSError, AssertionError, subprocess.SubprocessError, TimeoutError) as error:
        return [f"startup: {error}"]
    return []


async def _measure(results: Results) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        async with ControlProcess(Path(folder) / "data") as control:
            user = await control.user("ada")
            async with await user.vm():
                env = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
                env |= {"HOME": folder, "TERM": "xterm-256color", "TRUNKLINE_URL": control.url}
                env["TRUNKLINE_TOKEN"] = user.token
                await asyncio.to_thread(_runs, env, results)


def _runs(env: dict[str, str], results: Results) -> None:
    timed: dict[str, Callable[[], float]] = {
        BARE: lambda: _whole([sys.executable, "-c", "pass"], env),
        HELP: lambda: _whole([_PROGRAM, "--help"], env),
        CHAT: lambda: _to_prompt([_PROGRAM, "chat"], env),
    }
    for run in timed.values():
        run()  # compiles what was not
    seen: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(budgets.STARTUP_RUNS):
        for name, run in timed.items():
            seen[name].append(run())
    for name, values in seen.items():
        results.add(Metric.STARTUP, name, statistics.median(values))


def _whole(command: list[str], env: dict[str, str]) -> float:
    """To its end."""
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
    _, code, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(code)
    if process.returncode:
        raise AssertionError(f"{command} ended with {process.returncode}")
    return _used_ms(used)


def _to_prompt(command: list[str], env: dict[str, str]) -> float:
    """In a terminal, to where it can be typed into."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(command[0], command, env)
    shown, until = b"", time.monotonic() + _S_MAX
    while _PROMPT not in shown:
        is_there, _, _ = select.select([terminal], [], [], max(until - time.monotonic(), 0.0))
        data = os.read(terminal, 65536) if is_there else b""
        if not data:
            break
        shown += data
    os.kill(pid, signal.SIGKILL)
    _, _, used = os.wait4(pid, 0)
    os.close(terminal)
    if _PROMPT not in shown:
        raise AssertionError(f"no prompt came: {shown[-500:]!r}")
    return _used_ms(used)


def _used_ms(used: resource.struct_rusage) -> float:
    """Time on the processor: what a start takes on a quiet machine. Waiting for one's turn on a
    busy one, which says nothing of the program, is left out."""
    return (used.ru_utime + used.ru_stime) * 1000

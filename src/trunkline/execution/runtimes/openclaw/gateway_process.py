"""One run of OpenClaw's gateway: started, waited for, watched, ended with all that it started."""

import asyncio
import os
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import aiohttp
import structlog

from trunkline import limits
from trunkline.execution.errors import RequestFailed
from trunkline.execution.process.child import Exit
from trunkline.execution.process.programs import ended

_log = structlog.get_logger(__name__)

GATEWAY_START_S = 180.0  # it reads 650 MB of programs, maybe from a slow disk
GATEWAY_STOP_S = 5.0
GATEWAY_POLL_S = 0.25
GATEWAY_TOLD_S = 5.0  # how often those who wait are told
GATEWAY_CHECK_S = 15.0  # between two checks, and for an answer
GATEWAY_CHECKS_FAILED_MAX = 6  # in a row: bad answers for a minute and a half, none for three
_LINES_KEPT = 30
_LINE_CHARS_MAX = 500
# -P: a module in the folder that the daemon was started in is not taken for one of ours.
GUARD = (sys.executable, "-P", "-m", "trunkline.execution.runtimes.openclaw.guard")


class GatewayProcess:
    """`ended` is done when it is gone; then `reason` says how, in words for people."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, generation: int) -> None:
        self.pid = process.pid
        self.port = port
        self.generation = generation
        self.reason = ""
        self.started_at = time.monotonic()
        self._process = process
        self._was_ready = asyncio.Event()
        self._why = ""
        """For what we ended it, if we did."""
        self._said: deque[str] = deque(maxlen=_LINES_KEPT)
        self.ended = asyncio.create_task(self._watch(), name="openclaw gateway")

    @classmethod
    async def start(
        cls, program: Sequence[str], env: Mapping[str, str], folder: Path, port: int, number: int
    ) -> "GatewayProcess":
        process = await asyncio.create_subprocess_exec(
            *GUARD,
            *program,
            "gateway",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=env,
            cwd=folder,
            start_new_session=True,
            limit=limits.MIB,
        )
        return cls(process, port, number)

    @property
    def is_up(self) -> bool:
        return not self.ended.done()

    async def ready(self, tell: Callable[[str], None]) -> None:
        """Raises RequestFailed when it ends before, or takes too long."""
        begun = told = time.monotonic()
        async with aiohttp.ClientSession() as http:
            while self.is_up:
                if await self._answers(http, within_s=2.0):
                    self._was_ready.set()
                    return
                now = time.monotonic()
                if now - begun > GATEWAY_START_S:
                    await self.stop()
                    why = f"OpenClaw's gateway was not ready within {GATEWAY_START_S:.0f} s"
                    raise RequestFailed("RUNTIME_FAILED", why)
                if now - told >= GATEWAY_TOLD_S:
                    told = now
                    tell(f"OpenClaw's gateway is still starting ({now - begun:.0f} s) …")
                await asyncio.wait((self.ended,), timeout=GATEWAY_POLL_S)
        raise RequestFailed("RUNTIME_CRASHED", self.reason)

    async def check(self, every_s: float) -> None:
        """While it runs: one that does not answer for long is ended. A start takes its own time."""
        await self._was_ready.wait()
        failed = 0
        async with aiohttp.ClientSession() as http:
            while self.is_up:
                await asyncio.wait((self.ended,), timeout=every_s)
                failed = 0 if await self._answers(http, within_s=every_s) else failed + 1
                if failed >= GATEWAY_CHECKS_FAILED_MAX:
                    self._why = f"did not answer {failed} checks in a row and was ended"
                    _log.error("openclaw's gateway hangs and is ended", pid=self.pid)
                    await self.stop()

    async def stop(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()  # the guard ends it, and all that it started
        await asyncio.wait((self.ended,), timeout=GATEWAY_STOP_S)
        await ended(self._process, 0)
        await asyncio.wait((self.ended,))

    async def _answers(self, http: aiohttp.ClientSession, within_s: float) -> bool:
        url = f"http://127.0.0.1:{self.port}/readyz"
        try:
            async with http.get(url, timeout=aiohttp.ClientTimeout(total=within_s)) as answer:
                return answer.status == 200
        except (aiohttp.ClientError, TimeoutError, OSError):
            return False

    async def _watch(self) -> None:
        assert self._process.stdout is not None
        with suppress(ValueError):  # a line longer than any that tells something
            while line := await self._process.stdout.readline():
                self._said.append(line.decode("utf-8", "replace").strip()[:_LINE_CHARS_MAX])
        while await self._process.stdout.read(limits.MIB):
            pass
        end = _end_of(await self._process.wait())
        last = next((line for line in reversed(self._said) if line), "")
        more = f"; it said: {last}" if last and end.exit_code else ""
        self.reason = f"OpenClaw's gateway {self._why or f'{end}{more}'}"
        _log.info("openclaw's gateway ended", pid=self.pid, reason=self.reason)


def _end_of(status: int) -> Exit:
    """The guard says by its code how the gateway ended; its own end counts as that."""
    if status < 0:
        return Exit(signal=-status)
    return Exit(signal=status - 128) if 128 < status < 128 + 64 else Exit(exit_code=status)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def with_node(env: Mapping[str, str], node: str) -> dict[str, str]:
    """Where programs are found, our Node.js first."""
    path = env.get("PATH", "")
    return {**env, "PATH": f"{Path(node).parent}{os.pathsep}{path}" if node else path}


def environment(env: Mapping[str, str], config: Path, state: Path, node: str) -> dict[str, str]:
    """`env` is scrubbed already: the commands of agents inherit all of this."""
    return {
        **with_node(env, node),
        "OPENCLAW_CONFIG_PATH": str(config),
        "OPENCLAW_STATE_DIR": str(state),
        "OPENCLAW_NO_AUTO_UPDATE": "1",
        "OPENCLAW_DISABLE_BONJOUR": "1",
        "OPENCLAW_NO_RESPAWN": "1",
        "OPENCLAW_SKIP_CHANNELS": "1",
        "OPENCLAW_EXEC_SHELL_SNAPSHOT": "0",
    }

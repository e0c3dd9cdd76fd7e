"""A program of ours as a process of its own: started with a log, killed, stopped."""

import asyncio
import os
import signal
from pathlib import Path

_HIDDEN = ("TRUNKLINE", "API_KEY", "BASE_URL", "VM_")
_STOP_S = 90


def plain_environment() -> dict[str, str]:
    """This process's own, without what would tell the program about another one."""
    return {
        name: value
        for name, value in os.environ.items()
        if not any(hidden in name for hidden in _HIDDEN)
    }


class Program:
    """What it writes goes into a file beside its home."""

    process: asyncio.subprocess.Process

    def __init__(self, home: Path) -> None:
        self.home = home
        self._log = home.with_suffix(".log")

    async def run(self, *command: str, env: dict[str, str]) -> None:
        with self._log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *command, env=env, stdout=log, stderr=log, start_new_session=True
            )

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    async def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        await self.process.wait()

    async def stop(self) -> int:
        """SIGTERM; the exit code. What does not end in time is killed with all its children."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(_STOP_S):
                return await self.process.wait()
        except TimeoutError:
            os.killpg(self.process.pid, signal.SIGKILL)
            return await self.process.wait()

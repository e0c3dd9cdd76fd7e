"""The process of an ACP agent: started in a kernel session of its own, ended with all it started.

Its errors are kept, the last lines of them, for people who ask why it ended.
"""

import asyncio
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from trunkline import limits
from trunkline.execution.errors import TurnError
from trunkline.execution.process.family import kill_group
from trunkline.execution.process.programs import children

ERROR_LINES_KEPT = 8
ERROR_LINE_CHARS_MAX = 300
STOP_S = 1.0  # between the end of its input and its own


class Launched:
    """Made by `start`."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self._name = name
        self._process = process
        self._errors: deque[str] = deque(maxlen=ERROR_LINES_KEPT)
        self._reading = asyncio.create_task(self._read_errors(), name="errors of an agent")

    @classmethod
    async def start(
        cls, name: str, argv: Sequence[str], env: Mapping[str, str], cwd: Path
    ) -> "Launched":
        """Raises TurnError."""
        try:
            process = await children.start(
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=limits.FRAME_BYTES_MAX,
                env=dict(env),
                cwd=cwd,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise TurnError(
                "RUNTIME_UNAVAILABLE",
                f"{name} cannot be started: {why}. Install it, or correct `acp` in the agent's "
                "configuration.",
            ) from error
        return cls(name, process)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def reader(self) -> asyncio.StreamReader:
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def writer(self) -> asyncio.StreamWriter:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None

    def kill(self) -> None:
        kill_group(self._process.pid)

    async def wait(self) -> None:
        await self._process.wait()

    async def close(self) -> None:
        """Its input ends, as it does for a program whose editor was closed; then it is killed."""
        with suppress(OSError, RuntimeError):
            self.writer.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                await self._process.wait()
        await self.ended()

    async def ended(self) -> str:
        """Kills what is left of it; how it ended, in words."""
        self.kill()
        code = await self._process.wait()
        children.reap_orphans()
        await asyncio.wait({self._reading}, timeout=limits.PROCESS_DRAIN_S)
        self._reading.cancel()
        how = f"signal {_signal(-code)}" if code < 0 else f"exit code {code}"
        said = "\n".join(self._errors)
        return f"{self._name} ended ({how})" + (f": {said}" if said else "")

    async def _read_errors(self) -> None:
        assert self._process.stderr is not None
        while True:
            try:
                line = await self._process.stderr.readline()
            except ValueError:  # a line beyond all bounds; the rest of it follows
                continue
            if not line:
                return
            if text := line.decode(errors="replace").strip():
                self._errors.append(text[:ERROR_LINE_CHARS_MAX])


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
